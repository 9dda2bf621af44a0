//go:build !interleave

package parking

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A bucket has a cache line to itself, and a table of the usual size begins at a page.
func TestBucketsHaveTheirOwnCacheLine(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(bucket{}))
		for _, n := range []int{512, 4096} {
			require.Zero(t, uintptr(unsafe.Pointer(&New(n).buckets[0]))%4096)
		}
	}
}
