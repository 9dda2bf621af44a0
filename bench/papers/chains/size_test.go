//go:build !interleave

package chains

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// An element fills two cache lines. (It is smaller on 32-bit machines, where pointers are shorter.)
func TestElementsAreOfTwoCacheLines(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 128, unsafe.Sizeof(element{}))
		e := elements.Get().(*element)
		require.Zero(t, uintptr(unsafe.Pointer(e))%128)
		elements.Put(e)
	}
}
