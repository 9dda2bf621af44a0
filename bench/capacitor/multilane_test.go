package capacitor

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

// All gates let in as many: with more inside, the next one stands before the gate.
func TestGatesInLanesAreOfOneSize(t *testing.T) {
	for _, g := range laneGates[1:] {
		t.Run(g.Name, func(t *testing.T) {
			var inner counted
			inner.closed.Lock()
			m := g.wrap(&inner)
			var wg sync.WaitGroup
			for range 256 {
				wg.Go(func() {
					m.Lock()
					m.Unlock()
				})
			}
			require.Eventually(t, func() bool { return inner.count() == 8 }, 20*time.Second, time.Millisecond)
			for range 1000 {
				runtime.Gosched() // for a ninth to come
			}
			require.Equal(t, 8, inner.count())
			inner.closed.Unlock()
			require.True(t, measure.Within(20*time.Second, &wg))
		})
	}
}

// A counted lock is closed at first, and counts its arrivals.
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
	l.closed.Unlock()
	l.Mutex.Lock()
}

func (l *counted) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came
}

func TestLanesRun(t *testing.T) {
	limits := measure.Timing{
		Window:   time.Millisecond,
		Warmup:   time.Millisecond,
		Limit:    10 * time.Second,
		Patience: time.Millisecond,
	}
	for _, im := range lanebench(8).Impls {
		s, err := locks.Measure(8, im, limits)
		require.NoError(t, err, im.Name)
		require.Positive(t, s.NsPerOp, im.Name)
	}
}
