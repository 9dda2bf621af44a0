//go:build !interleave

package waiting

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestFixedLimitIsForAllSleepsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		l := After(3 * time.Second).Fixed()
		p := GetParker(l)
		go func() {
			time.Sleep(2 * time.Second)
			p.Deliver(Granted)
		}()
		require.True(t, p.Park(l))
		require.False(t, p.Park(l))
		require.Equal(t, 3*time.Second, time.Since(begun))
		require.Equal(t, Pending, p.Withdraw(false))
		require.Equal(t, l, l.Fixed(), "fixed once")
	})
}

func TestLimitSaysWhyItEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		limit  Limit
		mayEnd bool
	}{
		"never":      {Limit{}, false},
		"background": {UntilDone(context.Background()), false},
		"context":    {UntilDone(ctx), true},
		"time":       {After(time.Hour), true},
	} {
		require.Equal(t, c.mayEnd, c.limit.MayEnd(), name)
		require.NoError(t, c.limit.Cancelled(), name)
	}
	cancel()
	require.Equal(t, context.Canceled, UntilDone(ctx).Cancelled())
	require.Equal(t, context.Canceled, UntilDone(ctx).Err())
	require.Equal(t, context.DeadlineExceeded, After(1).Err())
	require.Equal(t, context.DeadlineExceeded, After(1).Fixed().Err())
}

func TestLimitsOfEverySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{math.MinInt64, -1, 0} {
			for _, l := range []Limit{After(d), After(d).Fixed()} {
				begun := time.Now()
				time.Sleep(time.Nanosecond) // as the wait may begin later
				p := GetParker(l)
				require.False(t, p.Park(l), d)
				require.Equal(t, time.Duration(1), time.Since(begun), d)
				require.Equal(t, Pending, p.Withdraw(false))
			}
		}
		l := After(math.MaxInt64).Fixed()
		time.Sleep(time.Hour)
		require.Equal(t, math.MaxInt64-time.Hour, l.left())
	})
}
