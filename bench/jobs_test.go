package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every workload of jobs does at least what it is asked, by everybody.
func TestJobsDoAtLeastWhatTheyAreAsked(t *testing.T) {
	for _, r := range planJobs(everything) {
		for _, im := range r.impls {
			for _, todo := range []int{1, 300} {
				l := &lap{todo: todo, workers: r.bound}
				require.NoError(t, l.run(im.taskImpl, 10*time.Second), "%s/%s", r, im.name)
				require.GreaterOrEqual(t, l.ops, todo, "%s/%s", r, im.name)
				require.Positive(t, l.elapsed)
				if im.waits != nil {
					require.EqualValues(t, l.ops, im.waits.summary().Count, "every wait is timed")
				}
			}
		}
	}
}

func TestJobRoundsAreInterleavedAndComplete(t *testing.T) {
	rs := planJobs(func(name string) bool { return strings.HasPrefix(name, "jobs/burst-64x2/") })
	require.Len(t, rs, 1)
	var measured []string
	for round := range 2 {
		limits := timing{window: time.Millisecond, limit: 10 * time.Second}
		require.NoError(t, runJobRound(round, rs, limits, func(name string) { measured = append(measured, name) }))
	}
	n := len(rs[0].impls)
	require.Len(t, measured, 2*n)
	require.NotEqual(t, measured[:n], measured[n:], "the same order in all rounds")
	for _, im := range rs[0].impls {
		require.Len(t, rs[0].Samples[im.name], 2)
		require.Positive(t, rs[0].Samples[im.name][1].NsPerOp)
		require.NotNil(t, rs[0].Samples[im.name][1].Waits)
	}
}

// A crowded locker counts how many have a permit.
type crowded struct {
	locker
	mu           sync.Mutex
	inside, most int
}

func (c *crowded) Acquire(ctx context.Context, n int64) error {
	err := c.locker.Acquire(ctx, n)
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
	c.locker.Release(n)
}

// In a burst all come, and as many as there are permits are in at a time.
func TestBurstsUseThePermits(t *testing.T) {
	for _, of := range burstLockers {
		c, log := &crowded{locker: of.create(2)}, new(waitLog)
		l := &lap{todo: 300, workers: 2}
		require.NoError(t, bursts(l, c, 64, log))
		require.Equal(t, 320, l.ops, "in bursts of 64")
		require.Zero(t, c.inside)
		if of.name == nameFloor {
			require.Greater(t, c.most, 2, "the floor stops nobody")
		} else {
			require.Equal(t, 2, c.most, of.name)
		}
	}
}

// Who cannot acquire reports it, when all have come back, and so does who loses permits.
func TestBrokenBurstsAreReported(t *testing.T) {
	boom := errors.New("boom")
	require.ErrorIs(t, bursts(&lap{todo: 30, workers: 1}, &broken{err: boom}, 8, new(waitLog)), boom)
	bad := &forgetful{channel: make(channel, 20), loses: true}
	require.ErrorContains(t, bursts(&lap{todo: 8, workers: 20}, bad, 8, new(waitLog)), "12 of 20")
}

func TestJobTable(t *testing.T) {
	r := &report{
		Jobs: planJobs(
			func(name string) bool { return name == "jobs/burst-64x2/farad" || name == "jobs/burst-64x2/x/sync" },
		),
	}
	require.Len(t, r.Jobs, 1)
	r.Jobs[0].Samples[nameFarad] = []jobSample{
		{taskSample{NsPerOp: 1000, Ops: 10}, &waitSummary{P50: 400, P99: 5000, Max: 70_000}},
	}
	r.Jobs[0].Samples[nameXSync] = []jobSample{{taskSample{NsPerOp: 2000, AllocsPerOp: 3, Ops: 10}, nil}}
	md := r.markdown()
	require.Contains(t, md, "| burst-64x2 | farad | 1000.0 |  | 0.00 | 400ns | 5µs | 70µs |")
	require.Contains(t, md, "| burst-64x2 | x/sync | 2000.0 | 0.50 | 3.00 |")
	require.Contains(t, md, "| jobs/burst-64x2 |  | x/sync | 1000.0 |")
}
