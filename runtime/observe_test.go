//go:build !interleave

package rt_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/observe"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// watch observes ex, under a name.
func watch(t testing.TB, ex *rt.Executor) {
	t.Helper()
	observe.Watch(ex, t.Name(), observe.LevelHolders)
	t.Cleanup(func() { observe.Watch(ex, "", observe.LevelOff) })
}

// rows returns the tasks of the executor that watch has been called for, by name.
func rows(t testing.TB) map[string]observe.Task {
	t.Helper()
	all := map[string]observe.Task{}
	for _, task := range observe.Read().Tasks {
		if task.Executor == t.Name() {
			all[task.Name] = task
		}
	}
	return all
}

// rowOf returns the task of a name that waits for a future. The monitor looks now and then, and for
// that moment other looks do not know what the task waits for.
func rowOf(t testing.TB, name string) (row observe.Task) {
	t.Helper()
	locktest.Eventually(t, "no other look has it", func() bool {
		row = rows(t)[name]
		return row.WaitsFor != ""
	})
	return row
}

func TestObservedTasksTellWhatTheyDo(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		watch(t, ex)
		s := held(t, 2)
		h := rt.GoNamed(ex, "acquires", func(cx *rt.Context) (int, error) {
			_ = rt.Yield(cx)
			return 0, rt.Await(cx, request(s, 1))
		})
		f := request(s, 1)
		p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
		p.SetName("polls")
		require.NoError(t, ex.Spawn(p))
		awaitQuiet(t, ex, 2)
		a, b := rowOf(t, "acquires"), rows(t)["polls"]
		require.Equal(t, "waiting", a.State)
		require.Equal(t, "future of package semaphore", a.WaitsFor)
		require.Regexp(t, `^runtime_test\.TestObservedTasksTellWhatTheyDo.* \(observe_test\.go:\d+\)$`, a.Spawned)
		require.Equal(t, uint64(2), a.Polls, "a yield is followed by another poll")
		require.Zero(t, a.SelfWakes, "a yield is no wake")
		require.Equal(t, uint64(1), b.Polls)
		require.Positive(t, a.Busy)
		require.Equal(t, 1, a.Locks)
		require.Zero(t, b.Locks, "nobody knows what else wakes a poll task")
		require.NotEqual(t, a.ID, b.ID)
		s.Release(2)
		_, err := wait(t, h)
		require.NoError(t, err)
		require.NoError(t, ended(t, &p.Task))
		require.Empty(t, rows(t), "a task that has ended is gone")
	})
}

// A lookedAt is a future whose String method looks at all tasks.
type lookedAt struct {
	*waiter.Future
	look func()
}

func (l *lookedAt) String() string {
	l.look()
	return "looked at"
}

// A look takes a waiting task for a moment. Another look sees that the task waits all the same.
func TestTwoLooksAtATaskAgree(t *testing.T) {
	ex := solo(t)
	watch(t, ex)
	s := held(t, 1)
	var inner atomic.Value // the monitor looks, too
	f := &lookedAt{request(s, 1), func() { inner.Store(rows(t)["waits"]) }}
	h := rt.GoNamed(ex, "waits", func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, f) })
	awaitQuiet(t, ex, 1)
	require.Equal(t, "looked at", rowOf(t, "waits").WaitsFor)
	row := inner.Load().(observe.Task)
	require.Equal(t, "waiting", row.State)
	require.Empty(t, row.WaitsFor, "only the look that has taken the task knows")
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
}

// Tasks that hang are seen even if nobody looked when they began to.
func TestTasksAreSeenThatWaitSinceBefore(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
	awaitQuiet(t, ex, 1)
	watch(t, ex)
	for range 2 {
		require.Len(t, rows(t), 1)
		for name := range rows(t) {
			task := rowOf(t, name)
			require.Equal(t, "waiting", task.State)
			require.Equal(t, "future of package semaphore", task.WaitsFor)
			require.Empty(t, task.Spawned)
			require.Zero(t, task.Idle)
		}
	}
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
}

// One that is polled since before it was observed is not said to wait for its turn.
func TestTasksAreActiveThatRunSinceBefore(t *testing.T) {
	ex := solo(t)
	begun, end := make(chan struct{}), make(chan struct{})
	h := rt.GoNamed(ex, "long", func(*rt.Context) (int, error) {
		close(begun)
		<-end
		return 0, nil
	})
	locktest.Receive(t, begun)
	watch(t, ex)
	require.Equal(t, "active", rows(t)["long"].State)
	close(end)
	_, err := wait(t, h)
	require.NoError(t, err)
}

