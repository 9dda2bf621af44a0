package rt_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

func TestEverySpawnedTaskIsPolledAndEnds(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New()
		spawners, each := 4, locktest.Scaled(2000)
		var polls, ends atomic.Int64
		var expected int64
		var wg sync.WaitGroup
		for range spawners {
			tasks := make([]*pollFunc, each)
			for i := range tasks {
				left := rand.IntN(4)
				expected += int64(left) + 1
				tasks[i] = newPoll(func(cx *rt.Context) bool {
					polls.Add(1)
					if left--; left >= 0 {
						return cx.Yield()
					}
					ends.Add(1)
					return true
				})
			}
			wg.Go(func() {
				for _, p := range tasks {
					assert.NoError(t, ex.Spawn(p))
				}
			})
		}
		wg.Wait()
		shutdown(t, ex)
		require.EqualValues(t, spawners*each, ends.Load())
		require.Equal(t, expected, polls.Load())
	})
}

func TestSpawnAfterShutdownNeverPolls(t *testing.T) {
	ex, other := rt.New(), start(t)
	shutdown(t, ex)
	polled := make(chan struct{}, 1)
	p := once(func() { polled <- struct{}{} })
	require.ErrorIs(t, ex.Spawn(p), rt.ErrShutdown)
	require.ErrorIs(t, ex.Spawn(p), rt.ErrShutdown, "it has not become a task")
	require.Empty(t, polled)
	require.NoError(t, other.Spawn(p), "another executor may have it")
	locktest.Receive(t, polled)

	_, err := wait(t, rt.Go(ex, func(*rt.Context) (int, error) { panic("called") }))
	require.ErrorIs(t, err, rt.ErrShutdown)
}

func TestSpawnDuringShutdownIsRefusedToTasksToo(t *testing.T) {
	ex := rt.New(rt.WithWorkers(2))
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error {
		if err := rt.Await(cx, request(s, 1)); err != nil {
			return err
		}
		s.Release(1)
		return cx.Spawn(once(func() { panic("polled") }))
	})
	locktest.AwaitWaiting(t, s, 1)
	var wg sync.WaitGroup
	wg.Go(func() { shutdown(t, ex) })
	locktest.Eventually(t, "shutdown", func() bool { return ex.Spawn(once(func() {})) != nil })
	s.Release(1)
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrShutdown)
	wg.Wait()
}

func TestSpawnOfALiveTaskPanics(t *testing.T) {
	const message = "rt: spawn of a task that has not ended"
	ex := solo(t)
	s := held(t, 1)
	release := occupy(t, ex)
	f := request(s, 1)
	p := newPoll(nil)
	p.f = func(cx *rt.Context) bool {
		assert.PanicsWithValue(t, message, func() { _ = cx.Spawn(p) }, "while it is polled")
		return cx.Poll(f)
	}
	require.NoError(t, ex.Spawn(p))
	require.PanicsWithValue(t, message, func() { _ = ex.Spawn(p) }, "while it is queued")
	release()
	locktest.AwaitWaiting(t, s, 1)
	require.PanicsWithValue(t, message, func() { _ = ex.Spawn(p) }, "while it waits")
	s.Release(1)
	require.NoError(t, ended(t, &p.Task))
}

func TestNilArgumentsPanic(t *testing.T) {
	ex := solo(t)
	require.Panics(t, func() { _ = ex.Spawn(nil) })
	require.Panics(t, func() { rt.Go[int](ex, nil) })
	require.Panics(t, func() { rt.Go(nil, func(*rt.Context) (int, error) { return 0, nil }) })
	require.Panics(t, func() { _, _ = rt.NewOn(nil) })
	require.Panics(t, func() { rt.WithWorkers(0) })
	require.Panics(t, func() { rt.WithWorkers(1025) })
}

