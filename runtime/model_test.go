//go:build interleave

package rt

import (
	"cmp"
	"flag"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The scenarios of the executor's lock-free parts. Each runs the source that is shipped: the
// workers of an executor, as threads of the explorer, which end when the scenario's tasks have.
// That none of them sleeps for ever while there is work is seen as a deadlock.

// A lab is an executor under exploration.
type lab struct {
	*interleave.Run
	ex   *Executor
	left interleave.Int32 // tasks that have not ended
	now  interleave.Int64 // of timers, for scenarios that move it
}

func newLab(x *interleave.Run, workers int) *lab {
	l := &lab{Run: x, ex: newExecutor(workers)}
	x.Name("ex", l.ex.scheduler)
	for i, w := range l.ex.workers {
		x.Name("w"+string(rune('0'+i)), w)
	}
	return l
}

// start spawns tasks, and lets the workers loose.
func (l *lab) start(tasks ...*subject) {
	for _, t := range tasks {
		l.spawn(t)
	}
	for i, w := range l.ex.workers {
		l.Go("w"+string(rune('0'+i)), func() {
			defer w.leave()
			w.serve() // and not work, whose recover would catch what the explorer unwinds with
		})
	}
}

// finish waits until all threads have ended, and checks what is left.
func (l *lab) finish() {
	l.Wait()
	l.check()
}

// check is the second half of finish.
func (l *lab) check() {
	ex := l.ex
	l.Assert(l.left.Load() == 0, "%d tasks have not ended", l.left.Load())
	searching := uint32(0)
	for _, w := range ex.workers {
		if w.searching { // woken to search, it found that it is over
			searching += oneSearching
		}
	}
	l.Assert(ex.idle.word.Load() == searching, "idle: %#x, not %#x", ex.idle.word.Load(), searching)
	l.Assert(len(ex.idle.sleepers) == 0, "sleepers are listed")
	l.Assert(ex.injection.pop() == nil, "a task was left in the injection queue")
	for i, w := range ex.workers {
		l.Assert(w.inbox.top.Load() == nil, "a task was left in inbox %d", i)
		l.Assert(w.pop() == nil, "a task was left in queue %d", i)
	}
	for i := range ex.shards {
		l.Assert(ex.shards[i].size == 0, "a task was left in the registry")
	}
}

// requireIdle checks that all permits are back and no goroutine waits.
func (l *lab) requireIdle(ss ...*semaphore.Semaphore) {
	for i, s := range ss {
		l.Assert(s.Available() == s.Size(), "a permit of semaphore %d was lost or made", i)
		l.Assert(s.Waiting() == 0, "a goroutine still waits for semaphore %d", i)
	}
}

// A subject is a task of a scenario.
type subject struct {
	Task
	l      *lab
	inside interleave.Bool
	polls  interleave.Int32
	step   step
}

// A step is the Poll of a subject. It gets the number of polls, counted from 1.
type step func(s *subject, cx *Context, polls int32) bool

// Poll implements Poller.
func (s *subject) Poll(cx *Context) bool {
	s.l.Assert(!s.inside.Swap(true), "polled twice at once")
	done := s.step(s, cx, s.polls.Add(1))
	s.inside.Store(false)
	if done {
		s.l.ended()
	}
	return done
}

// poll is cx.Poll. A task that is woken again and again, which must be by itself, because the
// future is about to be complete, waits until something changes.
func (s *subject) poll(cx *Context, f Future) bool {
	if cx.Poll(f) {
		return true
	}
	if s.polls.Load() > 4 && s.state.Load()&taskCount > 1 {
		interleave.Yield()
	}
	return false
}

// ended is called when a task is about to end: the last one stops the workers.
func (l *lab) ended() {
	if l.left.Add(-1) == 0 {
		l.ex.stop()
	}
}

// task makes a task, which is not spawned.
func (l *lab) task(name string, step step) *subject {
	s := &subject{l: l, step: step}
	l.Name(name, s)
	l.left.Add(1)
	return s
}

// told makes a task that waits until it is told to end.
func (l *lab) told() (t *subject, tell func()) {
	told := new(interleave.Bool)
	t = l.task("t", func(*subject, *Context, int32) bool { return told.Load() })
	return t, func() { told.Store(true); t.Waker().Wake() }
}

func (l *lab) spawn(s *subject) {
	l.Assert(l.ex.Spawn(s) == nil, "spawn refused")
}

func (l *lab) spawnFrom(cx *Context, s *subject) {
	l.Assert(cx.Spawn(s) == nil, "spawn refused")
}

// once is a task that ends in its first poll.
func once(*subject, *Context, int32) bool { return true }

// goesHome has threads shut down an executor while a task has another goroutine do something. Home
// is closed once, by the last goroutine that ends: a second time would panic.
func goesHome(x *interleave.Run, closers int, refused error) {
	l := newLab(x, 1)
	l.left.Add(1) // so that the workers end by the shutdown alone
	ex := l.ex
	var function func()
	var begun interleave.Bool
	ex.spawn = func(f func()) error {
		function = f
		begun.Store(true)
		return refused
	}
	t := l.task("t", func(*subject, *Context, int32) bool {
		l.Assert(ex.spawnCounted(ex.workerEnded) == refused, "refused or not")
		return true
	})
	ex.count()
	l.spawn(t)
	x.Go("worker", func() {
		ex.workers[0].serve()
		ex.workerEnded()
	})
	x.Go("function", func() {
		if await(begun.Load); refused == nil {
			function()
		}
	})
	x.Same(closers, "closer", func(int) {
		ex.close()
		await(func() bool { return ex.left.Load() == 0 })
		ex.leave()
		select {
		case <-ex.home:
			ex.mu.Lock()
			l.Assert(ex.running == 0, "home is closed while %d goroutines run", ex.running)
			ex.mu.Unlock()
		default:
		}
	})
	x.Wait()
	for name, c := range map[string]chan struct{}{"drained": ex.drained, "home": ex.home} {
		select {
		case <-c:
		default:
			x.Fail("%s was not closed", name)
		}
	}
	x.Assert(ex.running == 0, "%d goroutines are counted", ex.running)
	l.left.Add(-1)
	l.check()
}

// panicking is the step of a task that panics, as far as the worker can tell of a straight-line
// one.
func panicking(_ *subject, cx *Context, _ int32) bool {
	cx.w.panicked = new(PanicError)
	return true
}

// panics sets a handler, and counts what it is told.
func (l *lab) panics() *interleave.Int32 {
	reports := new(interleave.Int32)
	l.ex.panics.handle = func(*PanicError) { reports.Add(1) }
	return reports
}

// meeting is the only step of each of n tasks, which have to be polled at the same time.
func meeting(n int32) step {
	here := new(interleave.Int32)
	return func(*subject, *Context, int32) bool {
		here.Add(1)
		await(func() bool { return here.Load() == n })
		return true
	}
}

// await waits until cond is true.
func await(cond func() bool) {
	for !cond() {
		interleave.Yield()
	}
}

// held returns a semaphore of n permits, all of which are taken.
func held(n int64) *semaphore.Semaphore {
	s := semaphore.New(n)
	s.TryAcquire(n)
	return s
}

// request returns a future for a permit of s.
func request(s *semaphore.Semaphore) *waiter.Future {
	f := new(waiter.Future)
	s.Bind(f, 1)
	return f
}

// completionOf returns the end of t as a future.
func completionOf(t *subject) *Completion {
	c := new(Completion)
	c.Init(&t.Task)
	return c
}

type experiment struct {
	name string
	body func(x *interleave.Run)
	// bound is how many preemptions a search of tier two allows; 0: three.
	bound int
}

var tierOne = []experiment{
	{"ring/thief", func(x *interleave.Run) { rings(x, 1, 3) }, 0},
	{"ring/two thieves", func(x *interleave.Run) { rings(x, 2, 2) }, 0},
	{"inbox/thief", func(x *interleave.Run) {
		// Two push, the worker and a thief empty: everything is found once, in the order of one
		// pusher.
		l := newLab(x, 2)
		w := l.ex.workers[0]
		var found [4]interleave.Int32
		ts := [4]*subject{}
		for i := range ts {
			ts[i] = l.task("t", once)
			ts[i].polls.Store(int32(i))
		}
		empty := func() {
			last := int32(-1)
			for t := w.inbox.takeAll(); t.size > 0; {
				i := subjectOf(t.popFront(), ts[:])
				l.Assert(found[i].Add(1) == 1, "found twice")
				if i < 2 {
					l.Assert(i > last, "out of order")
					last = i
				}
			}
		}
		x.Go("a", func() { w.inbox.push(&ts[0].Task); w.inbox.push(&ts[1].Task) })
		x.Go("b", func() { w.inbox.push(&ts[2].Task) })
		x.Go("worker", empty)
		x.Go("thief", empty)
		x.Wait()
		empty()
		for i := range 3 {
			x.Assert(found[i].Load() == 1, "task %d was found %d times", i, found[i].Load())
		}
	}, 0},

	{"ring/monitor", func(x *interleave.Run) { // who empties a ring for the monitor has none
		l := newLab(x, 1)
		w := l.ex.workers[0]
		var found [4]interleave.Int32
		ts := make([]*subject, 4)
		for i := range ts {
			ts[i] = l.task("t", once)
		}
		take := func(t *Task) {
			if t != nil {
				l.Assert(found[subjectOf(t, ts)].Add(1) == 1, "found twice")
			}
		}
		x.Go("owner", func() {
			for _, t := range ts[:3] {
				l.Assert(w.ring.push(&t.Task), "no room")
			}
			take(w.ring.pop())
		})
		x.Go("waker", func() { w.inbox.push(&ts[3].Task) })
		x.Go("monitor", func() {
			var late list
			w.relieve(&late)
			for t := late.popFront(); t != nil; t = late.popFront() {
				take(t)
			}
		})
		x.Wait()
		for !w.ring.empty() {
			take(w.ring.pop())
		}
		rest := w.inbox.takeAll()
		take(rest.popFront())
		for i := range found {
			x.Assert(found[i].Load() == 1, "task %d was found %d times", i, found[i].Load())
		}
	}, 0},

	{"monitor/leaves alone what moves", func(x *interleave.Run) { // a worker that has looked for a task has answered
		l := newLab(x, 2)
		w, m := l.ex.workers[0], &monitor{ex: l.ex.scheduler}
		for range 3 {
			l.left.Add(1)
			w.push(&(&subject{l: l, step: once}).Task)
		}
		x.Go("worker", func() {
			m.look()
			l.Assert(w.find() != nil, "nothing found")
			m.look()
			l.Assert(w.ring.len() == 2 && !l.ex.injection.some.Load(), "its queue was taken")
			m.look()
			l.Assert(w.ring.empty() && l.ex.injection.len() == 2, "its queue was not taken")
		})
		x.Wait()
	}, 0},
	{"monitor/looks while a worker is awake", func(x *interleave.Run) { awake(x, 1) }, 0},

	{"wake/two", func(x *interleave.Run) { // two wakes of a waiting task: it is polled after the last of them
		l := newLab(x, 1)
		var told interleave.Int32
		t := l.task("t", func(_ *subject, _ *Context, _ int32) bool { return told.Load() == 2 })
		l.start(t)
		x.Same(2, "waker", func(int) { told.Add(1); t.Waker().Wake() })
		l.finish()
	}, 0},
	{"wake/after the end", func(x *interleave.Run) { // a waker that is kept is harmless, even to the task's next life
		l := newLab(x, 1)
		t := l.task("t", once)
		u := l.task("u", once)
		l.start(t)
		x.Go("late", func() {
			t.Waker().Wake()
			t.Waker().Wake()
			l.spawn(u)
		})
		l.finish()
	}, 0},
	{"wake/twice spawned", func(x *interleave.Run) {
		l := newLab(x, 1)
		l.left.Add(1) // the second life
		t := l.task("t", once)
		l.start(t)
		x.Go("waker", t.Waker().Wake)
		x.Go("again", func() {
			await(func() bool { return l.left.Load() < 2 && t.state.Load() == 0 })
			l.spawn(t)
		})
		l.finish()
	}, 0},
	{"wake/itself", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", func(s *subject, cx *Context, polls int32) bool {
			switch polls {
			case 1:
				s.Waker().Wake()
				return false
			case 2:
				return cx.Yield()
			default:
				return true
			}
		})
		l.start(t)
		x.Go("waker", t.Waker().Wake)
		l.finish()
	}, 0},

	{"park/solo", func(x *interleave.Run) {
		l := newLab(x, 1)
		t, u := l.task("t", once), l.task("u", once)
		l.start()
		x.Go("spawner", func() { l.spawn(t) })
		x.Go("another", func() { l.spawn(u) })
		l.finish()
	}, 0},
	{"park/needs another", func(x *interleave.Run) { // one task keeps its worker until the other has run
		l := newLab(x, 2)
		var ran interleave.Bool
		patient := l.task("patient", func(*subject, *Context, int32) bool {
			await(ran.Load)
			return true
		})
		helper := l.task("helper", func(*subject, *Context, int32) bool { ran.Store(true); return true })
		l.start(patient, helper)
		l.finish()
	}, 0},
	{"park/spawned by a task", func(x *interleave.Run) { // the same, with the other in the queue of the busy worker
		l := newLab(x, 2)
		var ran interleave.Bool
		helper := l.task("helper", func(*subject, *Context, int32) bool { ran.Store(true); return true })
		patient := l.task("patient", func(_ *subject, cx *Context, _ int32) bool {
			l.spawnFrom(cx, helper)
			await(ran.Load)
			return true
		})
		l.start(patient)
		l.finish()
	}, 0},
	{"park/wake", func(x *interleave.Run) { // a wake finds the worker at every point of its falling asleep
		l := newLab(x, 2)
		t, tell := l.told()
		l.start(t)
		x.Go("waker", tell)
		l.finish()
	}, 0},

	{"cancel/waiting", func(x *interleave.Run) { // a cancel reaches a task that waits for what never comes
		l := newLab(x, 1)
		s := held(1)
		f := request(s)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, f) {
				return false
			}
			l.Assert(cx.Err() == ErrCancelled, "not cancelled")
			return true
		})
		l.start(t)
		x.Go("canceller", t.Abort)
		l.finish()
		s.Release(1)
		l.requireIdle(s)
	}, 0},
	{"cancel/against a grant", func(x *interleave.Run) {
		l := newLab(x, 1)
		s := held(1)
		f := request(s)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, f) {
				return false
			}
			l.Assert(f.Err() == nil || cx.Err() == ErrCancelled, "neither granted nor cancelled")
			f.Release()
			return true
		})
		l.start(t)
		x.Go("canceller", t.Abort)
		x.Go("releaser", func() { s.Release(1) })
		l.finish()
		l.requireIdle(s)
	}, 0},
	{"cancel/twice, against the end", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task(
			"t",
			func(_ *subject, cx *Context, polls int32) bool { return cx.Err() != nil || polls == 2 || cx.Yield() },
		)
		l.start(t)
		x.Same(2, "canceller", func(int) { t.Abort() })
		l.finish()
	}, 0},

	{
		"select/against grants",
		func(x *interleave.Run) { // two permits come at the same time: one wins, the other is given back
			l := newLab(x, 1)
			a, b := held(1), held(1)
			first := FirstOf(request(a), request(b))
			t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
				if !me.poll(cx, first) {
					return false
				}
				l.Assert(first.Err() == nil, "lost")
				first.Release()
				return true
			})
			l.start(t)
			x.Go("a", func() { a.Release(1) })
			x.Go("b", func() { b.Release(1) })
			l.finish()
			l.requireIdle(a, b)
		},
		0,
	},

	{"completion/against the end", func(x *interleave.Run) { // waited for by a thread of its own
		l := newLab(x, 1)
		t := l.task("t", once)
		c := completionOf(t)
		l.start(t)
		x.Go("owner", func() {
			woken := interleave.NewSignal(1)
			for !c.Poll(waiter.WakerFunc(woken.TrySend)) {
				woken.Receive()
			}
			l.Assert(c.Err() == nil, "ended with %v", c.Err())
		})
		l.finish()
	}, 0},
	{"completion/cancelled", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", once)
		c := completionOf(t)
		l.start(t)
		x.Go("owner", func() {
			if !c.Poll(nil) {
				c.Release()
				c.Release()
			}
			await(func() bool { return c.Poll(nil) })
		})
		l.finish()
	}, 0},

	{"completion/done after a cancel", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", once)
		c := completionOf(t)
		l.start(t)
		x.Go("owner", func() {
			c.Done()
			c.Release()
			interleave.Receive(c.Done())
			c.Init(&t.Task)
			l.Assert(c.Err() == nil, "ended with %v", c.Err())
		})
		l.finish()
	}, 0},
	{"panic/against a wait that ends", func(x *interleave.Run) { // it is reported, even if the wait was told
		l := newLab(x, 1)
		reports := l.panics()
		t := l.task("t", panicking)
		c := completionOf(t)
		l.spawn(t)
		x.Assert(!c.Poll(nil), "ended")
		l.start()
		x.Go("owner", c.Release)
		l.finish()
		x.Assert(reports.Load() == 1, "%d reports", reports.Load())
	}, 0},
	{"panic/against one of two waits that end", func(x *interleave.Run) { // the other one learns of it
		l := newLab(x, 1)
		reports := l.panics()
		t := l.task("t", panicking)
		gone, stays := completionOf(t), completionOf(t)
		l.spawn(t)
		woken := interleave.NewSignal(1)
		x.Assert(!gone.Poll(nil) && !stays.Poll(waiter.WakerFunc(woken.TrySend)), "ended")
		l.start()
		x.Go("goes", gone.Release)
		x.Go("stays", func() {
			woken.Receive()
			_, ok := stays.Err().(*PanicError)
			l.Assert(ok, "no panic")
		})
		l.finish()
		x.Assert(reports.Load() == 0, "%d reports", reports.Load())
	}, 0},
	{"panic/against a question", func(x *interleave.Run) { // a late question gets the error, and Shutdown has nothing to report
		l := newLab(x, 1)
		l.panics()
		t := l.task("t", panicking)
		c := completionOf(t)
		l.start(t)
		x.Go("owner", func() {
			await(func() bool { return t.state.Load() == 0 })
			_, ok := c.Err().(*PanicError)
			l.Assert(ok, "no panic")
		})
		l.finish()
		x.Assert(l.ex.panics.join(nil) == nil, "it is not known that it was asked for")
	}, 0},
	{"shutdown/against a spawn", func(x *interleave.Run) { // a task is refused, or waited for
		l := newLab(x, 1)
		t, u := l.task("t", once), l.task("u", once)
		l.start(t)
		x.Go("closer", l.ex.close)
		x.Go("spawner", func() {
			if l.ex.Spawn(u) != nil {
				l.ended()
			}
		})
		l.finish()
		select {
		case <-l.ex.drained:
		default:
			x.Fail("not drained")
		}
	}, 0},
	{"shutdown/goes home", func(x *interleave.Run) { goesHome(x, 1, nil) }, 0},
	{"shutdown/goes home, a pool that refuses", func(x *interleave.Run) { goesHome(x, 1, ErrShutdown) }, 0},
	{"shutdown/cancels", func(x *interleave.Run) { // it reaches a task that waits, and one that is about to
		l := newLab(x, 1)
		t := l.task("t", func(_ *subject, cx *Context, _ int32) bool { return cx.Err() != nil })
		l.start(t)
		x.Go("closer", func() { l.ex.close(); l.ex.cancelAll(ErrShutdown) })
		l.finish()
	}, 0},

	{"dump/against a wake", func(x *interleave.Run) {
		l := newLab(x, 1)
		t, tell := l.told()
		l.start(t)
		x.Go("waker", tell)
		x.Go("dumper", func() { l.ex.Dump() })
		l.finish()
	}, 0},
}

