package rt_test

import (
	"runtime"
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

func TestTaskMayBeSpawnedAgainWhenItHasEnded(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex, other := start(t), start(t)
		rounds := locktest.Scaled(2000)
		polls := 0
		p := newPoll(func(*rt.Context) bool {
			polls++
			return true
		})
		var c rt.Completion
		for i := range rounds {
			if i%2 == 0 {
				require.NoError(t, ex.Spawn(p))
			} else {
				require.NoError(t, other.Spawn(p))
			}
			c.Init(&p.Task)
			locktest.Receive(t, c.Done())
			require.NoError(t, c.Err())
			require.Equal(t, i+1, polls)
		}
	})
}

// A new life knows nothing of the cancel or the panic that ended the last one.
func TestSpawnForgetsTheLastLife(t *testing.T) {
	ex := solo(t, quiet)
	var errs []error
	p := newPoll(func(cx *rt.Context) bool {
		errs = append(errs, cx.Err())
		if len(errs) == 1 {
			panic("first")
		}
		return true
	})
	release := occupy(t, ex)
	require.NoError(t, ex.Spawn(p))
	p.Abort()
	release()
	var panicked *rt.PanicError
	require.ErrorAs(t, ended(t, &p.Task), &panicked)
	p.Abort() // an ended task does not mind
	require.NoError(t, ex.Spawn(p))
	require.NoError(t, ended(t, &p.Task))
	require.Len(t, errs, 2)
	require.ErrorIs(t, errs[0], rt.ErrCancelled)
	require.NoError(t, errs[1])
}

// However the wakes fall, each is followed by a poll.
func TestWakeDuringPollIsKept(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		rounds := int64(locktest.Scaled(40_000))
		var asked, answered atomic.Int64
		var polling atomic.Int32
		p := newPoll(func(*rt.Context) bool {
			assert.EqualValues(t, 1, polling.Add(1), "polled by two at once")
			answered.Store(asked.Load())
			if answered.Load()%3 == 0 {
				runtime.Gosched() // so that wakes come between the answer and the end of the poll
			}
			polling.Add(-1)
			return answered.Load() == rounds
		})
		require.NoError(t, ex.Spawn(p))
		for i := range rounds {
			asked.Add(1)
			p.Waker().Wake()
			if i%2 == 0 {
				p.Waker().Wake()
				continue // without waiting
			}
			locktest.Eventually(t, "a poll that has seen the wake", func() bool { return answered.Load() == i+1 })
		}
		require.NoError(t, ended(t, &p.Task))
	})
}

// What woke a task before a poll is answered by that poll.
func TestWakesBeforeAPollLeadToOne(t *testing.T) {
	ex := solo(t)
	var polls atomic.Int64
	p := newPoll(func(cx *rt.Context) bool {
		polls.Add(1)
		return cx.Err() != nil
	})
	for i := range 3 {
		release := occupy(t, ex)
		if i == 0 {
			require.NoError(t, ex.Spawn(p))
		}
		for range 5 {
			p.Waker().Wake()
		}
		release()
		awaitQuiet(t, ex, 1)
		require.EqualValues(t, i+1, polls.Load())
	}
	p.Abort()
	require.NoError(t, ended(t, &p.Task))
}

// Many wakers at once lead to polls one after the other, each of which sees what the last one has
// written.
func TestPollsOfATaskFollowEachOther(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var stop atomic.Bool
		polls := make([]int, 8) // not atomic: the race detector looks on
		tasks := make([]*pollFunc, len(polls))
		for i := range tasks {
			tasks[i] = newPoll(func(*rt.Context) bool {
				polls[i]++
				tasks[(i+1)%len(tasks)].Waker().Wake()
				return stop.Load()
			})
		}
		for _, p := range tasks {
			require.NoError(t, ex.Spawn(p))
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range locktest.Scaled(20_000) {
					tasks[i%len(tasks)].Waker().Wake()
				}
			})
		}
		wg.Wait()
		stop.Store(true)
		for _, p := range tasks {
			p.Waker().Wake()
			require.NoError(t, ended(t, &p.Task))
		}
		for _, n := range polls {
			require.Positive(t, n)
		}
	})
}

func TestWakeOfWhatIsNoTaskDoesNothing(t *testing.T) {
	ex := solo(t)
	polls := 0
	var waker waiter.Waker
	p := newPoll(func(cx *rt.Context) bool {
		polls++
		waker = cx.Waker()
		return true
	})
	p.Waker().Wake()
	p.Abort()
	require.NoError(t, ex.Spawn(p))
	require.NoError(t, ended(t, &p.Task))
	for range 10 {
		p.Waker().Wake()
		p.Abort()
		waker.Wake()
	}
	require.NoError(t, run(t, ex, rt.Yield))
	require.Equal(t, 1, polls)
}

