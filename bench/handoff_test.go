package main

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A slowLock lets nobody in before so long has passed since it was unlocked.
type slowLock struct {
	sync.Mutex
	takes time.Duration
}

func (l *slowLock) Lock() {
	l.Mutex.Lock()
	time.Sleep(l.takes)
}

// What is timed is the way of a lock from one goroutine to another, in the window.
func TestHandOffsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Millisecond
		im := handsOver(newLock{"", func() sync.Locker { return &slowLock{takes: takes} }})
		loop := im.make()
		by := func(g, n int) {
			_, err := loop(context.Background(), g, n, uint64(g+1))
			require.NoError(t, err)
		}
		im.waits.reset(2)
		for i := range 400 {
			by(i%2, 1)
		}
		require.Zero(t, im.waits.summary().Count, "the window is not open")
		im.waits.open.Store(true)
		by(1, 400)
		require.Zero(t, im.waits.summary().Count, "nobody else has had it")
		x := uint64(7)
		for i := range 400 {
			var err error
			x, err = loop(context.Background(), i%2, 1, x)
			require.NoError(t, err)
		}
		s := im.waits.summary()
		require.InDelta(t, 400/8, s.Count, 25)
		require.InEpsilon(t, float64(takes), s.P50, 0.01)
		require.InEpsilon(t, float64(takes), s.P99, 0.01)
	})
}

// A lock that stays with one goroutine for a whole window has no figures, and the others none
// beside it.
func TestHandOffTable(t *testing.T) {
	r := &report{Locks: planLocks(func(name string) bool {
		return name == "locks/hand-off-8/farad" || name == "locks/hand-off-8/sync.Mutex"
	})}
	require.Len(t, r.Locks, 1)
	round := func(impl string, count, p99 int64) {
		s := lockSample{
			sample: sample{NsPerOp: 1000, Fairness: 0.5},
			Waits:  &waitSummary{Count: count, P50: 700, P99: p99, P999: 5000, Max: 9000},
		}
		r.Locks[0].Samples[impl] = append(r.Locks[0].Samples[impl], s)
	}
	round(nameFarad, 1, 800)
	round(nameMutex, 1, 1600)
	md := r.markdown()
	require.Contains(t, md, "| hand-off-8 | farad | 700ns | 800ns | 5µs | 9µs |  | 1000.0 | 0.50 |")
	require.Contains(
		t,
		md,
		"| hand-off-8 | sync.Mutex | 700ns | 1.6µs | 5µs | 9µs | 0.50 (0.50–0.50) | 1000.0 | 0.50 |",
	)
	require.NotContains(t, md, "## Waits")
	round(nameMutex, 0, 0)
	require.Contains(t, r.markdown(), "| hand-off-8 | sync.Mutex | – | – | – | – |  | 1000.0 | 0.50 |")
}