// The larger ones, up to three preemptions.
var tierTwo = []experiment{
	{"ring/larger", func(x *interleave.Run) { rings(x, 2, 6) }, 0},
	{"park/spawn", func(x *interleave.Run) {
		l := newLab(x, 2)
		t := l.task("t", once)
		l.start()
		x.Go("spawner", func() { l.spawn(t) })
		l.finish()
	}, 0},
	{
		"join/against cancel",
		func(x *interleave.Run) { // of two permits one has come when the task is cancelled, or none, or both
			l := newLab(x, 1)
			s := held(2)
			all := AllOf(request(s), request(s))
			t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
				if !me.poll(cx, all) {
					return false
				}
				all.Release()
				return true
			})
			l.start(t)
			x.Go("releaser", func() { s.Release(1); s.Release(1) })
			x.Go("canceller", t.Abort)
			l.finish()
			l.requireIdle(s)
		},
		0,
	},
	{"park/spawn of two", func(x *interleave.Run) {
		l := newLab(x, 2)
		t, u := l.task("t", once), l.task("u", once)
		l.start()
		x.Go("spawner", func() { l.spawn(t); l.spawn(u) })
		l.finish()
	}, 2},
	{"shutdown/two of them go home", func(x *interleave.Run) { goesHome(x, 2, nil) }, 0},
	{"monitor/looks while one of two is awake", func(x *interleave.Run) { awake(x, 2) }, 2},
	{"monitor/inbox of a long poll", func(x *interleave.Run) { relieved(x, true) }, 2},
	{"monitor/queue of a long poll", func(x *interleave.Run) { relieved(x, false) }, 2},
	{"park/overflow", func(x *interleave.Run) { // one task fills its worker's queue, and more
		l := newLab(x, 2)
		var children []*subject
		for range ringSize + 2 {
			children = append(children, l.task("child", once))
		}
		l.start(l.task("parent", func(_ *subject, cx *Context, _ int32) bool {
			for _, c := range children {
				l.spawnFrom(cx, c)
			}
			return true
		}))
		l.finish()
	}, 2},
	{"park/spawn of two that need each other", func(x *interleave.Run) { // while workers fall asleep
		l := newLab(x, 2)
		meet := meeting(2)
		t, u := l.task("t", meet), l.task("u", meet)
		l.start()
		x.Go("spawner", func() { l.spawn(t); l.spawn(u) })
		l.finish()
	}, 2},
	{"park/wake and spawn", func(x *interleave.Run) {
		l := newLab(x, 2)
		t, tell := l.told()
		u := l.task("u", once)
		l.start(t)
		x.Go("waker", tell)
		x.Go("spawner", func() { l.spawn(u) })
		l.finish()
	}, 2},
}