func TestCancelEndsTheWaitOfAPollTask(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := held(t, 1)
		f := again(s, 1)
		var first, second error
		p := newPoll(func(cx *rt.Context) bool {
			if !cx.Poll(f) {
				return false
			}
			first, second = f.Err(), cx.Err()
			return true
		})
		for range locktest.Scaled(200) {
			require.NoError(t, ex.Spawn(p))
			locktest.AwaitWaiting(t, s, 1)
			p.Abort()
			require.NoError(t, ended(t, &p.Task), "how it ends is its own affair")
			require.ErrorIs(t, first, waiter.ErrPending)
			require.ErrorIs(t, second, rt.ErrCancelled)
			require.Zero(t, s.Waiting())
		}
		s.Release(1)
		requireIdle(t, s)
	})
}

// A permit that has been granted to a task which is then cancelled goes back, unless the task has
// taken it.
func TestCancelAfterTheGrantGivesBack(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	f := again(s, 1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	require.NoError(t, ex.Spawn(p))
	locktest.AwaitWaiting(t, s, 1)
	release := occupy(t, ex)
	s.Release(1)
	require.Zero(t, s.Available(), "granted")
	p.Abort()
	release()
	require.NoError(t, ended(t, &p.Task))
	requireIdle(t, s)
}

func TestCancelBeforeTheFirstPollIsSeenByIt(t *testing.T) {
	ex := solo(t)
	release := occupy(t, ex)
	s := semaphore.New(1)
	f := request(s, 1)
	var err error
	p := newPoll(func(cx *rt.Context) bool {
		err = cx.Err()
		return cx.Poll(f)
	})
	require.NoError(t, ex.Spawn(p))
	p.Abort()
	release()
	require.NoError(t, ended(t, &p.Task))
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.ErrorIs(t, f.Err(), waiter.ErrPending, "a free permit is not taken by a cancelled task")
	requireIdle(t, s)
}

func TestCompletionServesManyWaiters(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		for range locktest.Scaled(100) {
			s := held(t, 1)
			f := request(s, 1)
			p := newPoll(func(cx *rt.Context) bool {
				if cx.Poll(f) {
					panic("at the end")
				}
				return false
			})
			require.NoError(t, ex.Spawn(p))
			var cs [5]rt.Completion
			for i := range cs {
				cs[i].Init(&p.Task)
			}
			inTask := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, &cs[0]) })
			var inGoroutine error
			var wg sync.WaitGroup
			wg.Go(func() { inGoroutine = rt.BlockOn(bg, &cs[1]) })
			done := cs[2].Done()
			require.False(t, cs[3].Poll(nil))
			require.ErrorIs(t, cs[3].Err(), waiter.ErrPending)
			cs[3].Release()
			cs[3].Release()
			s.Release(1)
			var panicked *rt.PanicError
			_, err := wait(t, inTask)
			require.ErrorAs(t, err, &panicked)
			wg.Wait()
			require.ErrorAs(t, inGoroutine, &panicked)
			locktest.Receive(t, done)
			for i := range cs { // including the one that gave up, and the one that comes late
				// The value from Done, and the end of a Cancel, come some steps of the worker
				// before a Poll that is true.
				locktest.Eventually(t, "complete", func() bool { return cs[i].Poll(nil) })
				require.ErrorAs(t, cs[i].Err(), &panicked)
				require.Equal(t, "at the end", panicked.Value)
			}
			require.NoError(t, f.Err())
		}
	})
}

// Cancel of a completion races with the end of the task; afterwards it can be used again.
func TestCompletionMayBeCancelledAtAnyTime(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var c rt.Completion
		var w locktest.CountingWaker
		p := newPoll(func(*rt.Context) bool { return true })
		for i := range locktest.Scaled(5000) {
			require.NoError(t, ex.Spawn(p))
			c.Init(&p.Task)
			c.Poll(&w)
			for range i % 7 {
				runtime.Gosched()
			}
			c.Release()
			locktest.Receive(t, c.Done())
			require.NoError(t, c.Err())
		}
	})
}

// The value from Done says that the wait has ended, and with it the round: the next may begin.
func TestCompletionMayBeUsedAgainWhenDoneHasDelivered(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var c rt.Completion
		p := newPoll(func(*rt.Context) bool { return true })
		for i := range locktest.Scaled(20_000) {
			require.NoError(t, ex.Spawn(p))
			c.Init(&p.Task)
			done := c.Done()
			for range i % 5 {
				runtime.Gosched()
			}
			locktest.Receive(t, done)
		}
	})
}

