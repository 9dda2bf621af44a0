//go:build !interleave

package rt_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// contextOf starts a task that waits for a permit, and returns it with its context.
func contextOf(t testing.TB, ex *rt.Executor, s *semaphore.Semaphore) (*rt.JoinHandle[int], context.Context) {
	t.Helper()
	got := make(chan context.Context, 1)
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		got <- cx.Context()
		return 7, rt.Await(cx, request(s, 1))
	})
	return h, locktest.Receive(t, got)
}

func TestContextOfATaskEndsWithItsCancel(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	h, ctx := contextOf(t, ex, s)
	require.NoError(t, ctx.Err())
	require.NoError(t, context.Cause(ctx))
	h.Abort()
	require.Equal(t, context.Canceled, ctx.Err(), "when Abort has returned")
	require.Equal(t, rt.ErrCancelled, context.Cause(ctx))
	locktest.Receive(t, ctx.Done())
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.Equal(t, rt.ErrCancelled, context.Cause(ctx))
}

func TestContextOfATaskThatWasCancelledHasEnded(t *testing.T) {
	ex := solo(t)
	in, gate := make(chan struct{}), make(chan struct{})
	h := spawned(ex, func(cx *rt.Context) error {
		close(in)
		<-gate
		ctx := cx.Context()
		assert.Equal(t, context.Canceled, ctx.Err())
		return context.Cause(ctx)
	})
	locktest.Receive(t, in)
	h.Abort()
	close(gate)
	_, err := wait(t, h)
	require.Equal(t, rt.ErrCancelled, err)
}

// A goroutine that has learned of the task's end finds the context ended, however the task has
// ended.
func TestContextOfATaskEndsWithIt(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			locktest.AtEveryProcs(t, func(t *testing.T) {
				ex := start(t, quiet)
				for range locktest.Scaled(100) {
					var ctx context.Context
					h := spawned(ex, func(cx *rt.Context) error {
						ctx = cx.Context()
						assert.Same(t, ctx, cx.Context())
						assert.NoError(t, rt.Yield(cx))
						assert.Same(t, ctx, cx.Context())
						assert.NoError(t, ctx.Err())
						end()
						return nil
					})
					<-h.Done()
					_ = h.Err() // that it has panicked is known
					require.Equal(t, context.Canceled, ctx.Err())
					require.NotErrorIs(t, context.Cause(ctx), rt.ErrCancelled)
					require.ErrorContains(t, context.Cause(ctx), "task ended")
					h.Abort()
					require.NotErrorIs(t, context.Cause(ctx), rt.ErrCancelled)
				}
			})
		})
	}
}

func TestContextTellsTheCauseOfAShutdown(t *testing.T) {
	ex := rt.New(rt.WithWorkers(1))
	_, ctx := contextOf(t, ex, held(t, 1))
	why := errors.New("maintenance")
	done, cancel := context.WithCancelCause(bg)
	cancel(why)
	require.ErrorIs(t, ex.Shutdown(done), why)
	require.ErrorIs(t, context.Cause(ctx), why)
	require.ErrorIs(t, context.Cause(ctx), rt.ErrCancelled)
}

// A poll task has one context for all polls of a life, and another one in the next.
func TestContextOfAPollTaskIsThatOfItsLife(t *testing.T) {
	ex := solo(t)
	var seen []context.Context
	polls := 0
	p := newPoll(func(cx *rt.Context) bool {
		seen = append(seen, cx.Context())
		assert.NoError(t, cx.Context().Err())
		polls++
		return polls%2 == 0 || cx.Yield()
	})
	for range 2 {
		require.NoError(t, ex.Spawn(p))
		require.NoError(t, ended(t, &p.Task))
	}
	require.Same(t, seen[0], seen[1])
	require.Same(t, seen[2], seen[3])
	require.NotSame(t, seen[1], seen[2])
	for _, ctx := range seen {
		require.Error(t, ctx.Err())
	}
}

// Cancel and end at the same time: the context ends, with one of the two causes.
func TestContextEndsAtAnyCancel(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		for i := range locktest.Scaled(2000) {
			var ctx context.Context
			h := spawned(ex, func(cx *rt.Context) error {
				if i%2 == 0 {
					_ = rt.Yield(cx)
				}
				ctx = cx.Context()
				return nil
			})
			for range i % 5 {
				runtime.Gosched()
			}
			h.Abort()
			if _, err := h.Wait(bg); err == nil {
				require.Error(t, ctx.Err())
			}
		}
	})
}

// Every lock of this module can be waited for in a function of Blocking, which ends when the task
// is cancelled.
func TestBlockingFunctionWaitsForLocksUntilTheTaskIsCancelled(t *testing.T) {
	for name, lock := range map[string]func() func(ctx context.Context) error{
		"semaphore": func() func(context.Context) error {
			s := semaphore.New(1)
			return func(ctx context.Context) error { return s.Acquire(ctx, 1) }
		},
		"semaphore with capacitor": func() func(context.Context) error {
			s := semaphore.New(1, semaphore.WithCapacitor(1, 256))
			return func(ctx context.Context) error { return s.Acquire(ctx, 1) }
		},
		"mutex":   func() func(context.Context) error { return new(mutex.Mutex).LockContext },
		"word":    func() func(context.Context) error { return new(mutex.Word).LockContext },
		"pointer": func() func(context.Context) error { return new(mutex.Pointer[int]).LockContext },
		"write":   func() func(context.Context) error { return new(rwlock.RWLock).LockContext },
		"read": func() func(context.Context) error {
			l, first := new(rwlock.RWLock), true
			return func(ctx context.Context) error {
				if first {
					first = false
					return l.LockContext(ctx)
				}
				return l.RLockContext(ctx)
			}
		},
		"capacitor": func() func(context.Context) error { return new(farad.Mutex).LockContext },
		"twa mutex": func() func(context.Context) error { return new(twa.Mutex).LockContext },
		"twa semaphore": func() func(context.Context) error {
			s := twa.New(1)
			return func(ctx context.Context) error { return s.Acquire(ctx, 1) }
		},
		"event count": func() func(context.Context) error {
			e, n := new(twa.EventCount), int64(0)
			return func(ctx context.Context) error { n++; return e.Await(ctx, n-1) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ex := solo(t)
				acquire := lock()
				require.NoError(t, acquire(bg))
				result := make(chan error, 1)
				h := rt.Go(ex, func(cx *rt.Context) (int, error) {
					ctx := cx.Context()
					return rt.Blocking(cx, func() (int, error) { result <- acquire(ctx); return 0, nil })
				})
				synctest.Wait()
				require.Empty(t, result)
				h.Abort()
				require.Equal(t, context.Canceled, <-result)
				_, err := h.Wait(bg)
				require.ErrorIs(t, err, rt.ErrCancelled)
			})
		})
	}
}

// What derives from the context makes an entry in it, and no goroutine.
func TestChildrenOfATasksContextNeedNoGoroutine(t *testing.T) {
	ex := solo(t)
	const children = 1000
	s := held(t, 1)
	h, ctx := contextOf(t, ex, s)
	before := runtime.NumGoroutine()
	called := make(chan struct{}, children)
	var last context.Context
	for range children {
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		context.AfterFunc(ctx, func() { called <- struct{}{} })
		last = child
	}
	require.Less(t, runtime.NumGoroutine()-before, children/2)
	h.Abort()
	for range children {
		locktest.Receive(t, called)
	}
	require.Equal(t, rt.ErrCancelled, context.Cause(last))
}