// The largest, sampled.
var tierThree = []experiment{
	{"park/three workers", func(x *interleave.Run) {
		l := newLab(x, 3)
		meet := meeting(3)
		l.start(l.task("t", meet), l.task("t", meet), l.task("t", meet))
		l.finish()
	}, 0},
	{
		"hand-off/two workers",
		func(x *interleave.Run) { // tasks that take turns on a permit, and yield while they hold it
			l := newLab(x, 2)
			s := semaphore.New(1)
			var holding interleave.Int32
			for range 3 {
				f := request(s)
				holds := false // the task's own
				l.spawn(l.task("t", func(me *subject, cx *Context, _ int32) bool {
					if !holds {
						if !me.poll(cx, f) {
							return false
						}
						l.Assert(f.Take() == nil, "not granted")
						l.Assert(holding.Add(1) == 1, "two hold the permit")
						holds = true
						return cx.Yield()
					}
					holding.Add(-1)
					s.Release(1)
					return true
				}))
			}
			l.start()
			l.finish()
			l.requireIdle(s)
		},
		0,
	},
}

// rings has an owner put n tasks into its ring and take them out, while thieves steal.
func rings(x *interleave.Run, thieves, n int) {
	l := newLab(x, 1+thieves)
	var found [8]interleave.Int32
	ts := make([]*subject, n)
	for i := range ts {
		ts[i] = l.task("t", once)
	}
	got := func(t *Task) {
		l.Assert(found[subjectOf(t, ts)].Add(1) == 1, "found twice")
	}
	own := &l.ex.workers[0].ring
	x.Go("owner", func() {
		for i, t := range ts {
			for !own.push(&t.Task) {
				got(own.pop())
			}
			if i%2 == 1 {
				if t := own.pop(); t != nil {
					got(t)
				}
			}
		}
	})
	x.Same(thieves, "thief", func(i int) {
		mine := &l.ex.workers[1+i].ring
		if t, stolen := own.take(mine); t != nil {
			got(t)
			l.Assert(mine.len() == stolen-1, "stole %d, and has %d more", stolen, mine.len())
		}
		for t := mine.pop(); t != nil; t = mine.pop() {
			got(t)
		}
	})
	x.Wait()
	for t := own.pop(); t != nil; t = own.pop() {
		got(t)
	}
	for i := range ts {
		x.Assert(found[i].Load() == 1, "task %d was found %d times", i, found[i].Load())
	}
}

