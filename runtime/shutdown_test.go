package rt_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestShutdownLetsTasksFinish(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New()
		s := semaphore.New(1)
		var ends atomic.Int64
		n := locktest.Scaled(160)
		for range n {
			spawned(ex, func(cx *rt.Context) error {
				if err := rt.Await(cx, request(s, 1)); err != nil {
					return err
				}
				defer s.Release(1)
				if err := rt.Sleep(cx, 10*time.Microsecond); err != nil {
					return err
				}
				ends.Add(1)
				return nil
			})
		}
		shutdown(t, ex)
		require.EqualValues(t, n, ends.Load())
		requireIdle(t, s)
		require.Zero(t, ex.Stats().Tasks)
	})
}

var errHurry = errors.New("hurry")

// doneWith returns a context that is done, because of errHurry.
func doneWith() context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(errHurry)
	return ctx
}

func TestShutdownCancelsWhenItsContextIsDone(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New()
		s := held(t, 1)
		var cancelled atomic.Int64
		const n = 50
		for range n {
			spawned(ex, func(cx *rt.Context) error {
				err := rt.Await(cx, request(s, 1))
				assert.ErrorIs(t, err, rt.ErrCancelled)
				assert.Equal(t, errHurry, cx.Executor().Cause())
				cancelled.Add(1)
				return err
			})
			f := request(s, 1)
			require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
				if !cx.Poll(f) {
					return false
				}
				assert.ErrorIs(t, cx.Err(), rt.ErrCancelled)
				cancelled.Add(1)
				return true
			})))
		}
		locktest.AwaitWaiting(t, s, 2*n)
		require.NoError(t, ex.Cause())
		ctx, cancel := context.WithCancelCause(bg)
		got := make(chan error)
		go func() { got <- ex.Shutdown(ctx) }()
		locktest.Eventually(t, "shutdown", func() bool { return ex.Spawn(once(func() {})) != nil })
		cancel(errHurry)
		err := locktest.Receive(t, got)
		require.ErrorIs(t, err, errHurry, "the cause, not just the error, of the context")
		require.ErrorContains(t, err, "shutdown cancelled")
		require.Equal(t, errHurry, ex.Cause())
		require.EqualValues(t, 2*n, cancelled.Load())
		s.Release(1)
		requireIdle(t, s)
		require.NoError(t, ex.Shutdown(bg), "there is nothing left to do")
	})
}

// The time of grace holds for a context whose Done closes before its Err says so, too.
func TestShutdownBelievesDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the time of grace
		ex := rt.New(rt.WithWorkers(1))
		s := held(t, 1)
		h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
		locktest.AwaitWaiting(t, s, 1)
		err := ex.Shutdown(silent{bg})
		require.ErrorContains(t, err, "shutdown cancelled 1 task")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, ex.Cause(), context.Canceled)
		require.ErrorIs(t, h.Err(), rt.ErrCancelled)
		s.Release(1)
		requireIdle(t, s)
	})
}

// silent is done, and has no error.
type silent struct{ context.Context }

func (silent) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// A nil context is a mistake that must not cost the executor.
func TestShutdownWithoutAContextChangesNothing(t *testing.T) {
	ex := start(t, rt.WithWorkers(1))
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
	require.PanicsWithValue(t, "rt: Shutdown with a nil context", func() {
		_ = ex.Shutdown(nil) //nolint:staticcheck // the mistake itself
	})
	require.NoError(t, run(t, ex, rt.Yield), "it still takes tasks")
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
}

// The first that cancels says why.
func TestCauseIsThatOfTheFirstCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the time of grace
		ex := rt.New(rt.WithWorkers(1))
		release := occupy(t, ex)
		require.ErrorIs(t, ex.Shutdown(doneWith()), rt.ErrStuck)
		other, cancel := context.WithCancel(bg)
		cancel()
		require.ErrorIs(t, ex.Shutdown(other), rt.ErrStuck)
		require.Equal(t, errHurry, ex.Cause())
		release()
		require.NoError(t, ex.Shutdown(bg))
	})
}

// A done context does not make an error of a shutdown that had nothing to cancel.
func TestShutdownOfNothingSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the time of grace
		for range 20 {
			ex := rt.New()
			require.NoError(t, ex.Shutdown(doneWith()))
			require.NoError(t, ex.Shutdown(doneWith()))
		}
	})
}

