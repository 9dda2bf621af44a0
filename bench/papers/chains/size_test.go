//go:build !interleave

package chains

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// An element has two cache lines to itself. (On 32-bit machines, where the pointers are shorter, so
// is the element.)
func TestElementsAreOfTwoCacheLines(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 128, unsafe.Sizeof(element{}))
		e := elements.Get().(*element)
		require.Zero(t, uintptr(unsafe.Pointer(e))%128)
		elements.Put(e)
	}
}
