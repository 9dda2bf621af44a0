// Package sync_test has tests of a program that makes bubbles. TestRacesAreSeen compiles them.
package sync_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/sync"
)

func TestNoRaceInBubbles(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		x, mu, wg := 0, new(sync.RWMutex), new(sync.WaitGroup)
		for range 10 {
			wg.Go(func() { mu.RLock(); _ = x; time.Sleep(1); mu.RUnlock() })
			wg.Go(func() { mu.Lock(); x++; time.Sleep(1); mu.Unlock() })
		}
		wg.Wait()
		x++
	})
}

// Readers outside, and then a writer in a bubble.
func TestNoRaceAcrossTheBorder(t *testing.T) {
	x, mu := 0, new(sync.RWMutex)
	inTurn(
		func() { mu.RLock(); _ = x; mu.RUnlock() },
		func() { synctest.Test(t, func(*testing.T) { mu.Lock(); x++; mu.Unlock() }) },
		func() { mu.RLock(); _ = x; mu.RUnlock() },
	)
}
