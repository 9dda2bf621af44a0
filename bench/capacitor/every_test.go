package capacitor

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/internal/locktest"
)

// A lock that is documented as FIFO is FIFO.
func TestLocksKeepTheOrderTheyPromise(t *testing.T) {
	const waiters = 6
	tested := 0
	for _, l := range everyLocks {
		// The channels of fifomu go from one bubble to the next, which Go does not allow.
		if l.Name == peers.NameFifomu {
			continue
		}
		if l.order != orderFIFO {
			require.NotEqual(t, boundNone, l.bound, l.Name)
			continue
		}
		tested++
		t.Run(l.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, boundNone, l.bound)
				lock := l.create()
				var order, want []int
				lock.Lock()
				for g := range waiters {
					go func() {
						lock.Lock()
						order = append(order, g)
						lock.Unlock()
					}()
					synctest.Wait() // until it waits
					want = append(want, g)
				}
				lock.Unlock()
				synctest.Wait()
				require.Equal(t, want, order)
			})
		})
	}
	require.Greater(t, tested, 8)
}

// A goroutine that waits alone is not overtaken more often than promised by one that comes again
// and again.
func TestLocksKeepTheirBounds(t *testing.T) {
	bounds := map[string]int{boundNone: 0, boundLane: 256, boundPlatoon: 9, boundWrappedLane: 2 * 256}
	for _, l := range everyLocks {
		bound, ok := bounds[l.bound]
		if !ok || l.Name == peers.NameFifomu ||
			strings.HasPrefix(
				l.Name,
				"wrapped sync.Mutex",
			) { // where a waiter for the inner lock is not durably blocked
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := l.create()
				lock.Lock()
				overtaken, served := 0, false
				go func() {
					lock.Lock()
					served = true
					lock.Unlock()
				}()
				synctest.Wait()
				for range 10_000 {
					lock.Unlock()
					lock.Lock()
					if served {
						break
					}
					overtaken++
				}
				lock.Unlock()
				require.True(t, served)
				require.LessOrEqual(t, overtaken, bound)
			})
		})
	}
}

// A wait ends with its context, and the lock is as it was, if the table promises that.
func TestLocksCancelAsTheySay(t *testing.T) {
	says := map[string]int{}
	for _, l := range everyLocks {
		says[l.cancels()]++
		if l.cancels() == "no" {
			require.True(t,
				slices.Contains([]string{locks.NameMutex, locks.NameRWMutex, locks.NameRBMutex}, l.Name),
				"%s can be cancelled", l.Name)
			continue
		}
		lock := l.create().(interface {
			LockContext(ctx context.Context) error
			Unlock()
		})
		require.NoError(t, lock.LockContext(t.Context()))
		if l.cancels() == "yes" {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			require.ErrorIs(t, lock.LockContext(ctx), context.DeadlineExceeded, l.Name)
			cancel()
		}
		lock.Unlock()
		require.NoError(t, lock.LockContext(t.Context()))
		lock.Unlock()
	}
	require.Equal(t, map[string]int{"yes": len(everyLocks) - 5, "at the gate": 2, "no": 3}, says)
}

// A lock that is documented not to allocate does not, while many wait.
func TestLocksAllocateAsTheySay(t *testing.T) {
	locktest.SkipUnderRace(t)
	const short, long = 10 * time.Millisecond, 640 * time.Millisecond
	for _, l := range everyLocks {
		keeps := func(s locks.Sample) bool {
			return l.allocates && s.AllocsPerOp > 0.5 || !l.allocates && s.AllocsPerOp < 0.1
		}
		// If the machine stalls in a short window there are so few operations that an allocation of
		// the harness counts. It does not in a long window.
		var s locks.Sample
		for window := short; window <= long; window *= 4 {
			limits := measure.Timing{Warmup: 2 * time.Millisecond, Window: window, Limit: 10 * time.Second}
			var err error
			s, err = locks.Measure(4, handsOver(l.newLock), limits)
			require.NoError(t, err, l.Name)
			if keeps(s) {
				break
			}
		}
		require.True(t, keeps(s), "%s: %.3f allocations per operation", l.Name, s.AllocsPerOp)
	}
}
