package rt_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// forEachRWLock runs f with a new lock of each kind, which must be free in the end.
func forEachRWLock(t *testing.T, f func(t *testing.T, l *rwlock.RWLock)) {
	t.Helper()
	for name, l := range map[string]*rwlock.RWLock{
		"plain": new(rwlock.RWLock), "biased": rwlock.NewBiased(),
	} {
		t.Run(name, func(t *testing.T) {
			f(t, l)
			rwtest.RequireState(t, l, rwtest.Unlocked)
		})
	}
}

// Tasks and goroutines use one lock: more tasks than the executor has workers wait, and hold none
// of them.
func TestTasksShareAnRWLock(t *testing.T) {
	ex := start(t, rt.WithWorkers(2))
	forEachRWLock(t, func(t *testing.T, l *rwlock.RWLock) {
		type datum struct{ a, b int }
		var d datum
		const tasks = 20
		rounds := locktest.Scaled(200)
		handles := make([]*rt.JoinHandle[struct{}], tasks)
		for i := range handles {
			s := rwtest.Holds(l)[i%3]
			bind := map[rwtest.State]func(*waiter.Future){
				rwtest.Read: l.BindRead, rwtest.Upgradable: l.BindUpgradable, rwtest.Write: l.Bind,
			}[s]
			handles[i] = rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
				var f waiter.Future
				for range rounds {
					bind(&f)
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
func TestTaskThatGivesUpAWriteLockLetsReadersIn(t *testing.T) {
	ex := start(t, rt.WithWorkers(2))
	forEachRWLock(t, func(t *testing.T, l *rwlock.RWLock) {
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
		require.Error(t, err)
		require.True(t, l.TryRLock())
		for range 3 {
			l.RUnlock()
		}
	})
}
