package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestRingTokensCatchUp measures what makes the ring a floor that no semaphore can reach: its two tokens come together,
// and from then on every other receive finds its token already there and does not sleep. In a fair semaphore with more
// goroutines than permits every acquire sleeps. docs/BENCHMARKS.md cites the figure that -v prints.
func TestRingTokensCatchUp(t *testing.T) {
	for _, goroutines := range []int{8, 64, 1000} {
		const tokens = 2
		ring := make([]chan struct{}, goroutines)
		for i := range ring {
			ring[i] = make(chan struct{}, tokens+1) // and one to end with
		}
		var hops, awake atomic.Int64
		var wg sync.WaitGroup
		for i := range ring {
			in, out := ring[i], ring[(i+1)%goroutines]
			wg.Go(func() {
				for {
					ready := len(in) > 0
					if _, ok := <-in; !ok {
						return
					}
					if ready {
						awake.Add(1)
					}
					if hops.Add(1) >= 200_000 {
						return
					}
					runtime.Gosched()
					out <- struct{}{}
				}
			})
		}
		for i := range tokens {
			ring[i*goroutines/tokens] <- struct{}{}
		}
		for hops.Load() < 200_000 {
			runtime.Gosched()
		}
		share := float64(awake.Load()) / float64(hops.Load())
		t.Logf("%d goroutines: %.2f of the hops did not sleep", goroutines, share)
		if share < 0.2 {
			t.Errorf("%d goroutines: only %.2f of the hops did not sleep", goroutines, share)
		}
		for _, c := range ring {
			select {
			case c <- struct{}{}: // whoever sleeps there wakes, sees the count, and leaves
			default:
			}
		}
		wg.Wait()
	}
}
