package semaphore_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

// Cancels and timeouts at every point of a wait, against releases: no permit is lost or made, nobody is left behind.
func TestCancelAgainstGrantConservesPermits(t *testing.T) {
	rounds := 10000
	if testing.Short() {
		rounds = 300
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const size = 3
		s := semaphore.New(size)
		shared, cancelShared := context.WithCancel(bg)
		defer cancelShared()
		var held atomic.Int64
		hold := func(n int64) {
			if h := held.Add(n); h > size {
				t.Errorf("%d permits of %d are held", h, size)
			}
			held.Add(-n)
			s.Release(n)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				var f semaphore.AcquireFuture
				for range rounds {
					n := 1 + rng.Int64N(2)
					switch rng.IntN(7) {
					case 0, 1:
						if s.Acquire(shared, n) == nil {
							hold(n)
						}
					case 2:
						ctx, cancel := context.WithCancel(bg)
						go cancel()
						if s.Acquire(ctx, n) == nil {
							hold(n)
						}
						cancel()
					case 3:
						if s.AcquireTimeout(time.Duration(rng.IntN(3000)), n) == nil {
							hold(n)
						}
					case 4:
						if s.TryAcquire(n) {
							hold(n)
						}
					case 5: // a future that is polled a few times, with another waker each time, and cancelled
						f.Init(s, n)
						for range rng.IntN(4) {
							if f.Poll(wakerFunc(func() {})) && rng.IntN(4) > 0 && f.Err() == nil {
								hold(n)
								break
							}
						}
						f.Cancel()
					case 6: // a future in a select that may give up
						f.Init(s, n)
						timeout := time.After(time.Duration(rng.IntN(2000)))
						select {
						case <-f.Done():
							if rng.IntN(2) == 0 && f.Err() == nil {
								hold(n)
							}
						case <-timeout:
						}
						f.Cancel()
					}
				}
				f.Cancel()
			})
		}
		wg.Wait()
		locktest.Eventually(t, "all permits are back", func() bool { return s.Available() == size })
		requireIdle(t, s)
	})
}