// A waiter that is told of the end may cancel another that is about to be told.
func TestCompletionCancelledWhileOthersAreToldIsNotWoken(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	f := request(s, 1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	require.NoError(t, ex.Spawn(p))
	first, second, last := completionOf(&p.Task), completionOf(&p.Task), completionOf(&p.Task)
	var w locktest.CountingWaker
	require.False(t, first.Poll(waiter.WakerFunc(second.Release)))
	require.False(t, second.Poll(&w))
	done := last.Done()
	s.Release(1)
	locktest.Receive(t, done)
	require.Zero(t, w.Load())
	second.Init(&p.Task)
	require.NoError(t, second.Err())
	require.NoError(t, f.Err())
}

func TestCompletionOfATaskThatWasNeverSpawnedIsPending(t *testing.T) {
	require.ErrorIs(t, new(rt.Completion).Err(), waiter.ErrPending)
	require.ErrorIs(t, completionOf(new(rt.Task)).Err(), waiter.ErrPending)
}

func TestMisuseOfCompletionPanics(t *testing.T) {
	ex := solo(t)
	var never pollFunc
	var c rt.Completion
	require.PanicsWithValue(t, "rt: completion without Init", func() { c.Poll(nil) })
	require.PanicsWithValue(t, "rt: completion without Init", func() { c.Done() })
	require.Panics(t, func() { c.Init(nil) })
	c.Init(&never.Task)
	require.PanicsWithValue(t, "rt: wait for a task that was never spawned", func() { c.Poll(nil) })
	require.Panics(t, func() { c.Done() })

	s := held(t, 1)
	f := request(s, 1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	require.NoError(t, ex.Spawn(p))
	var d rt.Completion
	d.Init(&p.Task)
	require.False(t, d.Poll(nil))
	require.Panics(t, func() { d.Init(&p.Task) }, "while it waits")
	s.Release(1)
	locktest.Receive(t, d.Done())
	require.NoError(t, f.Err())
}

func TestContextIsForItsTaskOnly(t *testing.T) {
	const message = "rt: use of a task's Context outside the task"
	ex := solo(t, quiet)
	outside := func(cx *rt.Context) {
		t.Helper()
		for _, use := range []func(){
			func() { _ = cx.Err() },
			func() { cx.Yield() },
			func() { cx.Waker() },
			func() { cx.Executor() },
			func() { _ = cx.Spawn(once(func() {})) },
			func() { cx.Poll(request(semaphore.New(1), 1)) },
			func() { _ = rt.Await(cx, request(semaphore.New(1), 1)) },
			func() { _ = rt.Yield(cx) },
			func() { _ = rt.Sleep(cx, time.Hour) },
			func() { _ = rt.Join(cx, request(semaphore.New(1), 1)) },
			func() { _, _ = rt.Select(cx, request(semaphore.New(1), 1)) },
			func() { cx.Context() },
			func() { _, _ = rt.Blocking(cx, func() (int, error) { return 0, nil }) },
		} {
			assert.PanicsWithValue(t, message, use)
		}
	}
	var kept *rt.Context
	p := newPoll(func(cx *rt.Context) bool { kept = cx; return true })
	require.NoError(t, ex.Spawn(p))
	require.NoError(t, ended(t, &p.Task))
	awaitQuiet(t, ex, 0)
	locktest.Eventually(t, "the worker is asleep", func() bool { return ex.Stats().Sleeping == 1 })
	outside(kept)

	require.NoError(t, run(t, ex, func(cx *rt.Context) error { kept = cx; return nil }))
	outside(kept)

	for name, end := range map[string]func(){"panic": func() { panic("boo") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(*testing.T) {
			_ = run(t, ex, func(cx *rt.Context) error { kept = cx; end(); return nil })
			outside(kept)
		})
	}

	// While the task waits, or sleeps.
	sleeps := spawned(ex, func(cx *rt.Context) error { kept = cx; return rt.Sleep(cx, time.Hour) })
	locktest.Eventually(t, "it sleeps", func() bool { return ex.Stats().Sleepers == 1 && ex.Stats().Sleeping == 1 })
	outside(kept)
	sleeps.Abort()
	_, err := wait(t, sleeps)
	require.ErrorIs(t, err, rt.ErrCancelled)
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error { kept = cx; return rt.Await(cx, request(s, 1)) })
	locktest.AwaitWaiting(t, s, 1)
	locktest.Eventually(t, "the worker is asleep", func() bool { return ex.Stats().Sleeping == 1 })
	outside(kept)
	s.Release(1)
	_, err = wait(t, h)
	require.NoError(t, err)
}

// A poll task has no stack to keep: what waits in the middle of a function panics, and that ends
// the task.
func TestWaitingInAPollTaskPanics(t *testing.T) {
	ex := solo(t, quiet)
	s := semaphore.New(1)
	for name, f := range map[string]func(cx *rt.Context){
		"Await":    func(cx *rt.Context) { _ = rt.Await(cx, request(s, 1)) },
		"Select":   func(cx *rt.Context) { _, _ = rt.Select(cx, request(s, 1)) },
		"Join":     func(cx *rt.Context) { _ = rt.Join(cx, request(s, 1)) },
		"Sleep":    func(cx *rt.Context) { _ = rt.Sleep(cx, 1) },
		"Yield":    func(cx *rt.Context) { _ = rt.Yield(cx) },
		"Blocking": func(cx *rt.Context) { _, _ = rt.Blocking(cx, func() (int, error) { return 0, nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPoll(func(cx *rt.Context) bool { f(cx); return true })
			require.NoError(t, ex.Spawn(p))
			require.ErrorContains(t, ended(t, &p.Task), "only straight-line tasks can wait")
			requireIdle(t, s)
		})
	}
}