func TestAllObservesTheExecutorsThatExist(t *testing.T) {
	blocked := func(ex *rt.Executor) func() {
		s := held(t, 1)
		h := rt.GoNamed(ex, t.Name(), func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, request(s, 1)) })
		awaitQuiet(t, ex, 1)
		return func() { observe.Watch(ex, "", observe.LevelOff); s.Release(1); _, _ = wait(t, h) }
	}
	seen := func() (n int) {
		for _, task := range observe.Read().Tasks {
			if task.Name == t.Name() {
				require.Regexp(t, `^(runtime_test|rt_test)\.(start|solo) \(main_test\.go:\d+\)$`, task.Executor)
				n++
			}
		}
		return n
	}
	defer blocked(solo(t))()
	require.Zero(t, seen())
	defer observe.All(observe.All(observe.LevelCounts))
	require.Equal(t, 1, seen())
	defer blocked(solo(t))()
	require.Equal(t, 2, seen())
	observe.All(observe.LevelOff)
	require.Equal(t, 2, seen(), "those stay")
	defer blocked(solo(t))()
	require.Equal(t, 2, seen())
}

func TestTimesOfTasksAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := solo(t)
		watch(t, ex)
		slow := func() *pollFunc {
			first := true
			return newPoll(func(cx *rt.Context) bool {
				time.Sleep(time.Second) // which occupies the worker
				last := !first
				first = false
				return last || cx.Yield()
			})
		}
		a, b := slow(), slow()
		a.SetName("a")
		b.SetName("b")
		require.NoError(t, ex.Spawn(a))
		synctest.Wait() // a is the first
		require.NoError(t, ex.Spawn(b))
		look := func(after time.Duration, name string) observe.Task {
			time.Sleep(after)
			synctest.Wait()
			return rows(t)[name]
		}
		x := look(500*time.Millisecond, "a") // a polls, b is queued
		require.Equal(t, "running", x.State)
		require.Equal(t, 500*time.Millisecond, time.Since(x.Since))
		x = look(0, "b")
		require.Equal(t, "queued", x.State)
		require.Equal(t, 500*time.Millisecond, x.Age)
		x = look(time.Second, "b") // as a rule b polls, and a is queued again
		if x.State == "queued" {   // but the worker may have found a in its own queue first
			x = rows(t)["a"]
			require.Equal(t, "running", x.State)
			require.Zero(t, x.Idle)
			require.Equal(t, uint64(2), x.Polls)
			time.Sleep(3 * time.Second)
			return
		}
		require.Equal(t, "running", x.State)
		require.Equal(t, time.Second, x.Idle)
		require.Equal(t, time.Second, rows(t)["a"].Busy)
		x = look(time.Second, "a") // a's second poll
		require.Equal(t, "running", x.State)
		require.Equal(t, time.Second, x.Idle, "in line behind b")
		require.Equal(t, 2500*time.Millisecond, x.Age)
		require.Equal(t, uint64(2), x.Polls)
		time.Sleep(2 * time.Second)
	})
}

// A wake begins the time that a task is queued, not the wait before it.
func TestAWaitIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := solo(t)
		watch(t, ex)
		h := rt.GoNamed(ex, "sleeps", func(cx *rt.Context) (int, error) {
			_ = rt.Sleep(cx, time.Hour)
			return 0, rt.Sleep(cx, time.Hour)
		})
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		x := rows(t)["sleeps"]
		require.Equal(t, "waiting", x.State)
		require.Equal(t, "*rt.Timer", x.WaitsFor)
		require.Equal(t, 30*time.Minute, time.Since(x.Since))
		require.Zero(t, x.Idle)
		require.Zero(t, x.Locks)
		_, err := h.Wait(bg)
		require.NoError(t, err)
	})
}

