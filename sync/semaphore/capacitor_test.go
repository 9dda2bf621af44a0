package semaphore_test

import (
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// The promises that all semaphores make. Without an express lane the order is as strict as any.
func TestCapacitorContract(t *testing.T) {
	for _, p := range []struct {
		name   string
		strict bool
		opts   []semaphore.Option
	}{
		{"1, 256", false, []semaphore.Option{semaphore.WithCapacitor(1, 256)}},
		{"3, 2, array", false, []semaphore.Option{semaphore.WithWaitingArray(twa.NewArray(1)), semaphore.WithCapacitor(3, 2)}},
		{"1, none", true, []semaphore.Option{semaphore.WithCapacitor(1, 0)}},
		{"2, none, array", true, []semaphore.Option{semaphore.WithCapacitor(2, 0), semaphore.WithWaitingArray(nil)}},
	} {
		t.Run(p.name, func(t *testing.T) {
			if p.strict && (testing.Short() || locktest.RaceEnabled) {
				t.Skip("much the same as the others")
			}
			k := kind(p.opts...)
			k.Overtakes = !p.strict
			semtest.Run(t, k)
		})
	}
}

func TestCapacitorOptions(t *testing.T) {
	for _, bad := range [][2]int{{0, 1}, {-1, 1}, {1, -1}} {
		require.Panics(t, func() { semaphore.WithCapacitor(bad[0], bad[1]) })
	}
	require.PanicsWithValue(t, "semaphore: negative size", func() { semaphore.New(-1, semaphore.WithCapacitor(1, 1)) })
	require.Panics(
		t,
		func() { semaphore.New(1, semaphore.WithCapacitor(1, 1), semaphore.WithWaitingArray(new(twa.Array))) },
		"not one of NewArray's",
	)
	s := semaphore.New(1, semaphore.WithCapacitor(math.MaxInt, math.MaxInt))
	require.NoError(t, s.AcquireTimeout(math.MaxInt64, 1))
	waiting := make(chan error, 1)
	go func() { waiting <- s.AcquireTimeout(math.MaxInt64, 1) }()
	locktest.AwaitWaiting(t, s, 1)
	locktest.RequireBlocked(t, waiting)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	requireIdle(t, s)
}

// A request for 0 permits does not wait or use a place of the lane, even if others wait. It fails
// if the semaphore is closed.
func TestCapacitorGrantsNothingAtOnce(t *testing.T) {
	s := semaphore.New(1, semaphore.WithCapacitor(1, 1))
	require.True(t, s.TryAcquire(1))
	var waits, nothing waiter.Future
	s.Bind(&waits, 1)
	require.False(t, waits.Poll(nil))
	for range 2 {
		s.Bind(&nothing, 0)
		require.True(t, nothing.Poll(nil))
		require.NoError(t, nothing.Err())
		require.NoError(t, s.Acquire(t.Context(), 0))
	}
	s.Resize(2)
	require.True(t, waits.Complete())
	waits.Release()
	require.True(t, s.TryAcquire(1))
	s.Bind(&waits, 2)
	require.False(t, waits.Poll(nil))
	s.Release(1)
	require.True(t, s.TryAcquire(1), "the lane has no place")
	require.False(t, s.TryAcquire(1))
	s.Close()
	s.Bind(&nothing, 0)
	require.True(t, nothing.Poll(nil))
	require.ErrorIs(t, nothing.Err(), semaphore.ErrClosed)
}

// With an array, too, of which the other semaphores make no such use.
func TestCapacitorMaxWaitingShedsLoad(t *testing.T) {
	for _, opts := range [][]semaphore.Option{nil, {semaphore.WithWaitingArray(nil)}} {
		s := semaphore.New(1, append(opts, semaphore.WithMaxWaiting(1), semaphore.WithCapacitor(1, 4))...)
		require.NoError(t, s.Acquire(bg, 1))
		waiting := queued(t, bg, s, 1)
		require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrQueueFull)
		require.ErrorIs(t, s.AcquireTimeout(time.Hour, 1), semaphore.ErrQueueFull)
		require.ErrorIs(t, s.Acquire(bg, 2), semaphore.ErrTooLarge)
		var f waiter.Future
		s.Bind(&f, 1)
		require.True(t, f.Poll(nil))
		require.ErrorIs(t, f.Err(), semaphore.ErrQueueFull)
		require.EqualValues(t, 1, s.Waiting())
		s.Release(1)
		require.NoError(t, locktest.Receive(t, waiting))
		waiting = queued(t, bg, s, 1)
		s.Release(1)
		require.NoError(t, locktest.Receive(t, waiting))
		s.Release(1)
		requireIdle(t, s)
	}
}

// As without a capacitor: a debt shows, and is paid first.
func TestCapacitorResizeLeavesADebt(t *testing.T) {
	s := semaphore.New(3, semaphore.WithCapacitor(1, 4))
	require.NoError(t, s.Acquire(bg, 3))
	waiting := queued(t, bg, s, 1)
	s.Resize(1)
	require.EqualValues(t, -2, s.Available())
	s.Release(2)
	locktest.RequireBlocked(t, waiting)
	require.PanicsWithValue(t, "semaphore: released 2, but 1 are held (size 1)", func() { s.Release(2) })
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	requireIdle(t, s)
}

// Two semaphores in one bucket do not wake each other's waiters, nor count them.
func TestCapacitorsShareAnArray(t *testing.T) {
	a := twa.NewArray(1)
	x := semaphore.New(1, semaphore.WithWaitingArray(a), semaphore.WithCapacitor(1, 1))
	y := semaphore.New(3, semaphore.WithWaitingArray(a), semaphore.WithCapacitor(1, 1))
	require.NoError(t, x.Acquire(bg, 1))
	require.NoError(t, y.Acquire(bg, 3))
	inX, large, inY := queued(t, bg, x, 1), queued(t, bg, y, 3), queued(t, bg, y, 1)
	require.EqualValues(t, 1, x.Waiting())
	require.EqualValues(t, 2, y.Waiting())
	require.Equal(t, 3, (*parking.Table)(a).Count(func(parking.Key) bool { return true }), "they sleep in the array given")
	y.Resize(2) // looks at all of its line
	require.ErrorIs(t, locktest.Receive(t, large), semaphore.ErrTooLarge)
	y.Release(3)
	require.NoError(t, locktest.Receive(t, inY))
	locktest.RequireBlocked(t, inX)
	y.Close()
	locktest.RequireBlocked(t, inX)
	x.Release(1)
	require.NoError(t, locktest.Receive(t, inX))
	x.Release(1)
	y.Release(1)
	requireIdle(t, x)
	requireIdle(t, y)
}
