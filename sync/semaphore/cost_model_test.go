//go:build interleave

package semaphore_test

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
)

// Without contention an acquire is one compare-and-swap behind a load, and a release is one behind
// two: nothing else is looked at, and no lock is taken. An acquire or a release of nothing writes
// nothing.
func TestModelCostWithoutContention(t *testing.T) {
	stepsOf := func(t *testing.T, use func(*semaphore.Semaphore)) int {
		return interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
			s := semaphore.New(2)
			_ = s.TryAcquire(1)
			x.Go("user", func() { use(s) })
			x.Wait()
		}).Steps
	}
	none := stepsOf(t, func(*semaphore.Semaphore) {})
	for name, of := range map[string]struct {
		steps int
		use   func(*semaphore.Semaphore)
	}{
		"Acquire":            {2, func(s *semaphore.Semaphore) { _ = s.Acquire(bg, 1) }},
		"AcquireTimeout":     {2, func(s *semaphore.Semaphore) { _ = s.AcquireTimeout(time.Second, 1) }},
		"TryAcquire":         {2, func(s *semaphore.Semaphore) { s.TryAcquire(1) }},
		"Release":            {3, func(s *semaphore.Semaphore) { s.Release(1) }},
		"Acquire of nothing": {1, func(s *semaphore.Semaphore) { _ = s.Acquire(bg, 0) }},
		"Release of nothing": {1, func(s *semaphore.Semaphore) { s.Release(0) }},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, of.steps, stepsOf(t, of.use)-none) })
	}
}
