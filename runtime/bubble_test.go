//go:build !interleave

package rt_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestExecutorIsDurablyBlockedWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 2, 16} {
			ex := start(t, rt.WithWorkers(workers))
			synctest.Wait()
			s := held(t, 1)
			h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
			synctest.Wait() // returns only because everything is durably blocked
			require.EqualValues(t, 1, s.Waiting())
			require.Equal(t, workers, ex.Stats().Sleeping)
			s.Release(1)
			synctest.Wait()
			require.NoError(t, h.Err())
		}
	})
}

// An idle executor costs nothing: no clock ticks. If one did, the bubble would go through all ticks
// of a year.
func TestIdleExecutorHasNoTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t, rt.WithWorkers(4))
		require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Second) }))
		begin := time.Now()
		time.Sleep(365 * 24 * time.Hour)
		require.Equal(t, 365*24*time.Hour, time.Since(begin))
	})
}

// An executor that was shut down has no ticks either.
func TestExecutorThatWasShutDownHasNoTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(4), rt.WithWatchdog(time.Second, func(rt.Report) {}))
		h := spawned(ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Second) })
		shutdown(t, ex)
		require.NoError(t, h.Err())
		time.Sleep(365 * 24 * time.Hour)
	})
}

func TestSleepTakesItsTimeOfFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t)
		begin := time.Now()
		var hs []*rt.JoinHandle[struct{}]
		for range 1000 {
			d := time.Duration(rand.IntN(3000)) * time.Second
			hs = append(hs, spawned(ex, func(cx *rt.Context) error {
				for range 3 {
					before := time.Now()
					if err := rt.Sleep(cx, d); err != nil {
						return err
					}
					assert.Equal(t, d, time.Since(before))
				}
				return nil
			}))
		}
		for _, h := range hs {
			_, err := h.Wait(bg)
			require.NoError(t, err)
		}
		require.LessOrEqual(t, time.Since(begin), 9000*time.Second)
	})
}

// Thousands of timers, many of which are cancelled: the others fire each at its time, and so in
// order.
func TestTimersFireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t, rt.WithWorkers(1))
		const n = 3000
		begin := time.Now()
		var fired, expected []time.Duration
		tasks := make([]*pollFunc, n)
		for i := range tasks {
			d := time.Duration(1+rand.IntN(n)) * time.Millisecond
			timer := new(rt.Timer)
			timer.Init(d)
			tasks[i] = newPoll(func(cx *rt.Context) bool {
				if !cx.Poll(timer) {
					return false
				}
				if cx.Err() == nil {
					assert.NoError(t, timer.Err())
					fired = append(fired, time.Since(begin))
				}
				return true
			})
			if i%3 != 0 {
				expected = append(expected, d)
			}
			require.NoError(t, ex.Spawn(tasks[i]))
		}
		synctest.Wait()
		require.Equal(t, n, ex.Stats().Sleepers)
		for i := 0; i < n; i += 3 {
			tasks[i].Abort()
		}
		synctest.Wait()
		require.Equal(t, len(expected), ex.Stats().Sleepers)
		time.Sleep((n + 1) * time.Millisecond)
		require.Zero(t, ex.Stats().Sleepers)
		slices.Sort(expected)
		require.Equal(t, expected, fired)
	})
}

// A cancel may leave the clock set too early, never too late.
func TestLaterTimerThanTheCancelledOneFiresAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t, rt.WithWorkers(1))
		early := spawned(ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Second) })
		begin := time.Now()
		late := spawned(ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Minute) })
		synctest.Wait()
		early.Abort()
		_, err := late.Wait(bg)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(begin))
		_, err = early.Wait(bg)
		require.ErrorIs(t, err, rt.ErrCancelled)
	})
}

func TestTimeLimitsInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t)
		s := held(t, 1)
		begin := time.Now()
		err := run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, rt.Timeout(request(s, 1), time.Second)) })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))

		err = rt.BlockOn(bg, rt.Timeout(request(s, 1), time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(begin))

		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		err = run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, rt.WithContext(ctx, request(s, 1))) })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(begin))

		var timer rt.Timer
		timer.Init(time.Second)
		require.NoError(t, rt.BlockOn(bg, &timer))
		require.Equal(t, 4*time.Second, time.Since(begin))

		// The time counts from the first poll.
		f := rt.Timeout(request(s, 1), time.Second)
		time.Sleep(time.Minute)
		begin = time.Now()
		require.ErrorIs(t, rt.BlockOn(bg, f), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begin))
		s.Release(1)
		requireIdle(t, s)
	})
}