func TestWakesFromOnesOwnPollAreCounted(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		watch(t, ex)
		var stop atomic.Bool
		defer stop.Store(true) // if a check fails, too: a task that wakes itself takes a processor
		itself := newPoll(func(cx *rt.Context) bool {
			cx.Waker().Wake()
			return stop.Load()
		})
		itself.SetName("itself")
		var n atomic.Int64
		woken := newPoll(func(*rt.Context) bool {
			n.Add(1)
			return stop.Load()
		})
		woken.SetName("woken")
		straight := rt.GoNamed(ex, "straight", func(cx *rt.Context) (int, error) {
			cx.Waker().Wake()
			return 0, rt.Await(cx, newStopped(&stop))
		})
		require.NoError(t, ex.Spawn(itself))
		require.NoError(t, ex.Spawn(woken))
		for n.Load() < 100 {
			woken.Waker().Wake()
			runtime.Gosched()
		}
		var all map[string]observe.Task
		locktest.Eventually(t, "two tasks have woken themselves", func() bool {
			all = rows(t)
			return all["itself"].SelfWakes > 0 && all["straight"].SelfWakes > 0
		})
		require.LessOrEqual(t, all["itself"].SelfWakes, all["itself"].Polls)
		require.Zero(t, all["woken"].SelfWakes)
		require.Equal(t, uint64(1), all["straight"].SelfWakes)
		stop.Store(true)
		woken.Waker().Wake()
		straight.Abort()
		_, _ = wait(t, straight)
		require.NoError(t, ended(t, &itself.Task))
		require.NoError(t, ended(t, &woken.Task))
	})
}

// A lock that a task holds or waits for is the task's, whichever goroutine runs it.
func TestLocksAreAttributedToTasks(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		watch(t, ex)
		s := semaphore.New(3)
		observe.Watch(s, t.Name()+" lock", observe.LevelHolders)
		defer observe.Watch(s, "", observe.LevelOff)
		gate := held(t, 2)
		holds := rt.GoNamed(ex, "holds", func(cx *rt.Context) (int, error) {
			require.True(t, s.TryAcquire(1))
			defer s.Release(1)
			return 0, rt.Await(cx, request(gate, 1))
		})
		f := request(gate, 1)
		polls := newPoll(func(cx *rt.Context) bool {
			if f.Err() == waiter.ErrPending && !cx.Poll(f) { //nolint:errorlint // that one
				require.True(t, s.TryAcquire(1))
				return false
			}
			s.Release(1)
			return true
		})
		polls.SetName("polls")
		require.NoError(t, ex.Spawn(polls))
		require.True(t, s.TryAcquire(1))
		awaitQuiet(t, ex, 2)
		by := map[string]uint64{}
		for _, l := range observe.Read().Locks {
			if l.Name == t.Name()+" lock" {
				for _, h := range l.Holders {
					by[h.Agent.Name] = h.Agent.Task
				}
			}
		}
		require.Equal(t, map[string]uint64{"holds": rows(t)["holds"].ID, "polls": rows(t)["polls"].ID, "": 0}, by)
		gate.Release(2)
		_, err := wait(t, holds)
		require.NoError(t, err)
		require.NoError(t, ended(t, &polls.Task))
		for _, l := range observe.Read().Locks {
			if l.Name == t.Name()+" lock" {
				require.Len(t, l.Holders, 1)
				require.Zero(t, l.Counts.Handed, "each task has released its own")
			}
		}
		s.Release(1)
	})
}

// Otherwise a worker would seem to hold what its tasks hold, and to wait for itself.
func TestTasksAreKnownWhileLocksHaveHolders(t *testing.T) {
	ex := solo(t)
	s := semaphore.New(1)
	gate := held(t, 1)
	holder := func() observe.Agent {
		h := rt.GoNamed(ex, "holds", func(cx *rt.Context) (int, error) {
			require.True(t, s.TryAcquire(1))
			defer s.Release(1)
			return 0, rt.Await(cx, request(gate, 1))
		})
		awaitQuiet(t, ex, 1)
		defer func() {
			gate.Release(1)
			_, err := wait(t, h)
			require.NoError(t, err)
		}()
		for _, l := range observe.Read().Locks {
			if l.Name == t.Name() && len(l.Holders) == 1 {
				return l.Holders[0].Agent
			}
		}
		return observe.Agent{}
	}
	observe.Watch(s, t.Name(), observe.LevelHolders)
	require.Equal(t, "holds", holder().Name)
	observe.Watch(s, t.Name(), observe.LevelCounts)
	require.False(t, rt.Observing(ex), "no lock needs it any more")
	observe.Watch(s, t.Name(), observe.LevelHolders)
	require.True(t, rt.Observing(ex))
	observe.Watch(s, "", observe.LevelOff)
	require.False(t, rt.Observing(ex))
	early := solo(t)
	observe.Watch(s, t.Name(), observe.LevelHolders)
	require.True(t, rt.Observing(early))
	late := solo(t)
	require.True(t, rt.Observing(late))
	observe.Watch(s, "", observe.LevelOff)
	require.False(t, rt.Observing(late))
}

