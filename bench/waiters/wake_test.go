package waiters

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// Waiters of every kind are served.
func TestWakeRoundsServeAll(t *testing.T) {
	rs := PlanWake(measure.Everything, true)
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
			RunWakeRound(round, rs, 10*time.Second, func(name string) { measured = append(measured, name) }),
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
	deaf := peers.Maker{
		Make: func(permits int64) peers.Locker {
			return &benchtest.Forgetful{Channel: make(peers.Channel, permits), Loses: true}
		},
	}
	_, err := wakeGoroutines(deaf, 10, 100*time.Millisecond)
	require.ErrorIs(t, err, measure.ErrStuck)
}