// Tasks, goroutines and selects of one bubble share locks.
func TestLocksAcrossTasksAndGoroutinesOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t)
		s := semaphore.New(1)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				assert.NoError(t, s.Acquire(bg, 1))
				time.Sleep(time.Second)
				s.Release(1)
			})
			h := spawned(ex, func(cx *rt.Context) error {
				if err := rt.Await(cx, request(s, 1)); err != nil {
					return err
				}
				defer s.Release(1)
				return rt.Sleep(cx, time.Second)
			})
			wg.Go(func() { <-h.Done(); assert.NoError(t, h.Err()) })
		}
		wg.Wait()
		require.Equal(t, 20*time.Second, time.Since(begin))
		requireIdle(t, s)
	})
}

// The monitor looks each 5 ms, and twice.
func TestTasksOfABlockedWorkerWaitForMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := start(t, rt.WithWorkers(2))
		time.Sleep(time.Minute) // all are asleep, the monitor too
		ran := make(chan struct{}, 1)
		release, releaseOther := blockedWithInbox(t, ex, 1, func() { ran <- struct{}{} })
		releaseOther()
		begin := time.Now()
		locktest.Receive(t, ran)
		require.Equal(t, 10*time.Millisecond, time.Since(begin))
		release()
	})
}

// An inbox that gets a task more between any two looks of the monitor is not overlooked.
func TestTasksOfAnInboxThatKeepsFillingWaitForMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		ex := start(t, rt.WithWorkers(2))
		var woken, waited [n]time.Time
		tasks, release, releaseOther := blockedWith(t, ex, n, 0, func(i int) { waited[i] = time.Now() })
		defer release()
		releaseOther()
		for i, p := range tasks {
			woken[i] = time.Now()
			p.Waker().Wake()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i := range n {
			require.False(t, waited[i].IsZero(), "task %d has not run beside a poll that takes long", i)
			require.LessOrEqual(t, waited[i].Sub(woken[i]), rt.MonitorBound, "task %d", i)
		}
	})
}

// What a blocked worker has is polled by one that never runs out of tasks of its own: what is in
// the inbox, and what is in the queue.
func TestTasksOfABlockedWorkerRunBesideOthersThatYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const inbox, queue, poll = 3, 4, time.Millisecond
		ex := start(t, rt.WithWorkers(2))
		ran := make(chan time.Time, inbox+queue)
		tasks, release, releaseOther := blockedWith(t, ex, inbox, queue, func(int) { ran <- time.Now() })
		defer release()
		var stop atomic.Bool
		defer stop.Store(true)
		for range 2 {
			require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
				time.Sleep(poll) // it computes
				return stop.Load() || cx.Yield()
			})))
		}
		releaseOther()
		for _, p := range tasks {
			p.Waker().Wake()
		}
		begin := time.Now()
		time.Sleep(time.Minute)
		require.Len(t, ran, inbox+queue, "some have not run beside two tasks that yield")
		for i := range inbox + queue {
			turns := time.Duration((i+2)*rt.InjectionEvery) * poll // one is for the second that yields
			require.LessOrEqual(t, (<-ran).Sub(begin), rt.MonitorBound+turns, "task %d", i)
		}
	})
}

func TestTaskThatIgnoresTheCancelIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(2))
		release := occupy(t, ex)
		begin := time.Now()
		err := ex.Shutdown(doneWith())
		require.ErrorIs(t, err, rt.ErrStuck)
		require.ErrorIs(t, err, errHurry)
		require.Equal(t, time.Second, time.Since(begin), "there is a time of grace")
		require.Equal(t, 1, ex.Stats().Tasks)
		got := make(chan error)
		go func() { got <- ex.Shutdown(bg) }()
		synctest.Wait()
		release()
		require.NoError(t, locktest.Receive(t, got))
		require.Zero(t, ex.Stats().Tasks)
	})
}

func TestShutdownWaitsForBlockingFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(1))
		gate := make(chan struct{})
		h := rt.Go(ex, func(cx *rt.Context) (int, error) {
			return rt.Blocking(cx, func() (int, error) { <-gate; return 0, nil })
		})
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		begin := time.Now()
		err := ex.Shutdown(ctx)
		require.ErrorIs(t, err, rt.ErrStuck)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "blocking functions")
		require.Equal(t, time.Minute+time.Second, time.Since(begin))
		require.ErrorIs(t, h.Err(), rt.ErrCancelled)
		got := make(chan error)
		go func() { got <- ex.Shutdown(bg) }()
		synctest.Wait()
		require.Empty(t, got)
		close(gate)
		require.NoError(t, locktest.Receive(t, got))
	})
}

// A report that runs on does not hold up a shutdown for longer than its context and the time of
// grace.
func TestShutdownKeepsToItsContextDuringAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, begun := make(chan struct{}), make(chan struct{})
		ex := rt.New(rt.WithWorkers(1), rt.WithWatchdog(time.Second, func(rt.Report) {
			close(begun)
			<-gate
		}))
		require.NoError(t, ex.Spawn(once(func() { time.Sleep(3 * time.Second) })))
		<-begun
		time.Sleep(time.Minute) // the task has ended
		ctx, cancel := context.WithTimeout(bg, 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		got := make(chan error, 1)
		go func() { got <- ex.Shutdown(ctx) }()
		time.Sleep(time.Hour)
		require.Len(t, got, 1, "Shutdown waits for the report although its context has ended")
		err := <-got
		require.ErrorIs(t, err, rt.ErrStuck)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "report")
		require.Equal(t, time.Hour, time.Since(begin))
		close(gate)
		require.NoError(t, ex.Shutdown(bg), "it may be called again")
	})
}

// A report may call Shutdown, which then waits for that report until its context ends.
func TestShutdownFromAReportEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ex *rt.Executor
		got := make(chan error, 1)
		var took time.Duration
		ex = rt.New(rt.WithWorkers(1), rt.WithWatchdog(time.Second, func(rt.Report) {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(bg, 10*time.Second)
			defer cancel()
			err := ex.Shutdown(ctx)
			took = time.Since(begin)
			got <- err
		}))
		require.NoError(t, ex.Spawn(once(func() { time.Sleep(3 * time.Second) })))
		time.Sleep(time.Hour)
		require.Len(t, got, 1, "Shutdown waits for its caller")
		require.ErrorIs(t, <-got, rt.ErrStuck)
		require.Equal(t, 11*time.Second, took, "the context and the time of grace")
		require.NoError(t, ex.Shutdown(bg))
	})
}

// Tasks and blocking functions together have one time of grace.
func TestShutdownHasOneTimeOfGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(1))
		gate := make(chan struct{})
		spawned(ex, func(cx *rt.Context) error {
			defer time.Sleep(900 * time.Millisecond)
			_, err := rt.Blocking(cx, func() (int, error) { <-gate; return 0, nil })
			return err
		})
		synctest.Wait()
		begin := time.Now()
		require.ErrorIs(t, ex.Shutdown(doneWith()), rt.ErrStuck)
		require.Equal(t, time.Second, time.Since(begin))
		close(gate)
		require.NoError(t, ex.Shutdown(bg))
	})
}

// A task that takes a while to clean up is within the time of grace.
func TestCancelledTasksHaveTimeToCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(1))
		s := held(t, 1)
		cleaned := false
		spawned(ex, func(cx *rt.Context) error {
			defer func() { time.Sleep(900 * time.Millisecond); cleaned = true }()
			return rt.Await(cx, request(s, 1))
		})
		synctest.Wait()
		err := ex.Shutdown(doneWith())
		require.ErrorIs(t, err, errHurry)
		require.NotErrorIs(t, err, rt.ErrStuck)
		require.True(t, cleaned)
	})
}

// One executor after the other, in bubbles and outside: nothing is kept that belongs to a bubble.
func TestExecutorsDoNotCrossBubbles(t *testing.T) {
	use := func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(2))
		for range 20 {
			require.NoError(t, run(t, ex, func(cx *rt.Context) error {
				_, err := rt.Blocking(cx, func() (int, error) { time.Sleep(time.Microsecond); return 0, nil })
				return err
			}))
			require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Microsecond) }))
		}
		shutdown(t, ex)
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
}
