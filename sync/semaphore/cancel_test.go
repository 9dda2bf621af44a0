package semaphore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestCancelledHeadLetsFollowersPass(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	large := queued(t, ctx, s, 2)
	small := queued(t, bg, s, 1)
	locktest.RequireBlocked(t, small)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, large), context.Canceled)
	require.NoError(t, locktest.Receive(t, small), "one permit was free all the time")
	s.Release(2)
	requireIdle(t, s)
}

func TestCancelInTheMiddleKeepsTheOrder(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	a := queued(t, bg, s, 1)
	b := queued(t, ctx, s, 1)
	c := queued(t, bg, s, 1)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, b), context.Canceled)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	locktest.RequireBlocked(t, c)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
	requireIdle(t, s)
}

// The cancel happens before the release, so it wins, although both may be visible when the waiter wakes.
func TestCancelBeforeGrantWins(t *testing.T) {
	for _, watched := range []bool{false, true} {
		for range 300 {
			s := semaphore.New(1)
			ctx, cancel := context.WithCancel(bg)
			if watched { // enough waits to have the context watched
				for range 20 {
					waitOnce(t, ctx, s)
				}
			}
			require.NoError(t, s.Acquire(bg, 1))
			c := queued(t, ctx, s, 1)
			cancel()
			s.Release(1)
			require.ErrorIs(t, locktest.Receive(t, c), context.Canceled)
			requireIdle(t, s)
		}
	}
}

// waitOnce makes a wait with ctx that is served.
func waitOnce(t *testing.T, ctx context.Context, s *semaphore.Semaphore) {
	t.Helper()
	require.NoError(t, s.Acquire(bg, 1))
	c := queued(t, ctx, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
}

func TestErrorIsTheContexts(t *testing.T) {
	s := semaphore.New(0)
	s.Resize(1)
	require.NoError(t, s.Acquire(bg, 1))
	cause := errors.New("because")
	ctx, cancel := context.WithCancelCause(bg)
	c := queued(t, ctx, s, 1)
	cancel(cause)
	err := locktest.Receive(t, c)
	require.True(t, err == ctx.Err(), "no wrapping") //nolint:errorlint // that is the point
	require.ErrorIs(t, context.Cause(ctx), cause)
	s.Release(1)
}

func TestOneContextSharedByManyWaitersCancelsAll(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(1)
		ctx, cancel := context.WithCancel(bg)
		for range 20 {
			waitOnce(t, ctx, s)
		}
		require.NoError(t, s.Acquire(bg, 1))
		const n = 100
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { assert.ErrorIs(t, s.Acquire(ctx, 1), context.Canceled) })
		}
		locktest.AwaitWaiting(t, s, n)
		behind := queued(t, bg, s, 1)
		cancel()
		wg.Wait()
		s.Release(1)
		require.NoError(t, locktest.Receive(t, behind))
		s.Release(1)
		requireIdle(t, s)
	})
}

// foreignContext is a context that package context did not make.
type foreignContext struct {
	context.Context
	done chan struct{}
	err  atomic.Pointer[error]
}

func (c *foreignContext) Done() <-chan struct{} { return c.done }

func (c *foreignContext) Err() error {
	if e := c.err.Load(); e != nil {
		return *e
	}
	return nil
}

func TestForeignContextsCancelToo(t *testing.T) {
	s := semaphore.New(1)
	ctx := &foreignContext{Context: bg, done: make(chan struct{})}
	for range 20 {
		waitOnce(t, ctx, s)
	}
	require.NoError(t, s.Acquire(bg, 1))
	c := queued(t, ctx, s, 1)
	why := errors.New("foreign")
	ctx.err.Store(&why)
	close(ctx.done)
	require.Equal(t, why, locktest.Receive(t, c))
	s.Release(1)
	requireIdle(t, s)
}

// Cancels and timeouts at every point of a wait, against releases: no permit is lost or made, nobody is left behind.
func TestCancelAgainstGrantConservesPermits(t *testing.T) {
	rounds := 10000
	if testing.Short() {
		rounds = 300
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const size = 3
		s := semaphore.New(size)
		shared, cancelShared := context.WithCancel(bg)
		defer cancelShared()
		var held atomic.Int64
		hold := func(n int64) {
			if h := held.Add(n); h > size {
				t.Errorf("%d permits of %d are held", h, size)
			}
			held.Add(-n)
			s.Release(n)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				var f semaphore.AcquireFuture
				for range rounds {
					n := 1 + rng.Int64N(2)
					switch rng.IntN(7) {
					case 0, 1:
						if s.Acquire(shared, n) == nil {
							hold(n)
						}
					case 2:
						ctx, cancel := context.WithCancel(bg)
						go cancel()
						if s.Acquire(ctx, n) == nil {
							hold(n)
						}
						cancel()
					case 3:
						if s.AcquireTimeout(time.Duration(rng.IntN(3000)), n) == nil {
							hold(n)
						}
					case 4:
						if s.TryAcquire(n) {
							hold(n)
						}
					case 5: // a future that is polled a few times, with another waker each time, and cancelled
						f.Init(s, n)
						for range rng.IntN(4) {
							if f.Poll(wakerFunc(func() {})) && rng.IntN(4) > 0 && f.Err() == nil {
								hold(n)
								break
							}
						}
						f.Cancel()
					case 6: // a future in a select that may give up
						f.Init(s, n)
						timeout := time.After(time.Duration(rng.IntN(2000)))
						select {
						case <-f.Done():
							if rng.IntN(2) == 0 && f.Err() == nil {
								hold(n)
							}
						case <-timeout:
						}
						f.Cancel()
					}
				}
				f.Cancel()
			})
		}
		wg.Wait()
		locktest.Eventually(t, "all permits are back", func() bool { return s.Available() == size })
		requireIdle(t, s)
	})
}

func TestCloseAgainstCancel(t *testing.T) {
	for range 300 {
		s := semaphore.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		ctx, cancel := context.WithCancel(bg)
		a, b := queued(t, ctx, s, 1), queued(t, ctx, s, 1)
		go s.Close()
		go cancel()
		for _, c := range []<-chan error{a, b} {
			err := locktest.Receive(t, c)
			require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, semaphore.ErrClosed), "%v", err)
		}
		require.EqualValues(t, 0, s.Available(), "a canceller that lost to Close gives nothing back")
		s.Release(1)
		requireIdle(t, s)
	}
}

// A context whose done channel is closed although it has no error must not make a wait that was given up a success.
type errlessContext struct{ context.Context }

func (errlessContext) Err() error { return nil }

func TestContextWithoutAnErrorNeverAcquires(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, s.Acquire(errlessContext{ctx}, 1), context.Canceled)
	s.Release(1)
	requireIdle(t, s)
}
