//go:build !interleave

package waiting

import (
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestWaiterFillsOneCacheLine(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Waiter{}), uintptr(64))
}

func TestFutureIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Future{}), uintptr(80))
}
