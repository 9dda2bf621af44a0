package locks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// Every storm ends with all permits back. Where no permit is ever free, all requests give up that
// are to give up.
func TestStormsPass(t *testing.T) {
	limits := measure.Timing{
		Window:   time.Millisecond,
		Warmup:   time.Millisecond,
		Limit:    20 * time.Second,
		Patience: time.Millisecond,
	}
	for _, percent := range []uint64{1, 50, 100} {
		w := stormbench(percent)
		for _, im := range w.Impls {
			s, err := Measure(100, im, limits)
			require.NoError(t, err, "%s/%s", w.Name, im.Name)
			require.Positive(t, s.NsPerOp)
			if percent == 100 {
				require.EqualValues(t, 1, s.TimedOut, im.Name)
			} else {
				require.Less(t, s.TimedOut, 0.75, im.Name)
			}
		}
	}
}

// A wrong number of permits at the end is an error, and so is a permit that is never given.
func TestStormsCountThePermits(t *testing.T) {
	run := func(percent uint64, s peers.TryLocker, try attempt) error {
		st := &storm{percent: percent}
		_, err := st.loop(s, try)(context.Background(), 0, 1, 1)
		require.NoError(t, err)
		share, err := st.outcome()
		require.EqualValues(t, float64(st.expired.Load()), share)
		return err
	}
	try := func(s peers.TryLocker) attempt {
		return func(int, time.Duration) error {
			if s.TryAcquire(1) {
				return nil
			}
			return context.DeadlineExceeded
		}
	}
	for _, percent := range []uint64{1, 100} {
		good := make(peers.Channel, 1)
		require.NoError(t, run(percent, good, try(good)))
	}
	bad := &benchtest.Forgetful{Channel: make(peers.Channel, 1), Loses: true}
	require.ErrorContains(t, run(1, bad, try(bad)), "lost")
	bad = &benchtest.Forgetful{Channel: make(peers.Channel, 1), Finds: true}
	require.ErrorContains(t, run(1, bad, try(bad)), "more permits")
	require.ErrorContains(
		t,
		run(100, make(peers.Channel, 1), func(int, time.Duration) error { return nil }),
		"that was taken",
	)

	// What fails in another way is not counted, but reported.
	boom := errors.New("boom")
	st := &storm{percent: 50}
	_, err := st.loop(
		make(peers.Channel, 1),
		func(int, time.Duration) error { return boom },
	)(context.Background(), 0, 5, 1)
	require.ErrorIs(t, err, boom)
}
