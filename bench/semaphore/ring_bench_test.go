package semaphore

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkRing measures what makes the ring a floor that no semaphore can reach: its two tokens
// come together, and from then on every other receive finds its token already there and does not
// sleep. In a fair semaphore with more goroutines than permits every acquire sleeps.
// docs/BENCHMARKS.md cites the share that this reports.
func BenchmarkRing(b *testing.B) {
	const tokens = 2
	for _, goroutines := range []int{8, 64, 1000} {
		b.Run(fmt.Sprintf("%dx%d", goroutines, tokens), func(b *testing.B) {
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
						if len(in) > 0 {
							awake.Add(1)
						}
						<-in
						if hops.Add(1) >= int64(b.N) {
							select {
							case out <- struct{}{}: // a goroutine that sleeps there leaves, too
							default:
							}
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
			wg.Wait()
			b.ReportMetric(float64(awake.Load())/float64(hops.Load()), "awake/hop")
		})
	}
}
