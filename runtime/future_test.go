package rt_test

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
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// budget is how many futures, at most, a task finds complete before others have had a turn.
const budget = 129

func TestAwaitReturnsTheErrorOfTheFuture(t *testing.T) {
	ex := solo(t)
	s := semaphore.New(1)
	require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) }))
	require.Zero(t, s.Available(), "it has been acquired")
	s.Release(1)
	require.ErrorIs(
		t,
		run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 2)) }),
		semaphore.ErrTooLarge,
	)
	h := spawned(ex, func(cx *rt.Context) error { s.TryAcquire(1); return rt.Await(cx, request(s, 1)) })
	locktest.AwaitWaiting(t, s, 1)
	s.Close()
	_, err := wait(t, h)
	require.ErrorIs(t, err, semaphore.ErrClosed)
}

// While a task waits, its worker has time for others.
func TestAwaitHoldsNoWorker(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	hs := make([]*rt.JoinHandle[struct{}], 100)
	var inside atomic.Int32
	for i := range hs {
		hs[i] = spawned(ex, func(cx *rt.Context) error {
			if err := rt.Await(cx, request(s, 1)); err != nil {
				return err
			}
			defer s.Release(1)
			assert.EqualValues(t, 1, inside.Add(1))
			defer inside.Add(-1)
			return rt.Yield(cx)
		})
	}
	locktest.AwaitWaiting(t, s, 100)
	require.NoError(t, run(t, ex, rt.Yield))
	s.Release(1)
	for _, h := range hs {
		_, err := wait(t, h)
		require.NoError(t, err)
	}
	requireIdle(t, s)
}

// A task that has been cancelled waits no more: not in the wait that it is in, nor in any further
// one, not even for what is free.
func TestAwaitOfACancelledTaskEndsAtOnce(t *testing.T) {
	ex := solo(t)
	s, free := held(t, 1), semaphore.New(1)
	f := request(free, 1)
	h := spawned(ex, func(cx *rt.Context) error {
		first := rt.Await(cx, request(s, 1))
		assert.ErrorIs(t, first, rt.ErrCancelled)
		assert.ErrorIs(t, rt.Await(cx, f), rt.ErrCancelled)
		assert.ErrorIs(t, f.Err(), waiter.ErrPending)
		assert.ErrorIs(t, rt.Yield(cx), rt.ErrCancelled)
		assert.ErrorIs(t, rt.Sleep(cx, time.Hour), rt.ErrCancelled)
		assert.ErrorIs(t, rt.Join(cx, f), rt.ErrCancelled)
		i, err := rt.Select(cx, f)
		assert.Equal(t, -1, i)
		assert.ErrorIs(t, err, rt.ErrCancelled)
		_, err = rt.Blocking(cx, func() (int, error) { panic("called") })
		assert.ErrorIs(t, err, rt.ErrCancelled)
		return first
	})
	locktest.AwaitWaiting(t, s, 1)
	h.Abort()
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	s.Release(1)
	requireIdle(t, s)
	requireIdle(t, free)
}

// Tasks that hold a lock and are cancelled, or panic, at any moment give it back by defer; what
// they are just being granted goes back by itself.
func TestNoPermitIsLostToCancelledTasks(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t, quiet)
		s := semaphore.New(2)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range locktest.Scaled(600) {
					h := spawned(ex, func(cx *rt.Context) error {
						n := int64(1 + i%2)
						if err := rt.Await(cx, request(s, n)); err != nil {
							return err
						}
						defer s.Release(n)
						if i%5 == 0 {
							panic("with a permit")
						}
						return rt.Yield(cx)
					})
					for range rand.IntN(3) {
						_, _ = h.Result()
					}
					h.Abort()
					<-h.Done()
					_, _ = h.Result() // or Shutdown would tell of a panic before Done
				}
			})
		}
		wg.Wait()
		requireIdle(t, s)
	})
}

