package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every storm passes with all permits, and of those who are to give up all do where nothing is ever
// free.
func TestStormsPass(t *testing.T) {
	limits := timing{
		window:   time.Millisecond,
		warmup:   time.Millisecond,
		limit:    20 * time.Second,
		patience: time.Millisecond,
	}
	for _, percent := range []uint64{1, 50, 100} {
		w := stormbench(percent)
		for _, im := range w.impls {
			s, err := measureLock(100, im, limits)
			require.NoError(t, err, "%s/%s", w.name, im.name)
			require.Positive(t, s.NsPerOp)
			if percent == 100 {
				require.EqualValues(t, 1, s.TimedOut, im.name)
			} else {
				require.Less(t, s.TimedOut, 0.75, im.name)
			}
		}
	}
}

// A forgetful channel has another number of permits after a timeout, or a release.
type forgetful struct {
	channel
	loses, finds bool
}

func (f *forgetful) Release(int64) {
	if !f.loses {
		f.channel.Release(1)
	}
	if f.finds {
		f.channel = make(channel, 2)
	}
}

// A wrong number of permits at the end is an error, and so is a permit of those that nobody gives.
func TestStormsCountThePermits(t *testing.T) {
	run := func(percent uint64, s tryLocker, try attempt) error {
		st := &storm{percent: percent}
		_, err := st.loop(s, try)(context.Background(), 0, 1, 1)
		require.NoError(t, err)
		share, err := st.settle()
		require.EqualValues(t, float64(st.expired.Load()), share)
		return err
	}
	try := func(s tryLocker) attempt {
		return func(int, time.Duration) error {
			if s.TryAcquire(1) {
				return nil
			}
			return context.DeadlineExceeded
		}
	}
	for _, percent := range []uint64{1, 100} {
		good := make(channel, 1)
		require.NoError(t, run(percent, good, try(good)))
	}
	bad := &forgetful{channel: make(channel, 1), loses: true}
	require.ErrorContains(t, run(1, bad, try(bad)), "lost")
	bad = &forgetful{channel: make(channel, 1), finds: true}
	require.ErrorContains(t, run(1, bad, try(bad)), "more permits")
	require.ErrorContains(
		t,
		run(100, make(channel, 1), func(int, time.Duration) error { return nil }),
		"that was taken",
	)

	// What fails in another way is not counted, but reported.
	boom := errors.New("boom")
	st := &storm{percent: 50}
	_, err := st.loop(make(channel, 1), func(int, time.Duration) error { return boom })(context.Background(), 0, 5, 1)
	require.ErrorIs(t, err, boom)
}

func TestStormTable(t *testing.T) {
	r := &report{Locks: planLocks(func(name string) bool {
		return name == "locks/storm-50-1000/farad" || name == "locks/storm-50-1000/x/sync"
	})}
	require.Len(t, r.Locks, 1)
	r.Locks[0].Samples[nameFarad] = []lockSample{{sample: sample{NsPerOp: 2000}, TimedOut: 0.5}}
	r.Locks[0].Samples[nameXSync] = []lockSample{{sample: sample{NsPerOp: 4000, AllocsPerOp: 7}, TimedOut: 0.481}}
	md := r.markdown()
	require.Contains(t, md, "| storm-50-1000 | farad | 2000.0 |  | 0.00 ≤ 0.01 met | 50.0 % |")
	require.Contains(t, md, "| storm-50-1000 | x/sync | 4000.0 | 0.50 | 7.00 | 48.1 % |")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}
