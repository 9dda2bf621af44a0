//go:build !interleave

package semaphore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
)

// Tests in the time of a bubble, which the explorer's clock does not know.

// Who cannot be served in time is told at once, by any kind of deadline, and when to come back. So
// it is with accounts, where the request that is next is not taken out of the line before its turn.
func TestLateRequestsAreRefused(t *testing.T) {
	refuse := semaphore.WithQueue(semaphore.Queue{RefuseLate: true})
	t.Run("queue", func(t *testing.T) { lateRequestsAreRefused(t, refuse) })
	t.Run("tree", func(t *testing.T) {
		lateRequestsAreRefused(t, refuse, semaphore.WithShares(nil), semaphore.WithParent(within))
	})
}

func lateRequestsAreRefused(t *testing.T, opts ...semaphore.Option) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(1, opts...)
		require.True(t, s.TryAcquire(1))
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				require.NoError(t, s.Acquire(bg, 1))
				time.Sleep(10 * time.Millisecond)
				s.Release(1)
			})
		}
		synctest.Wait()
		s.Release(1)
		time.Sleep(201 * time.Millisecond) // 20 are through, one is in, 9 wait
		ctx, cancel := context.WithTimeout(bg, 40*time.Millisecond)
		defer cancel()
		begun := time.Now()
		for _, err := range []error{s.Acquire(ctx, 1), s.AcquireTimeout(40*time.Millisecond, 1)} {
			require.ErrorIs(t, err, semaphore.ErrWouldExpire)
			var r *semaphore.Refusal
			require.True(t, errors.As(err, &r), "%v", err)
			require.InDelta(t, 99*time.Millisecond, r.RetryAfter, float64(5*time.Millisecond))
			require.Equal(t, "farad: no permit expected before the deadline; retry after "+r.RetryAfter.String(), err.Error())
		}
		require.Zero(t, time.Since(begun), "at once")
		work, end := context.WithTimeout(bg, 104*time.Millisecond)
		defer end()
		require.ErrorIs(t, s.Acquire(work, 1), semaphore.ErrWouldExpire, "its work would take another ten")
		require.NoError(t, s.AcquireTimeout(104*time.Millisecond, 1), "that is long enough to wait")
		s.Release(1)
		wg.Wait()
		requireIdle(t, s)
	})
}

// Who is refused learns when to come back, however short the line.
func TestShortLinesSayWhenToComeBack(t *testing.T) {
	for _, most := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := semaphore.New(2, semaphore.WithQueue(semaphore.Queue{MaxWaiting: most}))
			var wg sync.WaitGroup
			begun := time.Now()
			var told []time.Duration
			var mu sync.Mutex
			for i := range 10 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 700 * time.Microsecond)
					for time.Since(begun) < time.Second {
						var r *semaphore.Refusal
						err := s.Acquire(bg, 1)
						switch {
						case err == nil:
							time.Sleep(10 * time.Millisecond)
							s.Release(1)
						case !errors.As(err, &r):
							t.Error(err)
						case time.Since(begun) > time.Second/2:
							mu.Lock()
							told = append(told, r.RetryAfter)
							mu.Unlock()
						}
						time.Sleep(3 * time.Millisecond)
					}
				})
			}
			wg.Wait()
			requireIdle(t, s)
			slices.Sort(told)
			t.Logf("%d may wait: %d are told to wait for %v at least, and half of them for %v",
				most, len(told), told[0], told[len(told)/2])
			require.Greater(t, len(told), 100)
			require.Greater(t, told[0], 2*time.Millisecond, "one is served each 5 ms")
			require.Less(t, told[len(told)-1], time.Duration(most+1)*6*time.Millisecond)
		})
	}
}

// CoDel sheds more and more often, until who is served has hardly waited. That takes seconds where
// clients do not slow down, and is never reached if they send twice what can be served. Without it
// they would wait for more than a second here.
func TestCoDelSheds(t *testing.T) {
	testSheds(t, semaphore.ShedCoDel, 1800*time.Microsecond, 10*time.Second, 100*time.Millisecond)
}