// A labClock is the alarm of a monitor.
type labClock struct {
	l     *lab
	set   interleave.Bool
	ticks interleave.Int32
}

func (c *labClock) Reset(time.Duration) bool { c.set.Store(true); return true }
func (c *labClock) Stop() bool               { c.set.Store(false); return true }

// monitored gives the executor a monitor, which looks when a worker has woken.
func (l *lab) monitored() *labClock {
	c := &labClock{l: l}
	l.ex.monitor = &monitor{ex: l.ex.scheduler, clock: c}
	l.Name("monitor", l.ex.monitor)
	l.Name("clock", c)
	l.ex.rouse()
	return c
}

// tick waits for the alarm, and has the monitor look.
func (c *labClock) tick() {
	await(c.set.Load)
	c.set.Store(false)
	c.l.ex.monitor.tick()
	c.ticks.Add(1)
}

// awake has the monitor look while workers fall asleep, and a task that comes meanwhile ends only
// when it looks again.
func awake(x *interleave.Run, workers int) {
	l := newLab(x, workers)
	clock := l.monitored()
	var in interleave.Bool
	t := l.task("t", func(*subject, *Context, int32) bool {
		in.Store(true)
		await(func() bool { return clock.ticks.Load() == 2 })
		return true
	})
	x.Go("clock", func() {
		clock.tick()
		await(in.Load)
		clock.tick()
	})
	x.Go("spawner", func() { l.spawn(t) })
	l.start()
	l.finish()
}