// A mistake is told by its name, and by its numbers.
func TestMisuseOfAnExecutorPanics(t *testing.T) {
	var none *rt.Executor
	for _, ex := range []*rt.Executor{new(rt.Executor), none} {
		message := "rt: use of an Executor that New has not made"
		if ex == nil {
			message = "rt: nil Executor"
		}
		for name, use := range map[string]func(){
			"Spawn":    func() { _ = ex.Spawn(once(func() {})) },
			"Go":       func() { rt.Go(ex, func(*rt.Context) (int, error) { return 0, nil }) },
			"Shutdown": func() { _ = ex.Shutdown(bg) },
			"Stats":    func() { ex.Stats() },
			"Dump":     func() { ex.Dump() },
		} {
			if name == "Go" && ex == nil {
				message = "rt: Go on a nil executor"
			}
			require.PanicsWithValue(t, message, use, name)
			if name == "Go" && ex == nil {
				message = "rt: nil Executor"
			}
		}
	}
	require.PanicsWithValue(t, "rt: option 2 of 2 is nil", func() { rt.New(rt.WithWorkers(1), nil) })
	require.PanicsWithValue(t, "rt: 0 workers, not 1 to 1024", func() { rt.WithWorkers(0) })
	require.PanicsWithValue(t, "rt: 1025 workers, not 1 to 1024", func() { rt.WithWorkers(1025) })
	require.PanicsWithValue(t, "rt: watchdog after -1s, which is not positive", func() {
		rt.WithWatchdog(-time.Second, func(rt.Report) {})
	})
	require.PanicsWithValue(t, "rt: watchdog with a nil report", func() { rt.WithWatchdog(time.Second, nil) })
	ex := solo(t)
	require.PanicsWithValue(t, "rt: spawn of a task without a Task", func() { _ = ex.Spawn(taskless{}) })
	require.PanicsWithValue(t, "rt: Timeout of a nil future", func() { rt.Timeout(nil, time.Second) })
}

// taskless embeds no Task, but a pointer to none.
type taskless struct{ *rt.Task }

func (taskless) Poll(*rt.Context) bool { return true }

// Sleep belongs to the task, like every wait.
func TestSleepWithTheContextOfAnotherTaskPanics(t *testing.T) {
	ex := solo(t)
	var theirs *rt.Context
	h := spawned(ex, func(cx *rt.Context) error {
		theirs = cx
		return rt.Sleep(cx, time.Hour)
	})
	awaitQuiet(t, ex, 1)
	require.PanicsWithValue(
		t,
		"rt: use of a task's Context outside the task",
		func() { _ = rt.Sleep(theirs, time.Second) },
	)
	h.Abort()
	_, err := wait(t, h)
	require.ErrorIs(t, err, rt.ErrCancelled)
}

// The order of tasks from outside is not promised, but no goroutine is overtaken by many.
func TestOneWorkerBeginsTasksAboutInTheOrderOfTheirSpawns(t *testing.T) {
	const n = 5000
	ex := rt.New(rt.WithWorkers(1))
	release := occupy(t, ex)
	begun := 0
	for i := range n {
		require.NoError(t, ex.Spawn(once(func() {
			assert.InDelta(t, begun, i, 256)
			begun++
		})))
	}
	release()
	shutdown(t, ex)
	require.Equal(t, n, begun)
}

func TestOneWorkerBeginsTasksOfATaskInTheOrderOfTheirSpawns(t *testing.T) {
	const n = 5000
	ex := rt.New(rt.WithWorkers(1))
	got := make([]int, 0, n)
	parent := newPoll(func(cx *rt.Context) bool {
		for i := range n {
			assert.NoError(t, cx.Spawn(once(func() { got = append(got, i) })))
		}
		return true
	})
	require.NoError(t, ex.Spawn(parent))
	require.NoError(t, ended(t, &parent.Task))
	shutdown(t, ex)
	requireAscending(t, got, n)
}

// requireAscending checks that got counts up from 0 to n.
func requireAscending(t *testing.T, got []int, n int) {
	t.Helper()
	require.Len(t, got, n)
	for i := range got {
		require.Equal(t, i, got[i], "of %d", n)
	}
}

// What is woken comes soon, however long the queue.
func TestWokenTaskRunsAheadOfTheQueue(t *testing.T) {
	ex := solo(t)
	stopped, waits := false, false // whether target waits
	polls, woken, rounds := 0, 0, 0
	for range 100 {
		require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
			polls++
			return stopped || cx.Err() != nil || cx.Yield()
		})))
	}
	target := newPoll(func(*rt.Context) bool {
		if rounds++; rounds > 1 {
			assert.LessOrEqual(t, polls-woken, 3)
		}
		waits, stopped = true, rounds > 20
		return stopped
	})
	require.NoError(t, ex.Spawn(target))
	require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
		if waits {
			waits, woken = false, polls
			target.Waker().Wake()
		}
		return stopped || cx.Err() != nil || cx.Yield()
	})))
	require.NoError(t, ended(t, &target.Task))
}

