//go:build !faradcheck

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// The third thing that a semaphore with an array does otherwise, as twa says.
func TestArrayOverReleaseThatAWaiterTakesUpIsNoticedLater(t *testing.T) {
	s := newArray(1)
	require.NoError(t, s.Acquire(bg, 1))
	waiting := queued(t, bg, s, 1)
	s.Release(2)
	require.NoError(t, locktest.Receive(t, waiting))
	const text = "twa: released 1, but at most 0 are held (size 1)"
	require.PanicsWithValue(t, text, func() { s.Release(1) })
	requireIdle(t, s)
}
