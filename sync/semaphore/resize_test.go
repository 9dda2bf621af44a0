package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestResizeDebtIsPaidFirst(t *testing.T) {
	s := semaphore.New(3)
	require.NoError(t, s.Acquire(bg, 3))
	first := queued(t, bg, s, 1) // stands in the slot
	s.Resize(1)
	require.EqualValues(t, -2, s.Available())
	second := queued(t, bg, s, 1)
	s.Release(1)
	s.Release(1)
	locktest.RequireBlocked(t, first)
	require.EqualValues(t, 0, s.Available())
	s.Release(1)
	require.NoError(t, locktest.Receive(t, first), "the oldest first, although the debt put it back into the list")
	locktest.RequireBlocked(t, second)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, second))
	require.Panics(t, func() { s.Release(2) })
	s.Release(1)
	requireIdle(t, s)
}

func TestResizeLeavesADebt(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	s.Resize(0)
	require.EqualValues(t, -1, s.Available())
	s.Release(1)
	requireIdle(t, s)
}
