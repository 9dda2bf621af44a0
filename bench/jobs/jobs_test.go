package jobs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// Every implementation of every workload does at least as many operations as it must.
func TestJobsDoAtLeastWhatTheyAreAsked(t *testing.T) {
	for _, r := range Plan(measure.Everything) {
		for _, im := range r.Impls {
			for _, todo := range []int{1, 300} {
				l := &measure.Lap{Todo: todo, Workers: r.bound}
				require.NoError(t, l.Run(im.LapImpl, 10*time.Second), "%s/%s", r, im.Name)
				require.GreaterOrEqual(t, l.Ops, todo, "%s/%s", r, im.Name)
				require.Positive(t, l.Elapsed)
				if im.Waits != nil {
					require.EqualValues(t, l.Ops, im.Waits.Summary().Count, "every wait is timed")
				}
			}
		}
	}
}

func TestJobRoundsAreInterleavedAndComplete(t *testing.T) {
	rs := Plan(func(name string) bool { return strings.HasPrefix(name, "jobs/burst-64x2/") })
	require.Len(t, rs, 1)
	var measured []string
	for round := range 2 {
		limits := measure.Timing{Window: time.Millisecond, Limit: 10 * time.Second}
		require.NoError(t, RunRound(round, rs, limits, func(name string) { measured = append(measured, name) }))
	}
	n := len(rs[0].Impls)
	require.Len(t, measured, 2*n)
	require.NotEqual(t, measured[:n], measured[n:], "the same order in all rounds")
	for _, im := range rs[0].Impls {
		require.Len(t, rs[0].Samples[im.Name], 2)
		require.Positive(t, rs[0].Samples[im.Name][1].NsPerOp)
		require.NotNil(t, rs[0].Samples[im.Name][1].Waits)
	}
}

// A crowded locker counts how many have a permit.
type crowded struct {
	peers.Locker
	mu           sync.Mutex
	inside, most int
}

func (c *crowded) Acquire(ctx context.Context, n int64) error {
	err := c.Locker.Acquire(ctx, n)
	c.mu.Lock()
	c.inside++
	c.most = max(c.most, c.inside)
	c.mu.Unlock()
	return err
}

func (c *crowded) Release(n int64) {
	c.mu.Lock()
	c.inside--
	c.mu.Unlock()
	c.Locker.Release(n)
}

// In a burst all come, and as many as there are permits are in at a time.
func TestBurstsUseThePermits(t *testing.T) {
	for _, of := range burstLockers {
		c, log := &crowded{Locker: of.create(2)}, new(measure.WaitLog)
		l := &measure.Lap{Todo: 300, Workers: 2}
		require.NoError(t, bursts(l, c, 64, log))
		require.Equal(t, 320, l.Ops, "in bursts of 64")
		require.Zero(t, c.inside)
		if of.name == peers.NameFloor {
			require.Greater(t, c.most, 2, "the floor stops no goroutine")
		} else {
			require.Equal(t, 2, c.most, of.name)
		}
	}
}

// Who cannot acquire reports it, when all have come back, and so does who loses permits.
func TestBrokenBurstsAreReported(t *testing.T) {
	boom := errors.New("boom")
	require.ErrorIs(
		t,
		bursts(&measure.Lap{Todo: 30, Workers: 1}, &benchtest.Broken{Err: boom}, 8, new(measure.WaitLog)),
		boom,
	)
	bad := &benchtest.Forgetful{Channel: make(peers.Channel, 20), Loses: true}
	require.ErrorContains(t, bursts(&measure.Lap{Todo: 8, Workers: 20}, bad, 8, new(measure.WaitLog)), "12 of 20")
}