// newStopped returns a future that is complete when stop is.
func newStopped(stop *atomic.Bool) rt.Future { return &stopped{stop: stop} }

type stopped struct {
	never
	stop *atomic.Bool
}

func (s *stopped) String() string { return "stopped" }

func TestAnObserverKnowsWhichTaskAGoroutineRuns(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		s := held(t, 6)
		ask := make(chan uint64, 1)
		self := func() uint64 { return rt.TaskOn(agents.Goroutine()) }
		early := rt.GoNamed(ex, "early", func(cx *rt.Context) (uint64, error) {
			_ = rt.Await(cx, request(s, 1))
			ask <- self()
			return 0, rt.Await(cx, request(s, 2))
		})
		awaitQuiet(t, ex, 1)
		watch(t, ex)
		s.Release(1)
		woken := locktest.Receive(t, ask)
		awaitQuiet(t, ex, 1)
		require.Equal(t, rows(t)["early"].ID, woken, "a task that has waited since before")
		straight := rt.GoNamed(ex, "straight", func(cx *rt.Context) (uint64, error) {
			ask <- self()
			err := rt.Await(cx, request(s, 1))
			ask <- self()
			_ = rt.Await(cx, request(s, 1))
			return 0, err
		})
		first := locktest.Receive(t, ask)
		awaitQuiet(t, ex, 2)
		require.Equal(t, rows(t)["straight"].ID, first)
		f := request(s, 1)
		poll := newPoll(func(cx *rt.Context) bool {
			ask <- self()
			return cx.Poll(f)
		})
		poll.SetName("poll")
		require.NoError(t, ex.Spawn(poll))
		id := locktest.Receive(t, ask)
		awaitQuiet(t, ex, 3)
		require.Equal(t, rows(t)["poll"].ID, id)
		require.Zero(t, self(), "a goroutine is no task")
		s.Release(3) // early has the first two, straight has one
		require.Equal(t, first, locktest.Receive(t, ask))
		s.Release(2)
		require.Equal(t, id, locktest.Receive(t, ask))
		for _, h := range []*rt.JoinHandle[uint64]{early, straight} {
			_, err := wait(t, h)
			require.NoError(t, err)
		}
		require.NoError(t, ended(t, &poll.Task))
	})
	locktest.Eventually(t, "goroutines that have ended run nothing", func() bool { return rt.Seats() == 0 })
}

func TestWhatASelectWaitsForIsCounted(t *testing.T) {
	ex := solo(t)
	watch(t, ex)
	s := held(t, 1)
	for name, f := range map[string]func(cx *rt.Context) error{
		"2 select": func(cx *rt.Context) error { _, err := rt.Select(cx, request(s, 1), request(s, 1)); return err },
		"3 join":   func(cx *rt.Context) error { return rt.Join(cx, request(s, 1), request(s, 1), request(s, 1)) },
		"2 first":  func(cx *rt.Context) error { return rt.Await(cx, rt.FirstOf(request(s, 1), request(s, 1))) },
		"0 godot":  func(cx *rt.Context) error { _, err := rt.Select(cx, request(s, 1), &never{ex}); return err },
		"0 time":   func(cx *rt.Context) error { return rt.Await(cx, rt.Timeout(request(s, 1), time.Hour)) },
	} {
		h := rt.GoNamed(ex, name, func(cx *rt.Context) (int, error) { return 0, f(cx) })
		awaitQuiet(t, ex, 1)
		require.Equal(t, int(name[0]-'0'), rowOf(t, name).Locks, name)
		h.Abort()
		_, _ = wait(t, h)
	}
}