// relieved has one worker in a poll that ends only when a task has run that this worker has ready:
// woken, or spawned. The other worker has a task that yields until then. Two looks of the monitor
// have to do.
func relieved(x *interleave.Run, wakes bool) {
	l := newLab(x, 2)
	l.ex.monitor = &monitor{ex: l.ex.scheduler, clock: &labClock{l: l}}
	var waits, in, ran interleave.Bool
	helper := l.task("helper", func(_ *subject, _ *Context, polls int32) bool {
		if wakes && polls == 1 {
			waits.Store(true)
			return false
		}
		ran.Store(true)
		return true
	})
	blocked := l.task("blocked", func(_ *subject, cx *Context, _ int32) bool {
		if wakes {
			await(func() bool { return waits.Load() && helper.state.Load() == taskAlive })
			helper.home.Store(cx.w.id) // as if it had been polled here
			helper.Waker().Wake()
		} else {
			l.spawnFrom(cx, helper)
		}
		in.Store(true)
		await(ran.Load)
		return true
	})
	busy := l.task("busy", func(_ *subject, cx *Context, polls int32) bool {
		if polls%injectionEvery == 0 { // nothing new comes but from there
			await(func() bool { return ran.Load() || l.ex.injection.some.Load() })
		}
		return ran.Load() || cx.Yield()
	})
	if wakes {
		l.spawn(helper)
	}
	x.Go("clock", func() {
		await(in.Load)
		l.ex.monitor.tick()
		l.ex.monitor.tick()
	})
	l.start(busy, blocked)
	l.finish()
}

