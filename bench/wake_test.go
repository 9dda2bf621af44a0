package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever waits is served, of every kind.
func TestWakeRoundsServeEverybody(t *testing.T) {
	rs := planWake(everything, true)
	kinds := map[string]bool{}
	for _, r := range rs {
		require.LessOrEqual(t, r.Waiters, 10_000)
		kinds[r.Waiter+"/"+r.Impl] = true
	}
	require.Len(t, kinds, 7)
	var measured []string
	for round := range 2 {
		require.NoError(
			t,
			runWakeRound(round, rs, 10*time.Second, func(name string) { measured = append(measured, name) }),
		)
	}
	require.Len(t, measured, 2*len(rs))
	require.NotEqual(t, measured[:len(rs)], measured[len(rs):], "the same order in all rounds")
	for _, r := range rs {
		require.Len(t, r.NsPerWake, 2)
		require.Positive(t, r.NsPerWake[0])
	}
}

// A lock that forgets those who wait is found out.
func TestAForgottenWaiterIsReported(t *testing.T) {
	deaf := implementation{
		make: func(permits int64) locker { return &forgetful{channel: make(channel, permits), loses: true} },
	}
	_, err := wakeGoroutines(deaf, 10, 100*time.Millisecond)
	require.ErrorIs(t, err, errStuck)
}

func TestWakeTable(t *testing.T) {
	r := &report{Wake: planWake(func(name string) bool {
		return name == "wake/goroutine/farad/100000" || name == "wake/goroutine/x/sync/100000" ||
			name == "wake/future/farad/1000000"
	}, false)}
	require.Len(t, r.Wake, 3)
	for _, w := range r.Wake {
		if w.Impl == nameFarad {
			w.NsPerWake = []float64{500, 500}
		} else {
			w.NsPerWake = []float64{1000, 2000}
		}
	}
	md := r.markdown()
	require.Contains(t, md, "| future | farad | 1000000 | 2000000 | 500.0 | 500.0–500.0 |  |")
	require.Contains(t, md, "| goroutine | x/sync | 100000 | 666667 | 1500.0 | 1000.0–2000.0 | 0.38 (0.25–0.50) |")
	require.True(t, strings.Contains(md, "| wake/goroutine/100000 |  | x/sync | 500.0 |"), "the overview")
	require.Contains(t, r.benchstat(), "BenchmarkWake/goroutine/100000/impl=x_sync-1\t1\t2000.0000 ns/op\n")
}
