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

// The first to use a lock has it join the registry.
func TestRaceLocksJoin(t *testing.T) {
	x := 0
	inSteps(
		func() { x++; mu := new(sync.Mutex); mu.Lock(); mu.Unlock() },
		func() { mu := new(sync.Mutex); mu.Lock(); mu.Unlock(); x++ },
	)
}

// The first reader has the lock join.
func TestRaceReadersJoin(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	inSteps(
		func() { x++; mu.RLock(); mu.RUnlock() },
		func() { mu.RLock(); mu.RUnlock(); x++ },
	)
}

// What is done to a lock as it joins is its user's.
func TestNoRaceLocksWrittenOver(t *testing.T) {
	mu, rw := new(sync.Mutex), new(sync.RWMutex)
	for range 100 {
		mu.Lock()
		mu.Unlock()
		rw.RLock()
		rw.RUnlock()
		*mu, *rw = sync.Mutex{}, sync.RWMutex{}
	}
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
