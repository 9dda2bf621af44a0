package measure

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A sleepy lock takes a given time, one time in two.
type sleepy struct {
	sync.Mutex
	takes  time.Duration
	number int
}

func (l *sleepy) Lock() {
	l.Mutex.Lock()
	if l.number++; l.number%2 == 0 {
		time.Sleep(l.takes)
	}
}

// Waits are those that begin in the window, one in eight, to the return of Lock. The time is that
// of a bubble.
func TestWaitsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Millisecond
		var w WaitLog
		l := &sleepy{takes: takes}
		w.Reset(2)
		lock := func(x uint64) {
			d := w.Timed(x, l.Lock)
			l.Unlock()
			w.Note(1, d)
		}
		lock(8)
		require.Zero(t, w.Summary().Count, "the window is not open")
		w.Open.Store(true)
		for i := range uint64(80) {
			l.number = int(i / 8)
			lock(i)
		}
		s := w.Summary()
		require.EqualValues(t, 10, s.Count)
		require.Zero(t, s.P50)
		require.GreaterOrEqual(t, s.P99, int64(takes)*99/100, "in steps of a hundredth")
		require.GreaterOrEqual(t, s.Max, s.P999)
		require.GreaterOrEqual(t, s.P999, s.Arrivals999)
		w.Reset(1)
		require.Zero(t, w.Summary().Count)
	})
}

// One wait in a thousand is long. For arrivals once per microsecond long waits are the rule.
func TestLongWaitsCountForThoseWhoWouldHaveCome(t *testing.T) {
	var w WaitLog
	w.Reset(1)
	for range 999 {
		w.Note(0, 10)
	}
	w.Note(0, -1)
	w.Note(0, 10*time.Millisecond)
	w.Note(0, time.Hour)
	s := w.Summary()
	require.EqualValues(t, 1001, s.Count)
	require.EqualValues(t, 10, s.P50)
	require.EqualValues(t, 10, s.P99)
	require.InEpsilon(t, float64(longestTracked), s.Max, 0.01)
	w.Reset(1)
	for range 999 {
		w.Note(0, 10)
	}
	w.Note(0, 10*time.Millisecond)
	s = w.Summary()
	require.EqualValues(t, 10, s.P999, "of acquisitions")
	require.InEpsilon(t, 10e6, s.Arrivals999, 0.02)
}

func TestDurationsAreShort(t *testing.T) {
	for ns, want := range map[float64]string{0: "0s", 7: "7ns", 999: "999ns", 1234: "1.23µs", 1_234_567: "1.23ms", 98_765_432: "98.8ms"} {
		require.Equal(t, want, Duration(ns))
	}
}
