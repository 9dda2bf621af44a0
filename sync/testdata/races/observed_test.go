package sync_test

import (
	"testing"
	"time"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync"
)

// All locks are observed: records order nothing in the program.
func init() { observe.All(observe.LevelHolders) }

// Two goroutines that use no lock of the other's.
func TestRaceOtherLocks(t *testing.T) {
	x := 0
	step := func() {
		mu, more := new(sync.Mutex), new(sync.RWMutex)
		for range 100 {
			mu.Lock()
			more.RLock()
			more.RUnlock()
			mu.Unlock()
		}
		x++
		for range 100 {
			more.Lock()
			mu.Lock()
			mu.Unlock()
			more.Unlock()
		}
	}
	inSteps(step, step)
}

func TestNoRaceObservedWaits(t *testing.T) {
	x, mu, wg := 0, new(sync.RWMutex), new(sync.WaitGroup)
	for range 10 {
		wg.Go(func() {
			for range 10 {
				mu.Lock()
				x++
				time.Sleep(time.Microsecond)
				mu.Unlock()
				mu.RLock()
				_ = x
				mu.RUnlock()
			}
		})
	}
	wg.Wait()
	observe.Read()
	x++
}
