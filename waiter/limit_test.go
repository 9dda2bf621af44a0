package waiter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
