package runtime_test

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// The second task panics, and the first gets what it waits for; with a watchdog, too.
func TestFutureOfOneTaskCannotBePolledByAnother(t *testing.T) {
	for name, opts := range map[string][]rt.Option{
		"plain":    nil,
		"watchdog": {rt.WithWatchdog(time.Hour, func(rt.Report) {})},
	} {
		t.Run(name, func(t *testing.T) {
			ex := rt.New(append(opts, rt.WithWorkers(1))...)
			s := semaphore.New(1)
			require.True(t, s.TryAcquire(1))
			var f semaphore.AcquireFuture
			f.Init(s, 1)
			wait := func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, &f) }
			first := rt.Go(ex, wait)
			for s.Waiting() == 0 {
				goruntime.Gosched()
			}
			_, err := rt.Go(ex, wait).Wait(context.Background())
			var panicked *rt.PanicError
			require.ErrorAs(t, err, &panicked)
			require.Contains(t, panicked.Value, "two tasks")
			s.Release(1)
			_, err = first.Wait(context.Background())
			require.NoError(t, err)
			s.Release(1)

			// After a cancel it may go to another.
			require.True(t, s.TryAcquire(1))
			f.Init(s, 1)
			first = rt.Go(ex, wait)
			for s.Waiting() == 0 {
				goruntime.Gosched()
			}
			first.Abort()
			_, err = first.Wait(context.Background())
			require.ErrorIs(t, err, rt.ErrCancelled)
			second := rt.Go(ex, wait)
			for s.Waiting() == 0 {
				goruntime.Gosched()
			}
			s.Release(1)
			_, err = second.Wait(context.Background())
			require.NoError(t, err)
			s.Release(1)
			require.NoError(t, ex.Shutdown(context.Background()))
			require.EqualValues(t, 1, s.Available())
		})
	}
}
