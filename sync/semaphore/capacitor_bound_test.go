//go:build !interleave

package semaphore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// The bound, measured: at most (p + B) · Q + B − 1 later requests overtake one that waits behind p
// others.
func TestCapacitorOvertakesNoMoreThanPromised(t *testing.T) {
	for _, c := range []struct{ b, q int }{{1, 0}, {1, 3}, {2, 3}} {
		t.Run(fmt.Sprintf("platoon %d, lane %d", c.b, c.q), func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				const size = 2
				s := New(size, WithCapacitor(c.b, c.q))
				p, ctx := s.p.(*capacitor), context.Background()
				var acquired int64 // guarded by all permits
				var stop atomic.Bool
				var wg sync.WaitGroup
				for range 6 {
					wg.Go(func() {
						for !stop.Load() {
							require.NoError(require.GoOn(t), s.Acquire(ctx, size))
							acquired++
							s.Release(size)
							if runtime.GOMAXPROCS(0) == 1 {
								runtime.Gosched() // or each hand-off takes a slice of 10 ms
							}
						}
					})
				}
				var watched sync.WaitGroup
				for range 3 {
					watched.Go(func() {
						for range locktest.Scaled(1000) {
							// Acquire, with a look at the line between queueing and waiting.
							require.NoError(require.GoOn(t), s.Acquire(ctx, size))
							acquired++
							place := parking.GetSleeper()
							k := place.Parker(waiting.Limit{})
							k.N = size
							o := p.enqueue(place, &k.Waiter)
							ahead := int64(p.Waiting() - 1) // at least as many as are
							before := acquired
							s.Release(size)
							require.NoError(require.GoOn(t), p.await(waiting.Limit{}, place, k, o))
							most := (ahead+int64(c.b))*int64(c.q) + int64(c.b-1)
							require.LessOrEqual(require.GoOn(t), acquired-before, most+ahead, "those ahead have had their turn, too")
							acquired++
							s.Release(size)
						}
					})
				}
				watched.Wait()
				stop.Store(true)
				wg.Wait()
				require.Equal(t, s.Size(), s.Available())
				require.Zero(t, s.Waiting())
			})
		})
	}
}

// A running goroutine takes free permits while a sleeper needs more: as often as the lane has
// places, and not once more.
func TestExpressLaneEnds(t *testing.T) {
	const q = 5
	s := New(2, WithCapacitor(1, q))
	require.True(t, s.TryAcquire(2))
	large := make(chan error, 1)
	go func() { large <- s.Acquire(context.Background(), 2) }()
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	for range q {
		require.True(t, s.TryAcquire(1), "a place is left, and a permit is free")
		s.Release(1)
	}
	require.False(t, s.TryAcquire(1), "the lane is full")
	require.True(t, s.TryAcquire(0))
	require.ErrorIs(t, s.AcquireTimeout(time.Millisecond, 1), context.DeadlineExceeded)
	var f waiter.Future
	s.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	f.Release()
	require.False(t, s.TryAcquire(1), "who gives up behind a waiter has not passed the gate")
	s.Release(1)
	require.NoError(t, locktest.Receive(t, large))
	s.Release(2)
	require.Equal(t, s.Size(), s.Available())

	// Without waiters there is no lane, and no end to it.
	for range 3 * q {
		require.True(t, s.TryAcquire(2))
		s.Release(2)
	}
}
