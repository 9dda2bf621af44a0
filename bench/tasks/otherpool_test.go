package tasks

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/stretchr/testify/require"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// pondPool makes a pool of another library what the executor takes its goroutines from.
type pondPool struct{ pond.Pool }

func (p pondPool) Submit(fn func()) error {
	_, ok := p.TrySubmit(fn)
	if !ok {
		return pond.ErrQueueFull
	}
	return nil
}

// The executor runs on any pool: here on one of pond, with room for two workers and one blocking
// function.
func TestExecutorRunsOnAnotherPool(t *testing.T) {
	p := pond.NewPool(3, pond.WithQueueSize(0), pond.WithNonBlocking(true))
	ex, err := rt.NewOn(pondPool{p}, rt.WithWorkers(2))
	require.NoError(t, err)

	sem := semaphore.New(2)
	var inside, most atomic.Int64
	handles := make([]*rt.JoinHandle[int], 100)
	for i := range handles {
		handles[i] = rt.Go(ex, func(cx *rt.Context) (int, error) {
			var permit waiter.Future
			sem.Bind(&permit, 1)
			if err := rt.Await(cx, &permit); err != nil {
				return 0, err
			}
			defer permit.Release()
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			return i, rt.Yield(cx)
		})
	}
	for i, h := range handles {
		n, err := h.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, i, n)
	}
	require.LessOrEqual(t, most.Load(), int64(2))

	// One goroutine is left for what blocks; a second one has to wait for its turn, or do without.
	release := make(chan struct{})
	first := rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) { <-release; return 7, nil })
	})
	require.Eventually(t, func() bool { return p.RunningWorkers() == 3 }, 5*time.Second, time.Millisecond)
	_, err = rt.Go(ex, func(cx *rt.Context) (int, error) {
		return rt.Blocking(cx, func() (int, error) { return 8, nil })
	}).Wait(t.Context())
	require.ErrorIs(t, err, pond.ErrQueueFull)
	close(release)
	n, err := first.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, n)

	require.NoError(t, ex.Shutdown(context.Background()))
	require.NoError(t, p.Stop().Wait())
	require.EqualValues(t, 2, sem.Available())
}

// A pool without room for the workers is an error, and what was started ends.
func TestExecutorNeedsRoomForItsWorkers(t *testing.T) {
	p := pond.NewPool(1, pond.WithQueueSize(0), pond.WithNonBlocking(true))
	_, err := rt.NewOn(pondPool{p}, rt.WithWorkers(2))
	require.ErrorIs(t, err, pond.ErrQueueFull)
	require.NoError(t, p.Stop().Wait())
}
