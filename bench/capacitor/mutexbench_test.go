package capacitor

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

// All locks of mutexbench and its variations exclude. The counter has no other guard.
func TestMutexbenchLocksExclude(t *testing.T) {
	locks := slices.Clone(handOffLocks) // which begin with those of mutexbench
	add := func(behind []wrapping, more []newLock) {
		for _, l := range more {
			for _, g := range behind {
				locks = append(locks, g.Around(l))
			}
		}
	}
	add(FigureVariants, FigureLocks)
	add(laneGates, laneLocks)
	for _, l := range everyLocks {
		locks = append(locks, l.newLock)
	}
	for _, of := range locks {
		t.Run(of.Name, func(t *testing.T) {
			const goroutines, rounds = 16, 500
			l, count := of.create(), 0
			benchtest.Together(t, goroutines, false, func(int) {
				for range rounds {
					l.Lock()
					count++
					l.Unlock()
				}
			})
			require.Equal(t, goroutines*rounds, count)
		})
	}
}

func TestStarvingGoroutinesAreNotWaitedFor(t *testing.T) {
	w := mutexbenchLIFO(64)
	start := time.Now()
	s, err := locks.Measure(
		w.Goroutines,
		w.Impls[1],
		measure.Timing{Window: 5 * time.Millisecond, Warmup: time.Millisecond, Limit: time.Minute},
	)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 20*time.Second)
	require.Zero(t, s.Fairness, "%d idle", s.Idle)
}
