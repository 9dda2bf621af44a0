package fleet

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Three processes that all want one permit acquire it many times in a round trip: a block is handed
// on locally for its tenure, and the next one's way takes a round trip.
func TestAcquiresAtADistance(t *testing.T) {
	for _, trip := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond} {
		for _, users := range []int{1, 8} {
			inBubble(t, func(b *bubble) {
				var all sync.WaitGroup
				var fleets []*Fleet
				var turns [3]atomic.Int64
				stop := make(chan struct{})
				for i := range turns {
					f, _ := b.join(trip)
					fleets = append(fleets, f)
					m := b.mutex(f)
					for range users {
						all.Go(func() {
							for !isClosed(stop) {
								p, err := m.Lock(b.ctx)
								if err != nil {
									b.Error(err)
									return
								}
								time.Sleep(time.Millisecond)
								p.Release()
								turns[i].Add(1)
							}
						})
					}
				}
				lasts := time.Minute
				if testing.Short() {
					lasts = 20 * time.Second
				}
				time.Sleep(lasts)
				close(stop)
				all.Wait()
				sum := int64(0)
				for i := range turns {
					sum += turns[i].Load()
				}
				ratio := float64(sum) / lasts.Seconds() * trip.Seconds()
				b.Logf("round trip %v, %d goroutines each: %.1f acquires in a round trip", trip, users, ratio)
				require.GreaterOrEqual(b, ratio, 5.0)
				for i := range turns {
					require.GreaterOrEqual(b, 10*turns[i].Load(), sum, "process %d of three", i)
					b.leave(fleets[i])
				}
			})
		}
	}
}