// Two tasks that wake each other without end are always ahead of the queue; the queue must still
// have its turns.
func TestRunNextCannotStarveTheQueue(t *testing.T) {
	ex := solo(t)
	stop := pingPong(t, ex)
	turns := 100
	queued := newPoll(func(cx *rt.Context) bool {
		if turns--; turns == 0 {
			return true
		}
		return cx.Yield()
	})
	require.NoError(t, ex.Spawn(queued))
	require.NoError(t, ended(t, &queued.Task))
	stop()
}

// pingPong spawns two tasks that wake each other until the function that it returns is called.
func pingPong(t *testing.T, ex *rt.Executor) (stop func()) {
	t.Helper()
	var stopped atomic.Bool
	var pair [2]*pollFunc
	for i := range pair {
		pair[i] = newPoll(func(cx *rt.Context) bool {
			pair[1-i].Waker().Wake()
			return stopped.Load() || cx.Err() != nil
		})
	}
	for _, p := range pair {
		require.NoError(t, ex.Spawn(p))
	}
	return func() { stopped.Store(true) }
}

// A worker that never runs out of tasks of its own looks at the shared queue now and then.
func TestInjectionQueueIsServedWhileTasksYield(t *testing.T) {
	const often = 64 // polls, at most, from one look to the next
	for _, name := range []string{"yielding", "waking each other"} {
		t.Run(name, func(t *testing.T) {
			ex := solo(t)
			stop := func() {}
			var polls int // of one worker's tasks, so that it needs no lock
			var stopped bool
			if name == "yielding" {
				for range 10 {
					require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
						polls++
						return stopped || cx.Err() != nil || cx.Yield()
					})))
				}
			} else {
				stop = pingPong(t, ex)
			}
			const rounds = 20
			var waits []int
			round, began := 0, 0
			var next *pollFunc
			begin := func(cx *rt.Context) {
				began = polls
				// From outside, as far as the queue is concerned.
				assert.NoError(t, cx.Executor().Spawn(next))
			}
			done := make(chan struct{})
			next = newPoll(nil)
			injected := func(cx *rt.Context) bool {
				waits = append(waits, polls-began)
				if round++; round == rounds {
					stopped = true
					close(done)
					return true
				}
				next = newPoll(next.f)
				begin(cx)
				return true
			}
			next.f = injected
			require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool { begin(cx); return true })))
			locktest.Receive(t, done)
			stop()
			for _, w := range waits {
				require.LessOrEqual(t, w, often)
			}
		})
	}
}

// One task spawns others and then blocks until they run, all at the same time: each must be on a
// worker of its own.
func TestTasksOfOneTaskAreStolenByAllWorkers(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for _, workers := range []int{2, 4, 16} {
			for range locktest.Scaled(50) {
				ex := rt.New(rt.WithWorkers(workers))
				meet := meeting(t, workers)
				parent := newPoll(func(cx *rt.Context) bool {
					for range workers - 1 {
						assert.NoError(t, cx.Spawn(once(meet)))
					}
					meet()
					return true
				})
				require.NoError(t, ex.Spawn(parent))
				require.NoError(t, ended(t, &parent.Task))
				shutdown(t, ex)
				require.NotZero(t, ex.Stats().Steals)
			}
		}
	})
}

// The same with tasks from outside: each wakes a worker if need be.
func TestTasksFromOutsideRunOnAllWorkers(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for _, workers := range []int{2, 4, 16} {
			ex := start(t, rt.WithWorkers(workers))
			for range locktest.Scaled(100) {
				meet := meeting(t, workers)
				tasks := make([]*pollFunc, workers)
				for i := range tasks {
					tasks[i] = once(meet)
					require.NoError(t, ex.Spawn(tasks[i]))
				}
				for _, p := range tasks {
					require.NoError(t, ended(t, &p.Task))
				}
			}
		}
	})
}

// meeting returns a function that returns when it has been called n times.
func meeting(t testing.TB, n int) func() {
	var here atomic.Int64
	all := make(chan struct{})
	return func() {
		if here.Add(1) == int64(n) {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(locktest.Patience):
			t.Error("tasks do not run at the same time")
		}
	}
}