func TestTheLastPanicsAreKept(t *testing.T) {
	ex := solo(t, quiet)
	begin := observe.Read().Panicked
	boom := func(v any) {
		h := rt.GoNamed(ex, t.Name(), func(*rt.Context) (int, error) { panic(v) })
		_, _ = wait(t, h)
	}
	boom("nobody looks")
	watch(t, ex)
	for i := range rt.MaxKeptPanics + 3 {
		boom(i)
	}
	s := observe.Read()
	require.Equal(t, begin+rt.MaxKeptPanics+4, s.Panicked)
	require.Len(t, s.Panics, rt.MaxKeptPanics)
	require.Equal(t, "3", s.Panics[0].Value)
	last := s.Panics[rt.MaxKeptPanics-1]
	require.Equal(t, t.Name(), last.Task)
	require.Contains(t, last.Stack, "TestTheLastPanicsAreKept")
	require.WithinDuration(t, time.Now(), last.At, time.Minute)
	observe.Watch(ex, "", observe.LevelOff)
	require.Empty(t, observe.Read().Panics)
}

func TestTasksThatAreReadAreBounded(t *testing.T) {
	locktest.SkipUnderRace(t)
	ex := start(t, rt.WithWorkers(4))
	watch(t, ex)
	before := observe.Read().Dropped.Tasks
	const more = 1000
	tasks := make([]pollFunc, agents.MaxTasks+more)
	for i := range tasks {
		tasks[i].f = func(cx *rt.Context) bool { return cx.Err() != nil }
		require.NoError(t, ex.Spawn(&tasks[i]))
	}
	s := observe.Read()
	require.Len(t, s.Tasks, agents.MaxTasks)
	require.Equal(t, uint64(more), s.Dropped.Tasks-before)
	for i := range tasks {
		tasks[i].Abort()
	}
}

func TestOnlyExecutorsAreObserved(t *testing.T) {
	require.Panics(t, func() { observe.Watch((*rt.Executor)(nil), "", observe.LevelCounts) })
	require.Panics(t, func() { observe.Watch(new(rt.Executor), "", observe.LevelCounts) })
}

func TestObservingKeepsNoExecutorAlive(t *testing.T) {
	gone := make(chan struct{})
	func() {
		ex := rt.New()
		observe.Watch(ex, t.Name(), observe.LevelCounts)
		runtime.AddCleanup(ex, func(c chan struct{}) { close(c) }, gone)
	}()
	locktest.Eventually(t, "the executor is collected", func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
}

// Looking and looking away at any moment disturbs no task.
func TestObservingAtAnyMomentLosesNothing(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		var done atomic.Bool
		var looker sync.WaitGroup
		looker.Go(func() {
			for i := 0; !done.Load(); i++ {
				observe.Watch(ex, t.Name(), observe.LevelCounts)
				for range i % 3 {
					rows(t)
				}
				observe.Watch(ex, "", observe.LevelOff)
			}
		})
		s := held(t, 1)
		s.Release(1)
		const rounds = 200
		for range 4 {
			var hs []*rt.JoinHandle[struct{}]
			for i := range 8 {
				hs = append(hs, spawned(ex, func(cx *rt.Context) error {
					for range rounds {
						f := request(s, 1)
						if _, err := rt.Select(cx, f, request(s, 1)); err != nil {
							return err
						}
						_ = rt.Yield(cx)
						s.Release(1)
						if i == 0 {
							cx.Waker().Wake()
						}
					}
					return nil
				}))
			}
			for _, h := range hs {
				_, err := wait(t, h)
				require.NoError(t, err)
			}
		}
		done.Store(true)
		looker.Wait()
		requireIdle(t, s)
	})
}

func TestAnExecutorInABubbleIsSeenFromOutside(t *testing.T) {
	ask, answer := make(chan struct{}), make(chan map[string]observe.Task)
	go func() {
		for range ask {
			answer <- rows(t)
		}
	}()
	defer close(ask)
	synctest.Test(t, func(t *testing.T) {
		inner := start(t, rt.WithWorkers(2))
		watch(t, inner)
		s := held(t, 1)
		h := rt.GoNamed(inner, "acquires", func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, request(s, 1)) })
		synctest.Wait()
		require.Equal(t, "future of package semaphore", rows(t)["acquires"].WaitsFor)
		ask <- struct{}{}
		x := (<-answer)["acquires"]
		require.Equal(t, "waiting", x.State)
		require.Empty(t, x.WaitsFor, "for that it would have to be taken, and perhaps woken")
		s.Release(1)
		_, err := wait(t, h)
		require.NoError(t, err)
	})
}
