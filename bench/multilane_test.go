package main

import (
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All gates let in as many: with more inside, the next one stands before the gate.
func TestGatesInLanesAreOfOneSize(t *testing.T) {
	for _, g := range laneGates[1:] {
		t.Run(g.name, func(t *testing.T) {
			var inner counted
			inner.closed.Lock()
			m := g.wrap(&inner)
			var wg sync.WaitGroup
			for range 256 {
				wg.Go(func() {
					m.Lock()
					m.Unlock() //nolint:staticcheck // nothing in between, on purpose
				})
			}
			require.Eventually(t, func() bool { return inner.count() == 8 }, 20*time.Second, time.Millisecond)
			for range 1000 {
				runtime.Gosched() // for a ninth to come
			}
			require.Equal(t, 8, inner.count())
			inner.closed.Unlock()
			require.True(t, within(20*time.Second, &wg))
		})
	}
}

// A counted lock is closed at first, and counts those who have come to it.
type counted struct {
	sync.Mutex
	closed, mu sync.Mutex
	came       int
}

func (l *counted) Lock() {
	l.mu.Lock()
	l.came++
	l.mu.Unlock()
	l.closed.Lock()
	l.closed.Unlock() //nolint:staticcheck // nothing in between, on purpose
	l.Mutex.Lock()
}

func (l *counted) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came
}

func TestTableOfLanes(t *testing.T) {
	c, err := parse([]string{"-run", "^locks/lanes-"}, io.Discard)
	require.NoError(t, err)
	r := &report{Rounds: 1, Locks: planLocks(c.only.MatchString)}
	require.Len(t, r.Locks, len(laneSizes))
	for i, l := range r.Locks {
		for j, im := range l.impls {
			l.Samples[im.name] = append(
				l.Samples[im.name],
				lockSample{sample: sample{NsPerOp: float64(100*i + j), Fairness: 0.5}},
			)
		}
	}
	md := r.markdown()
	require.Contains(t, md, "| lock | gate | T=8 | T=64 |")
	require.Contains(t, md, "| LIFO | 4 lanes of 2, hashed | 8.0 (0.50) | 108.0 (0.50) |")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}

func TestLanesRun(t *testing.T) {
	limits := timing{
		window:   time.Millisecond,
		warmup:   time.Millisecond,
		limit:    10 * time.Second,
		patience: time.Millisecond,
	}
	for _, im := range lanebench(8).impls {
		s, err := measureLock(8, im, limits)
		require.NoError(t, err, im.name)
		require.Positive(t, s.NsPerOp, im.name)
	}
}