// Adaptive LIFO sheds all who have waited for longer than the target, at once.
func TestAdaptiveLIFOSheds(t *testing.T) {
	testSheds(t, semaphore.ShedAdaptiveLIFO, time.Millisecond, 4*time.Second, 10*time.Millisecond)
}

// testSheds has a request come at each pause; one that is served takes two milliseconds. In the
// last quarter of the time nine in ten of those who are served have waited for less than most.
func testSheds(t *testing.T, how semaphore.Shed, pause, lasts, most time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(1, semaphore.WithQueue(semaphore.Queue{Shed: how}))
		var wg sync.WaitGroup
		var served, shed int
		var late []time.Duration
		var mu sync.Mutex
		start := time.Now()
		for time.Since(start) < lasts {
			time.Sleep(pause)
			wg.Go(func() {
				begun := time.Now()
				err := s.Acquire(bg, 1)
				mu.Lock()
				at := time.Since(start)
				switch {
				case err != nil:
					if !errors.Is(err, semaphore.ErrShed) || !errors.As(err, new(*semaphore.Refusal)) {
						t.Error(err)
					}
					shed++
				case at < lasts:
					served++
					if at > lasts*3/4 {
						late = append(late, time.Since(begun))
					}
				}
				mu.Unlock()
				if err == nil {
					time.Sleep(2 * time.Millisecond)
					s.Release(1)
				}
			})
		}
		wg.Wait()
		requireIdle(t, s)
		require.InEpsilon(t, int(lasts/(2*time.Millisecond)), served, 0.01, "a permit has idled")
		require.NotZero(t, shed)
		slices.Sort(late)
		require.Less(t, late[len(late)*9/10], most, "half of them %v", late[len(late)/2])
	})
}

// Two tenants of very different zeal get the same.
func TestSharesOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(4, semaphore.WithShares(nil))
		ctx, cancel := context.WithCancel(bg)
		var got [2]atomic.Int64
		var wg sync.WaitGroup
		for tenant, n := range []int{1000, 10} {
			for range n {
				wg.Go(func() {
					for s.As(tenant).Acquire(ctx, 1) == nil {
						time.Sleep(time.Millisecond)
						got[tenant].Add(1)
						s.Release(1)
					}
				})
			}
		}
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		requireIdle(t, s)
		all := float64(got[0].Load() + got[1].Load())
		require.InDelta(t, 0.5, float64(got[1].Load())/all, 0.02)
		require.InDelta(t, 4000, all, 50)
	})
}

// Two tenants of equal weight hold their permits for 1 and for 10 ms. By grants the one has a tenth
// of the time of the other, by time as much.
func TestSharesOfTimeHeld(t *testing.T) {
	for name, debit := range map[string]semaphore.Debit{"grants": semaphore.DebitGrants, "time": semaphore.DebitTime} {
		synctest.Test(t, func(t *testing.T) {
			s := semaphore.New(4, semaphore.WithShares(nil), semaphore.WithDebit(debit))
			ctx, cancel := context.WithCancel(bg)
			var used [2]atomic.Int64
			var wg sync.WaitGroup
			for tenant, hold := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
				for range 20 {
					wg.Go(func() {
						for s.As(tenant).Acquire(ctx, 1) == nil {
							time.Sleep(hold)
							used[tenant].Add(int64(hold))
							s.As(tenant).Release(1)
						}
					})
				}
			}
			time.Sleep(10 * time.Second)
			cancel()
			wg.Wait()
			requireIdle(t, s)
			share := float64(used[0].Load()) / float64(used[0].Load()+used[1].Load())
			t.Logf("by %s: %.3f to %.3f of the time", name, share, 1-share)
			if debit == semaphore.DebitTime {
				require.InDelta(t, 0.5, share, 0.02)
			} else {
				require.InDelta(t, 0.09, share, 0.02)
			}
		})
	}
}