func TestYieldLetsOthersRun(t *testing.T) {
	ex := solo(t)
	release := occupy(t, ex)
	var turns []int
	var hs []*rt.JoinHandle[struct{}]
	for i := range 2 {
		hs = append(hs, spawned(ex, func(cx *rt.Context) error {
			for range 3 {
				turns = append(turns, i)
				if err := rt.Yield(cx); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	release()
	for _, h := range hs {
		_, err := wait(t, h)
		require.NoError(t, err)
	}
	require.Equal(t, []int{0, 1, 0, 1, 0, 1}, turns)
}

// hogs are ways to find futures complete without end; each calls step before each.
var hogs = map[string]func(
	t *testing.T, ex *rt.Executor, s *semaphore.Semaphore, step func() bool,
) (done <-chan struct{}){
	"Await": func(t *testing.T, ex *rt.Executor, s *semaphore.Semaphore, step func() bool) <-chan struct{} {
		return hog(t, ex, s, step, func(cx *rt.Context, f rt.Future) error { return rt.Await(cx, f) })
	},
	"Select": func(t *testing.T, ex *rt.Executor, s *semaphore.Semaphore, step func() bool) <-chan struct{} {
		never := held(t, 1)
		other := request(never, 1)
		return hog(t, ex, s, step, func(cx *rt.Context, f rt.Future) error {
			i, err := rt.Select(cx, other, f)
			assert.Equal(t, 1, i)
			return err
		})
	},
	"Join": func(t *testing.T, ex *rt.Executor, s *semaphore.Semaphore, step func() bool) <-chan struct{} {
		return hog(t, ex, s, step, func(cx *rt.Context, f rt.Future) error { return rt.Join(cx, f) })
	},
	"poll task": func(t *testing.T, ex *rt.Executor, s *semaphore.Semaphore, step func() bool) <-chan struct{} {
		f := request(s, 1)
		p := newPoll(func(cx *rt.Context) bool {
			for cx.Poll(f) {
				assert.NoError(t, f.Err())
				f.Release()
				s.Bind(f, 1)
				if !step() || cx.Err() != nil {
					return true
				}
			}
			return false
		})
		require.NoError(t, ex.Spawn(p))
		return completionOf(&p.Task).Done()
	},
}

func hog(
	t *testing.T,
	ex *rt.Executor,
	s *semaphore.Semaphore,
	step func() bool,
	wait func(*rt.Context, rt.Future) error,
) <-chan struct{} {
	f := request(s, 1)
	return spawned(ex, func(cx *rt.Context) error {
		for {
			s.Bind(f, 1)
			if err := wait(cx, f); err != nil {
				return err
			}
			assert.EqualValues(t, 0, s.Available(), "it is ours")
			f.Release()
			if !step() {
				return nil
			}
		}
	}).Done()
}

// A task for which everything is free at once still lets others run, and loses nothing by it.
func TestBudgetMakesABusyTaskYield(t *testing.T) {
	for name, hog := range hogs {
		t.Run(name, func(t *testing.T) {
			ex := solo(t)
			s := semaphore.New(1)
			release := occupy(t, ex)
			inARow, turns := 0, 0
			done := hog(t, ex, s, func() bool {
				inARow++
				assert.LessOrEqual(t, inARow, budget)
				return turns < 50
			})
			other := newPoll(func(cx *rt.Context) bool {
				inARow = 0
				turns++
				return turns == 50 || cx.Err() != nil || cx.Yield()
			})
			require.NoError(t, ex.Spawn(other))
			release()
			locktest.Receive(t, done)
			requireIdle(t, s)
			require.NoError(t, ended(t, &other.Task))
		})
	}
}

// When the budget says no to a future that is complete, the permit stays with it; to one that is
// not, its place stays.
func TestBudgetTakesNoPermitAndNoPlace(t *testing.T) {
	ex := solo(t)
	s, free := held(t, 2), semaphore.New(1)
	f, g := request(free, 1), request(s, 1)
	left, refused := budget*3, 0
	var order []string
	p := newPoll(func(cx *rt.Context) bool {
		for ; left > 0; left-- {
			if !cx.Poll(f) {
				assert.Zero(t, free.Available(), "refused by the budget, granted all the same")
				refused++
				return false
			}
			assert.NoError(t, f.Err())
			f.Release()
			free.Bind(f, 1)
		}
		if !cx.Poll(g) {
			return false
		}
		assert.NoError(t, g.Err())
		order = append(order, "first")
		return true
	})
	require.NoError(t, ex.Spawn(p))
	locktest.AwaitWaiting(t, s, 1)
	require.Positive(t, refused)
	behind := spawned(ex, func(cx *rt.Context) error {
		err := rt.Await(cx, request(s, 1))
		order = append(order, "second")
		return err
	})
	locktest.AwaitWaiting(t, s, 2)
	p.Waker().Wake() // for nothing
	s.Release(1)
	require.NoError(t, ended(t, &p.Task))
	s.Release(1)
	_, err := wait(t, behind)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, order)
	s.Release(2)
	f.Release()
	requireIdle(t, s)
	requireIdle(t, free)
}

// Tasks, goroutines and selects stand in one line.
func TestTasksAreServedInTheOrderOfTheirWaits(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	var order []int // guarded by the semaphore
	note := func(i int) { order = append(order, i); s.Release(1) }
	var wg sync.WaitGroup
	for i := range 12 {
		f := request(s, 1)
		switch i % 4 {
		case 0:
			wg.Add(1)
			require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
				if !cx.Poll(f) {
					return false
				}
				assert.NoError(t, f.Err())
				note(i)
				wg.Done()
				return true
			})))
		case 1:
			h := spawned(ex, func(cx *rt.Context) error {
				err := rt.Await(cx, f)
				note(i)
				return err
			})
			wg.Go(func() { <-h.Done(); assert.NoError(t, h.Err()) })
		case 2:
			wg.Go(func() { assert.NoError(t, s.Acquire(bg, 1)); note(i) })
		case 3:
			wg.Go(func() { assert.NoError(t, rt.BlockOn(bg, f)); note(i) })
		}
		locktest.AwaitWaiting(t, s, i+1)
	}
	s.Release(1)
	wg.Wait()
	requireAscending(t, order, 12)
	requireIdle(t, s)
}