func TestShutdownsMayOverlap(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for range locktest.Scaled(100) {
			ex := rt.New()
			s := held(t, 1)
			for range 10 {
				spawned(ex, func(cx *rt.Context) error {
					if err := rt.Await(cx, request(s, 1)); err != nil {
						return err
					}
					s.Release(1)
					return nil
				})
			}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { assert.NoError(t, ex.Shutdown(bg)) })
			}
			wg.Go(func() { // the last of them is in a hurry, but has time enough to see all done by themselves
				ctx, cancel := context.WithTimeout(bg, locktest.Patience)
				defer cancel()
				assert.NoError(t, ex.Shutdown(ctx))
			})
			s.Release(1)
			wg.Wait()
			requireIdle(t, s)
		}
	})
}

// Of two shutdowns the one that is in a hurry cancels for both.
func TestHurriedShutdownEndsThePatientOne(t *testing.T) {
	ex := rt.New(rt.WithWorkers(2))
	s := held(t, 1)
	spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
	locktest.AwaitWaiting(t, s, 1)
	got := make(chan error)
	go func() { got <- ex.Shutdown(bg) }()
	locktest.Eventually(t, "shutdown", func() bool { return ex.Spawn(once(func() {})) != nil })
	require.ErrorIs(t, ex.Shutdown(doneWith()), errHurry)
	_ = locktest.Receive(t, got) // a success or not: all tasks have ended
}

// Spawns race with the shutdown: each is either refused, or its task ends before Shutdown returns.
func TestSpawnAgainstShutdown(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for range locktest.Scaled(200) {
			ex := rt.New()
			var accepted, ran atomic.Int64
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for ex.Spawn(once(func() { ran.Add(1) })) == nil {
						accepted.Add(1)
						runtime.Gosched()
					}
				})
			}
			locktest.Eventually(t, "some tasks", func() bool { return ran.Load() > 0 })
			shutdown(t, ex)
			atReturn := ran.Load()
			wg.Wait()
			require.Equal(t, accepted.Load(), ran.Load())
			require.Equal(t, atReturn, ran.Load(), "nothing runs after Shutdown")
		}
	})
}

// Not even when there were more tasks at once than coroutines are kept.
func TestNothingRemainsOfManyTasks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ex := rt.New(rt.WithWorkers(2))
	const n = 1500
	s := held(t, n)
	for range 2 {
		var hs []*rt.JoinHandle[struct{}]
		for range n {
			hs = append(hs, spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) }))
		}
		locktest.AwaitWaiting(t, s, n)
		s.Release(n)
		for _, h := range hs {
			_, err := wait(t, h)
			require.NoError(t, err)
		}
	}
	shutdown(t, ex)
	goleak.VerifyNone(t, before)
	s.Release(n)
	requireIdle(t, s)
}

// Nothing remains, whatever has been going on: workers, coroutines that were used and those that
// are kept, timers.
func TestNothingRemainsAfterShutdown(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ex := rt.New(rt.WithWorkers(4), rt.WithWatchdog(time.Millisecond, func(rt.Report) {}))
	s := held(t, 1)
	for i := range 300 {
		spawned(ex, func(cx *rt.Context) error {
			switch i % 3 {
			case 0:
				return rt.Sleep(cx, time.Hour)
			case 1:
				_, err := rt.Blocking(cx, func() (int, error) { return 0, nil })
				return err
			default:
				return rt.Await(cx, rt.Timeout(request(s, 1), time.Hour))
			}
		})
	}
	awaitQuiet(t, ex, 200)
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, ex.Shutdown(ctx), context.DeadlineExceeded)
	goleak.VerifyNone(t, before)
	s.Release(1)
	requireIdle(t, s)
}

// A goroutine that is locked to its thread may shut down an executor that keeps coroutines.
func TestShutdownFromALockedThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ex := rt.New(rt.WithWorkers(1))
	v, err := rt.Go(ex, func(*rt.Context) (int, error) { return 7, nil }).Wait(bg)
	require.NoError(t, err)
	require.Equal(t, 7, v)
	shutdown(t, ex)
}
