package rwlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// startExecutor returns an executor that ends with the test.
func startExecutor(t *testing.T) *rt.Executor {
	t.Helper()
	ex := rt.New(rt.WithWorkers(2))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(bg, locktest.Patience)
		defer cancel()
		require.NoError(t, ex.Shutdown(ctx))
	})
	return ex
}

// Tasks and goroutines use one lock: more tasks than the executor has workers wait, and hold none
// of them.
func TestTasksAwaitFutures(t *testing.T) {
	ex := startExecutor(t)
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		var d datum
		const tasks = 20
		rounds := locktest.Scaled(200)
		handles := make([]*rt.JoinHandle[struct{}], tasks)
		for i := range handles {
			s := rwtest.Holds(l)[i%3]
			handles[i] = rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
				var f waiter.Future
				for range rounds {
					bindAs(&f, l, s)
					if err := rt.Await(cx, &f); err != nil {
						return struct{}{}, err
					}
					before := d
					if s == rwtest.Write {
						d.a++
					}
					if err := rt.Yield(cx); err != nil { // with the lock held
						return struct{}{}, err
					}
					if s == rwtest.Write {
						d.b++
					} else if before != d {
						return struct{}{}, errors.New("written beside a reader")
					}
					f.Release()
				}
				return struct{}{}, nil
			})
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range rounds {
				l.Lock()
				d.a++
				d.b++
				l.Unlock()
			}
		})
		for i := range handles {
			locktest.Receive(t, handles[i].Done())
			_, err := handles[i].Result()
			require.NoError(t, err)
		}
		wg.Wait()
		require.Equal(t, datum{rounds * (1 + tasks/3), rounds * (1 + tasks/3)}, d)
	})
}

// A task that gives up on a write lock, by a time limit or because it is cancelled, lets the
// readers behind it in.
func TestTaskThatGivesUpLetsReadersIn(t *testing.T) {
	ex := startExecutor(t)
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.RLock()
		w := rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
			var f waiter.Future
			l.Bind(&f)
			return struct{}{}, rt.Await(cx, &f)
		})
		locktest.AwaitWaiting(t, l, 1)
		r := rwtest.Queued(t, l, l.RLock)
		w.Abort()
		locktest.Receive(t, r)
		locktest.Receive(t, w.Done())
		_, err := w.Result()
		require.ErrorIs(t, err, rt.ErrCancelled)

		h := rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
			var f waiter.Future
			l.Bind(&f)
			return struct{}{}, rt.Await(cx, rt.Timeout(&f, time.Millisecond))
		})
		locktest.Receive(t, h.Done())
		_, err = h.Result()
		require.True(t, err != nil)
		require.True(t, l.TryRLock())
		for range 3 {
			l.RUnlock()
		}
	})
}
