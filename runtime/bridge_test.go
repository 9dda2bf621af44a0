package rt_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestBlockOnWaitsForAFuture(t *testing.T) {
	s := held(t, 1)
	got := make(chan error)
	go func() { got <- rt.BlockOn(bg, request(s, 1)) }()
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, got))
	s.Release(1)
	require.ErrorIs(t, rt.BlockOn(bg, request(s, 2)), semaphore.ErrTooLarge)
	requireIdle(t, s)
}

func TestBlockOnWithADoneContextTakesNothing(t *testing.T) {
	s := semaphore.New(1)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	f := request(s, 1)
	err := rt.BlockOn(ctx, f)
	require.Equal(t, ctx.Err(), err)
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	requireIdle(t, s)
}

// Grant and cancel at the same time, in both kinds of waiters: either the permit or the error,
// never both or neither.
func TestContextAgainstGrantConservesPermits(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := semaphore.New(1)
		for i := range locktest.Scaled(3000) {
			require.NoError(t, s.Acquire(bg, 1))
			ctx, cancel := context.WithCancel(bg)
			got := make(chan error, 2)
			if i%2 == 0 {
				go func() { got <- rt.BlockOn(ctx, request(s, 1)) }()
			} else {
				h := waitBound(ctx, ex, request(s, 1))
				go func() { <-h.Done(); got <- h.Err() }()
			}
			for range rand.IntN(20) {
				runtime.Gosched()
			}
			var wg sync.WaitGroup
			wg.Go(cancel)
			wg.Go(func() { s.Release(1) })
			if err := locktest.Receive(t, got); err == nil {
				s.Release(1)
			} else {
				require.ErrorIs(t, err, context.Canceled)
			}
			wg.Wait()
			requireIdle(t, s)
		}
	})
}

// bound returns what a wait bound to a context needs: an executor, a semaphore whose permit is
// taken, and a context.
func bound(t *testing.T) (*rt.Executor, *semaphore.Semaphore, context.Context, context.CancelFunc) {
	t.Helper()
	ex := solo(t)
	ctx, cancel := context.WithCancel(bg)
	t.Cleanup(cancel) // before the shutdown of the executor, which waits for the tasks
	return ex, held(t, 1), ctx, cancel
}

// waitBound starts a task that waits for f, but not longer than for the end of ctx.
func waitBound(ctx context.Context, ex *rt.Executor, f rt.Future) *rt.JoinHandle[struct{}] {
	return spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, rt.WithContext(ctx, f)) })
}

func TestWithContextEndsTheWait(t *testing.T) {
	ex, s, ctx, cancel := bound(t)
	h := spawned(ex, func(cx *rt.Context) error {
		f := rt.WithContext(ctx, request(s, 1))
		assert.ErrorIs(t, f.Err(), waiter.ErrPending)
		err := rt.Await(cx, f)
		assert.True(t, f.Poll(cx.Waker()), "polling a complete future changes nothing")
		assert.Equal(t, err, f.Err())
		f.Release()
		return err
	})
	locktest.AwaitWaiting(t, s, 1)
	cancel()
	_, err := wait(t, h)
	require.Equal(t, ctx.Err(), err)
	require.Zero(t, s.Waiting(), "cancelled")

	// A context that is done already takes nothing, however free.
	s.Release(1)
	_, err = wait(t, waitBound(ctx, ex, request(s, 1)))
	require.ErrorIs(t, err, context.Canceled)
	requireIdle(t, s)
}

func TestWithContextLetsTheFutureThrough(t *testing.T) {
	ex, s, ctx, cancel := bound(t)
	f := rt.WithContext(ctx, request(s, 1))
	h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, f) })
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
	cancel() // too late
	require.NoError(t, f.Err())
	require.Zero(t, s.Available(), "the future keeps what it was granted")
	f.Release()
	requireIdle(t, s)
	_, err = wait(t, waitBound(bg, ex, request(s, 2)))
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	requireIdle(t, s)
}

// Both the grant and the context's end are there when the task looks: the context wins, and the
// permit goes back.
func TestWithContextPrefersTheContext(t *testing.T) {
	ex, s, ctx, cancel := bound(t)
	h := waitBound(ctx, ex, request(s, 1))
	locktest.AwaitWaiting(t, s, 1)
	release := occupy(t, ex)
	s.Release(1)
	cancel()
	release()
	_, err := wait(t, h)
	require.ErrorIs(t, err, context.Canceled)
	requireIdle(t, s)
}

