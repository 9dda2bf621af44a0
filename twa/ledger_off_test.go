//go:build !faradcheck && !interleave

package twa_test

import (
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/twa"
)

// A release is one addition: it sees no more than how many permits are free afterwards.
func TestOverReleaseThatAWaiterTakesUpIsNoticedLater(t *testing.T) {
	s := twa.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	w := queued(t, bg, s, 1)
	s.Release(2)
	require.NoError(t, locktest.Receive(t, w))
	require.PanicsWithValue(t, tooMuch(1, 0, 1), func() { s.Release(1) })
	requireIdle(t, s)
}

func TestSizesAreAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(twa.Mutex{}))
	}
}