func subjectOf(t *Task, ts []*subject) int32 {
	for i, s := range ts {
		if s != nil && &s.Task == t {
			return int32(i)
		}
	}
	panic("no such task")
}

func run(t *testing.T, o interleave.Options, all []experiment) {
	t.Helper()
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) { interleave.Check(t, o, e.body) })
		if t.Failed() && flag.Lookup("test.failfast").Value.String() == "true" {
			return // -failfast knows no subtests
		}
	}
}

func TestModel(t *testing.T) {
	run(t, interleave.Options{}, tierOne)
}

func TestModelLarge(t *testing.T) {
	if testing.Short() || interleave.RaceEnabled {
		t.Skip("tier two")
	}
	for _, e := range tierTwo {
		run(t, interleave.Options{Mode: interleave.Bounded, Bound: cmp.Or(e.bound, 3)}, []experiment{e})
	}
}

func TestModelSampled(t *testing.T) {
	executions := 20_000
	if testing.Short() || interleave.RaceEnabled {
		executions = 1000
	}
	for _, o := range []interleave.Options{{Mode: interleave.Random}, {Mode: interleave.PCT, Depth: 3}} {
		o.Executions, o.Seed = executions, 1
		t.Run(o.Mode.String(), func(t *testing.T) { run(t, o, tierThree) })
	}
}