// One that has lost a select can be waited for again.
func TestWithContextStartsAgainAfterCancel(t *testing.T) {
	ex, s, ctx, _ := bound(t)
	var last atomic.Bool
	h := spawned(ex, func(cx *rt.Context) error {
		f := rt.WithContext(ctx, again(s, 1))
		for range 10 {
			var timer rt.Timer
			timer.Init(10 * time.Microsecond)
			if i, err := rt.Select(cx, f, &timer); err != nil || i != 1 {
				t.Error(i, err)
			}
			assert.Zero(t, s.Waiting())
			assert.ErrorIs(t, f.Err(), waiter.ErrPending)
		}
		last.Store(true)
		if err := rt.Await(cx, f); err != nil {
			return err
		}
		f.Release()
		return rt.Await(cx, f)
	})
	locktest.Eventually(t, "the last wait", func() bool { return last.Load() && s.Waiting() == 1 })
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
	s.Release(1)
	requireIdle(t, s)
}

// A context that outlives many waits keeps nothing of them.
func TestWithContextDeregisters(t *testing.T) {
	ex := solo(t)
	ctx := &countingContext{Context: bg, done: make(chan struct{})}
	s := held(t, 1)
	for round := range 10 {
		h := waitBound(ctx, ex, request(s, 1))
		awaitQuiet(t, ex, 1)
		require.EqualValues(t, 1, ctx.registered.Load())
		if round%2 == 0 {
			s.Release(1)
		} else {
			h.Abort()
		}
		<-h.Done()
		require.Zero(t, ctx.registered.Load())
		s.TryAcquire(1)
	}
	s.Release(1)
	requireIdle(t, s)
}

// A poll that only finds out that it still waits is no reason to poll again.
func TestWithContextThatWaitsWakesNone(t *testing.T) {
	s := held(t, 1)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	f := rt.WithContext(ctx, request(s, 1))
	var w locktest.CountingWaker
	for range 3 {
		require.False(t, f.Poll(&w))
		require.False(t, f.Poll(nil))
	}
	require.Zero(t, w.Load())
	f.Release()
	require.Zero(t, s.Waiting())
}

// If a future is cancelled just when its context has ended, it is not free for a moment. Who polls
// it then has to come back, or no goroutine would tell them of the context.
func TestWithContextPolledWhileItIsNotFreeAsksForAnotherPoll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what the context's end starts has to wait for a processor
	s := held(t, 1)
	ctx := &endingContext{Context: bg, done: make(chan struct{})}
	f := rt.WithContext(ctx, again(s, 1))
	locktest.Eventually(t, "a poll in time", func() bool {
		var w locktest.CountingWaker
		require.False(t, f.Poll(nil))
		ctx.end()
		f.Release()
		require.False(t, f.Poll(nil))
		require.False(t, f.Poll(&w))
		return w.Load() == 1
	})
	ctx.end = nil
	locktest.Eventually(t, "another wait for the context", func() bool { f.Poll(nil); return ctx.end != nil })
	f.Release()
	require.Zero(t, s.Waiting())
}

// endingContext is a context whose functions are called when the test wants it, however often.
type endingContext struct {
	context.Context
	done chan struct{}
	end  func()
	err  error // not nil while the functions are called
}

func (c *endingContext) Done() <-chan struct{} { return c.done }

func (c *endingContext) Err() error { return c.err }

// AfterFunc is what context.AfterFunc calls for a context that package context did not make.
func (c *endingContext) AfterFunc(f func()) func() bool {
	c.end = func() {
		c.err = context.Canceled
		f()
		c.err = nil
	}
	return func() bool { return true }
}

// countingContext counts the functions that wait for its end, which never comes.
type countingContext struct {
	context.Context
	done       chan struct{}
	registered atomic.Int64
}

func (c *countingContext) Done() <-chan struct{} { return c.done }

// AfterFunc is what context.AfterFunc calls for a context that package context did not make.
func (c *countingContext) AfterFunc(func()) func() bool {
	c.registered.Add(1)
	var once sync.Once
	return func() (first bool) {
		once.Do(func() { first = true; c.registered.Add(-1) })
		return first
	}
}

// A context of a foreign type that panics, or ends the goroutine, in any call to it: the future has
// been cancelled.
func TestBlockOnLosesNothing(t *testing.T) {
	panictest.RequireNothingLost(t, func() locktest.Held {
		s := semaphore.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		return locktest.Held{
			Wait: func(ctx context.Context) error {
				var f waiter.Future
				s.Bind(&f, 1)
				if err := rt.BlockOn(ctx, &f); err != nil {
					return err
				}
				return f.Take() // Release gives it back
			},
			Waiting: func() bool { return s.Waiting() > 0 },
			Free:    func() { s.Release(1) },
			Release: func() { s.Release(1) },
			After: func(t *testing.T) {
				require.EqualValues(t, 1, s.Available())
				require.Zero(t, s.Waiting())
			},
		}
	})
}
