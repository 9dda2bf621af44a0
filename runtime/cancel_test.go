//go:build !interleave

package rt_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A cancel that happened before the completion wins, at whatever look at the context both come,
// and when the wait sleeps.
func TestCancelBeforeCompletionWins(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, f rt.Future) error{
		"BlockOn":     rt.BlockOn,
		"WithContext": func(ctx context.Context, f rt.Future) error { return rt.BlockOn(bg, rt.WithContext(ctx, f)) },
		"WithContext, in a task": func(ctx context.Context, f rt.Future) error {
			ex := rt.New(rt.WithWorkers(1))
			_, err := waitBound(ctx, ex, f).Wait(bg)
			_ = ex.Shutdown(bg)
			return err
		},
		"WithContext, in a select": func(ctx context.Context, f rt.Future) error {
			return rt.BlockOn(bg, rt.FirstOf(rt.WithContext(ctx, f)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			asleep := false
			for nth := int64(1); !asleep; nth++ {
				synctest.Test(t, func(t *testing.T) {
					s := held(t, 1)
					ctx, cancel := context.WithCancel(bg)
					c := locktest.NewTrapContext(ctx, "Err", nth, func() { cancel(); s.Release(1) })
					result := make(chan error, 1)
					go func() { result <- wait(c, request(s, 1)) }()
					synctest.Wait()
					if asleep = len(result) == 0; asleep {
						require.NoError(t, ctx.Err())
						c.Spring()
					}
					require.Equal(t, context.Canceled, <-result, "in call %d of Err", nth)
					requireIdle(t, s)
				})
			}
		})
	}
}

// The same for the end of a task: when the context is first asked, and when the goroutine sleeps.
func TestCancelBeforeTheEndOfATaskWins(t *testing.T) {
	for nth := range int64(2) {
		synctest.Test(t, func(t *testing.T) {
			ex := solo(t)
			s := held(t, 1)
			h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
			synctest.Wait()
			ctx, cancel := context.WithCancel(bg)
			c := locktest.NewTrapContext(ctx, "Err", nth, func() { cancel(); s.Release(1); <-h.Done() })
			result := make(chan error, 1)
			go func() { _, err := h.Wait(c); result <- err }()
			synctest.Wait()
			if nth == 0 {
				require.Empty(t, result)
				c.Spring()
			}
			require.Equal(t, context.Canceled, <-result)
		})
	}
}

// A context that has no error when its channel closes ends a wait all the same, as cancelled: no
// wait spins for the error.
func TestContextWithoutAnErrorEndsTheWait(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, ex *rt.Executor, s *semaphore.Semaphore) error{
		"BlockOn": func(ctx context.Context, _ *rt.Executor, s *semaphore.Semaphore) error {
			return rt.BlockOn(ctx, request(s, 1))
		},
		"WithContext": func(ctx context.Context, ex *rt.Executor, s *semaphore.Semaphore) error {
			_, err := waitBound(ctx, ex, request(s, 1)).Wait(bg)
			return err
		},
		"JoinHandle": func(ctx context.Context, ex *rt.Executor, s *semaphore.Semaphore) error {
			h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
			defer h.Abort()
			_, err := h.Wait(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ex := solo(t)
				s := held(t, 1)
				ctx := locktest.NewForeignContext()
				result := make(chan error, 1)
				go func() { result <- wait(ctx, ex, s) }()
				synctest.Wait()
				require.Empty(t, result)
				ctx.End(nil)
				synctest.Wait()
				require.Len(t, result, 1, "it waits on")
				require.Equal(t, context.Canceled, <-result)
				require.Zero(t, s.Waiting())
			})
		})
	}
}

// A bound future hears of its context in every round, however the round before has ended.
func TestWithContextHearsInEveryRound(t *testing.T) {
	for name, end := range map[string]func(s *semaphore.Semaphore, f rt.Future){
		"completed": func(s *semaphore.Semaphore, f rt.Future) {
			s.Release(1)
			assert.True(t, f.Poll(nil))
			assert.NoError(t, f.Err())
			f.Release()
			assert.True(t, s.TryAcquire(1))
		},
		"completed, not looked at": func(s *semaphore.Semaphore, f rt.Future) {
			s.Release(1)
			assert.True(t, f.Poll(nil))
			f.Release()
			assert.True(t, s.TryAcquire(1))
		},
		"granted, not polled": func(s *semaphore.Semaphore, f rt.Future) {
			s.Release(1)
			f.Release()
			assert.True(t, s.TryAcquire(1))
		},
		"cancelled": func(*semaphore.Semaphore, rt.Future) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := held(t, 1)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				f := rt.WithContext(ctx, again(s, 1))
				for range 3 {
					require.False(t, f.Poll(nil))
					end(s, f)
					f.Release()
					require.ErrorIs(t, f.Err(), waiter.ErrPending)
				}
				var w locktest.CountingWaker
				require.False(t, f.Poll(&w))
				cancel()
				synctest.Wait()
				require.EqualValues(t, 1, w.Load(), "the context has ended, and no wake has come")
				require.True(t, f.Poll(&w))
				require.Equal(t, context.Canceled, f.Err())
			})
		})
	}
}