// blockedWith has both of two workers in a poll. One of them has polled n tasks last, which wait,
// and has spawned as many others in the poll that it is in. Whatever runs of these calls ran with
// its number, those that wait when they have been woken. It returns the tasks that wait, what ends
// that worker's poll, and the other's.
func blockedWith(t *testing.T, ex *rt.Executor, n, spawned int, ran func(i int)) (
	tasks []*pollFunc, release, releaseOther func(),
) {
	t.Helper()
	releaseOther = occupy(t, ex) // so that the other worker polls everything
	in, gate := make(chan struct{}), make(chan struct{})
	tasks = make([]*pollFunc, n)
	first := true
	var unpolled atomic.Int64 // the monitor may take tasks away before their first poll
	unpolled.Store(int64(n))
	require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
		if !first {
			if unpolled.Load() > 0 {
				return cx.Yield()
			}
			for i := range spawned {
				assert.NoError(t, cx.Spawn(once(func() { ran(n + i) })))
			}
			close(in)
			<-gate
			return true
		}
		first = false
		for i := range tasks {
			polled := false
			tasks[i] = newPoll(func(*rt.Context) bool {
				if !polled {
					polled = true
					unpolled.Add(-1)
					return false
				}
				ran(i)
				return true
			})
			assert.NoError(t, cx.Spawn(tasks[i]))
		}
		return cx.Yield() // behind them
	})))
	locktest.Receive(t, in)
	return tasks, func() { close(gate) }, releaseOther
}

// blockedWithInbox is blockedWith with all tasks woken and none spawned.
func blockedWithInbox(t *testing.T, ex *rt.Executor, n int, ran func()) (release, releaseOther func()) {
	t.Helper()
	tasks, release, releaseOther := blockedWith(t, ex, n, 0, func(int) { ran() })
	for _, p := range tasks {
		p.Waker().Wake()
	}
	return release, releaseOther
}

// A poll that takes long keeps its worker, but not the tasks that were woken for that worker.
func TestTasksOfABlockedWorkerRunElsewhere(t *testing.T) {
	const n = 10
	ex := start(t, rt.WithWorkers(2))
	ran := make(chan struct{}, n)
	release, releaseOther := blockedWithInbox(t, ex, n, func() { ran <- struct{}{} })
	require.Empty(t, ran)
	releaseOther()
	for range n {
		locktest.Receive(t, ran)
	}
	release()
}

// The workers sleep when they have nothing to do, even after one of them was busy for so long that
// the other was to help, and could not.
func TestIdleWorkerSleepsWhileTheOtherIsBusy(t *testing.T) {
	const n = 10
	ex := start(t, rt.WithWorkers(2))
	ran := make(chan struct{}, n)
	release, releaseOther := blockedWithInbox(t, ex, n, func() { ran <- struct{}{} })
	time.Sleep(30 * time.Millisecond) // the monitor looks
	release()
	for range n {
		locktest.Receive(t, ran)
	}
	inARow := 0
	locktest.Eventually(t, "one worker sleeps", func() bool {
		inARow++
		if ex.Stats().Sleeping == 0 {
			inARow = 0
		}
		return inARow > 200
	})
	releaseOther()
}

// A worker's own queue holds 256.
func TestATaskMaySpawnMoreThanAQueueHolds(t *testing.T) {
	const n = 10_000
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New()
		var runs [n]atomic.Int32
		parent := newPoll(func(cx *rt.Context) bool {
			for i := range n {
				assert.NoError(t, cx.Spawn(once(func() { runs[i].Add(1) })))
			}
			return true
		})
		require.NoError(t, ex.Spawn(parent))
		require.NoError(t, ended(t, &parent.Task))
		shutdown(t, ex)
		for i := range runs {
			require.EqualValues(t, 1, runs[i].Load())
		}
	})
}

// 10,000 tasks are woken at once, onto few workers.
func TestManyWakesAtOnceOverflowNothing(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := held(t, 10_000)
		var wg sync.WaitGroup
		wg.Add(10_000)
		for range 10_000 {
			f := request(s, 1)
			require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
				if !cx.Poll(f) {
					return false
				}
				assert.NoError(t, f.Err())
				s.Release(1)
				wg.Done()
				return true
			})))
		}
		locktest.AwaitWaiting(t, s, 10_000)
		s.Release(10_000)
		wg.Wait()
		requireIdle(t, s)
	})
}