func TestResultIsPendingUntilTheTaskHasEnded(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := held(t, 1)
		h := rt.Go(ex, func(cx *rt.Context) (int, error) {
			err := rt.Await(cx, request(s, 1))
			s.Release(1)
			return 7, err
		})
		locktest.AwaitWaiting(t, s, 1)
		_, err := h.Result()
		require.ErrorIs(t, err, waiter.ErrPending)
		require.ErrorIs(t, h.Err(), waiter.ErrPending)
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		_, err = h.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, ctx.Err(), err, "no wrapping")
		s.Release(1)
		locktest.Eventually(t, "the end, without a waiter", func() bool { return h.Err() == nil })
		for range 3 { // as often as one likes
			v, err := h.Result()
			require.NoError(t, err)
			require.Equal(t, 7, v)
			v, err = h.Wait(bg)
			require.NoError(t, err)
			require.Equal(t, 7, v)
			require.True(t, h.Poll(nil))
		}
		requireIdle(t, s)
	})
}

// A handle that was waited for in one way, and given up, can be waited for in another.
func TestHandleMayBeWaitedForAgain(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	boo := errors.New("boo")
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		if err := rt.Await(cx, request(s, 1)); err != nil {
			return "", err
		}
		s.Release(1)
		return "value", boo
	})
	locktest.AwaitWaiting(t, s, 1)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err := h.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	select {
	case <-h.Done():
		t.Fatal("too early")
	case <-time.After(time.Millisecond):
	}
	h.Release()
	h.Release()
	require.NoError(t, run(t, ex, func(cx *rt.Context) error {
		var timer rt.Timer
		timer.Init(time.Millisecond)
		i, err := rt.Select(cx, h, &timer)
		assert.Equal(t, 1, i)
		return err
	}))
	var w locktest.CountingWaker
	require.False(t, h.Poll(&w))
	waiting := rt.Go(ex, func(cx *rt.Context) (string, error) { return h.Await(cx) })
	awaitQuiet(t, ex, 2)
	waiting.Abort()
	_, err = wait(t, waiting)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.ErrorIs(t, h.Err(), waiter.ErrPending, "the other task goes on")
	waiting = rt.Go(ex, func(cx *rt.Context) (string, error) { return h.Await(cx) })
	s.Release(1)
	v, err := wait(t, waiting)
	require.ErrorIs(t, err, boo)
	require.Equal(t, "value", v, "a value may come with an error")
	locktest.Receive(t, h.Done())
}

func TestAbortBeforeTheBeginningCallsNothing(t *testing.T) {
	ex := solo(t)
	release := occupy(t, ex)
	h := rt.Go(ex, func(*rt.Context) (int, error) { panic("called") })
	h.Abort()
	h.Abort()
	require.ErrorIs(t, h.Err(), waiter.ErrPending)
	release()
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
	h.Abort()
	require.ErrorIs(t, h.Err(), rt.ErrCancelled)
}

// A task that does not wait decides for itself what an abort means.
func TestAbortIsARequest(t *testing.T) {
	ex := start(t, rt.WithWorkers(1))
	in, gate := make(chan struct{}), make(chan struct{})
	h := rt.Go(ex, func(cx *rt.Context) (error, error) {
		close(in)
		<-gate
		return cx.Err(), nil
	})
	locktest.Receive(t, in)
	h.Abort()
	close(gate)
	v, err := wait(t, h)
	require.NoError(t, err)
	require.ErrorIs(t, v, rt.ErrCancelled)
}

func TestTasksMayStartAndAwaitTasks(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var fib func(n int) func(cx *rt.Context) (int, error)
		fib = func(n int) func(cx *rt.Context) (int, error) {
			return func(cx *rt.Context) (int, error) {
				if n < 2 {
					return n, nil
				}
				a, b := rt.Go(cx.Executor(), fib(n-1)), rt.Go(cx.Executor(), fib(n-2))
				if err := rt.Join(cx, a, b); err != nil {
					return 0, err
				}
				x, _ := a.Result()
				y, err := b.Await(cx)
				return x + y, err
			}
		}
		v, err := wait(t, rt.Go(ex, fib(12)))
		require.NoError(t, err)
		require.Equal(t, 144, v)
	})
}

// A deferred function may still wait, whatever ends the task.
func TestDeferredFunctionsMayWait(t *testing.T) {
	ex := solo(t, quiet)
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			s := held(t, 1)
			var err error
			h := spawned(ex, func(cx *rt.Context) error {
				defer func() {
					if err = rt.Await(cx, request(s, 1)); err == nil {
						s.Release(1)
					}
				}()
				end()
				return nil
			})
			locktest.AwaitWaiting(t, s, 1)
			s.Release(1)
			locktest.Receive(t, h.Done())
			_ = h.Err() // asked for, so that the end of the executor does not tell of it again
			require.NoError(t, err)
			requireIdle(t, s)
		})
	}
}
