package antspool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

// Of two tasks that wait for one job the second is told, by a panic, and the first is woken.
func TestSecondWakerOfAJobIsNoSilentLoss(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		ctx, cancel := context.WithTimeout(bg, locktest.Patience)
		defer cancel()
		p := newPool(t, 1)
		ex := rt.New(rt.WithWorkers(1), quiet)
		release := hold(t, p.Gate(), 1)
		j := p.Go(1, func() {})
		wait := func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, j) }
		first := rt.Go(ex, wait)
		locktest.Eventually(t, "the first waits", func() bool { return ex.Dump()[0].Waiting })
		_, err := rt.Go(ex, wait).Wait(ctx)
		var panicked *rt.PanicError
		require.ErrorAs(t, err, &panicked)
		require.Contains(t, panicked.Value, "must be released in between")
		release()
		_, err = first.Wait(ctx)
		require.NoError(t, err)
		require.NoError(t, ex.Shutdown(bg))
	})
}
