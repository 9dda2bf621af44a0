//go:build interleave

package runtime

import (
	"cmp"
	"flag"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The scenarios of the executor's lock-free parts. Each runs the source that is shipped: the workers of an executor, as
// threads of the explorer, which end when the scenario's tasks have. That none of them sleeps for ever while there is work
// is seen as a deadlock.

// A lab is an executor under exploration.
type lab struct {
	*interleave.Run
	ex   *Executor
	left interleave.Int32 // tasks that have not ended
}

func newLab(x *interleave.Run, workers int) *lab {
	l := &lab{Run: x, ex: newExecutor(workers)}
	x.Name("ex", l.ex)
	for i, w := range l.ex.workers {
		x.Name("w"+string(rune('0'+i)), w)
	}
	return l
}

// start lets the workers loose.
func (l *lab) start() {
	for i, w := range l.ex.workers {
		l.Go("w"+string(rune('0'+i)), w.serve) // and not work, whose recover would catch what the explorer unwinds with
	}
}

// finish checks what is left when all threads have ended.
func (l *lab) finish() {
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

// A subject is a task of a scenario.
type subject struct {
	Task
	l      *lab
	inside interleave.Bool
	polls  interleave.Int32
	step   func(s *subject, cx *Context, polls int32) bool
}

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

// poll is cx.Poll. A task that is woken again and again, which must be by itself, because the future is about to be
// complete, waits until something changes.
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
func (l *lab) task(name string, step func(s *subject, cx *Context, polls int32) bool) *subject {
	s := &subject{l: l, step: step}
	l.Name(name, s)
	l.left.Add(1)
	return s
}

func (l *lab) spawn(s *subject) {
	l.Assert(l.ex.Spawn(s) == nil, "spawn refused")
}

// once is a task that ends in its first poll.
func once(*subject, *Context, int32) bool { return true }

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
		// Two push, the worker and a thief empty: everything is found once, in the order of one pusher.
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

	{"wake/two", func(x *interleave.Run) { // two wakes of a waiting task: it is polled after the last of them
		l := newLab(x, 1)
		var told interleave.Int32
		t := l.task("t", func(_ *subject, _ *Context, _ int32) bool { return told.Load() == 2 })
		l.spawn(t)
		l.start()
		x.Same(2, "waker", func(int) { told.Add(1); t.Wake() })
		x.Wait()
		l.finish()
	}, 0},
	{"wake/after the end", func(x *interleave.Run) { // a waker that is kept is harmless, even to the task's next life
		l := newLab(x, 1)
		t := l.task("t", once)
		u := l.task("u", once)
		l.spawn(t)
		l.start()
		x.Go("late", func() {
			t.Wake()
			t.Wake()
			l.spawn(u)
		})
		x.Wait()
		l.finish()
	}, 0},
	{"wake/twice spawned", func(x *interleave.Run) {
		l := newLab(x, 1)
		l.left.Add(1) // the second life
		t := l.task("t", once)
		l.spawn(t)
		l.start()
		x.Go("waker", t.Wake)
		x.Go("again", func() {
			for l.left.Load() == 2 || t.state.Load() != 0 {
				interleave.Yield()
			}
			l.spawn(t)
		})
		x.Wait()
		l.finish()
	}, 0},
	{"wake/itself", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", func(s *subject, cx *Context, polls int32) bool {
			switch polls {
			case 1:
				s.Wake()
				return false
			case 2:
				return cx.Yield()
			default:
				return true
			}
		})
		l.spawn(t)
		l.start()
		x.Go("waker", t.Wake)
		x.Wait()
		l.finish()
	}, 0},

	{"park/solo", func(x *interleave.Run) {
		l := newLab(x, 1)
		t, u := l.task("t", once), l.task("u", once)
		l.start()
		x.Go("spawner", func() { l.spawn(t) })
		x.Go("another", func() { l.spawn(u) })
		x.Wait()
		l.finish()
	}, 0},
	{"park/needs another", func(x *interleave.Run) { // one task keeps its worker until the other has run
		l := newLab(x, 2)
		var ran interleave.Bool
		patient := l.task("patient", func(*subject, *Context, int32) bool {
			for !ran.Load() {
				interleave.Yield()
			}
			return true
		})
		helper := l.task("helper", func(*subject, *Context, int32) bool { ran.Store(true); return true })
		l.spawn(patient)
		l.spawn(helper)
		l.start()
		x.Wait()
		l.finish()
	}, 0},
	{"park/spawned by a task", func(x *interleave.Run) { // the same, with the other in the queue of the busy worker
		l := newLab(x, 2)
		var ran interleave.Bool
		helper := l.task("helper", func(*subject, *Context, int32) bool { ran.Store(true); return true })
		patient := l.task("patient", func(_ *subject, cx *Context, _ int32) bool {
			l.Assert(cx.Spawn(helper) == nil, "spawn refused")
			for !ran.Load() {
				interleave.Yield()
			}
			return true
		})
		l.spawn(patient)
		l.start()
		x.Wait()
		l.finish()
	}, 0},
	{"park/wake", func(x *interleave.Run) { // a wake finds the worker at every point of its falling asleep
		l := newLab(x, 2)
		var told interleave.Bool
		t := l.task("t", func(*subject, *Context, int32) bool { return told.Load() })
		l.spawn(t)
		l.start()
		x.Go("waker", func() { told.Store(true); t.Wake() })
		x.Wait()
		l.finish()
	}, 0},

	{"cancel/waiting", func(x *interleave.Run) { // a cancel reaches a task that waits for what never comes
		l := newLab(x, 1)
		s := semaphore.New(1)
		s.TryAcquire(1)
		f := new(semaphore.AcquireFuture)
		f.Init(s, 1)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, f) {
				return false
			}
			l.Assert(cx.Err() == ErrCancelled, "not cancelled")
			return true
		})
		l.spawn(t)
		l.start()
		x.Go("canceller", t.Cancel)
		x.Wait()
		s.Release(1)
		x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost")
		l.finish()
	}, 0},
	{"cancel/against a grant", func(x *interleave.Run) {
		l := newLab(x, 1)
		s := semaphore.New(1)
		s.TryAcquire(1)
		f := new(semaphore.AcquireFuture)
		f.Init(s, 1)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, f) {
				return false
			}
			if f.Err() == nil {
				s.Release(1)
			} else {
				l.Assert(cx.Err() == ErrCancelled, "not cancelled")
			}
			return true
		})
		l.spawn(t)
		l.start()
		x.Go("canceller", t.Cancel)
		x.Go("releaser", func() { s.Release(1) })
		x.Wait()
		x.Assert(s.Available() == 1 && s.Waiting() == 0, "a permit was lost")
		l.finish()
	}, 0},
	{"cancel/twice, against the end", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", func(_ *subject, cx *Context, polls int32) bool { return cx.Err() != nil || polls == 2 || cx.Yield() })
		l.spawn(t)
		l.start()
		x.Same(2, "canceller", func(int) { t.Cancel() })
		x.Wait()
		l.finish()
	}, 0},

	{"select/against grants", func(x *interleave.Run) { // two permits come at the same time: one wins, the other is given back
		l := newLab(x, 1)
		a, b := semaphore.New(1), semaphore.New(1)
		a.TryAcquire(1)
		b.TryAcquire(1)
		fa, fb := new(semaphore.AcquireFuture), new(semaphore.AcquireFuture)
		fa.Init(a, 1)
		fb.Init(b, 1)
		first := FirstOf(fa, fb)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, first) {
				return false
			}
			l.Assert(first.Err() == nil, "lost")
			[]*semaphore.Semaphore{a, b}[first.Index()].Release(1)
			return true
		})
		l.spawn(t)
		l.start()
		x.Go("a", func() { a.Release(1) })
		x.Go("b", func() { b.Release(1) })
		x.Wait()
		x.Assert(a.Available() == 1 && a.Waiting() == 0, "a's permit was lost")
		x.Assert(b.Available() == 1 && b.Waiting() == 0, "b's permit was lost")
		l.finish()
	}, 0},

	{"completion/against the end", func(x *interleave.Run) { // waited for by a thread of its own
		l := newLab(x, 1)
		t := l.task("t", once)
		var c Completion
		c.Init(&t.Task)
		l.spawn(t)
		l.start()
		x.Go("owner", func() {
			woken := interleave.NewSignal(1)
			for !c.Poll(waiter.WakerFunc(woken.TrySend)) {
				woken.Receive()
			}
			l.Assert(c.Err() == nil, "ended with %v", c.Err())
		})
		x.Wait()
		l.finish()
	}, 0},
	{"completion/cancelled", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", once)
		var c Completion
		c.Init(&t.Task)
		l.spawn(t)
		l.start()
		x.Go("owner", func() {
			if !c.Poll(nil) {
				c.Cancel()
				c.Cancel()
			}
			for !c.Poll(nil) {
				interleave.Yield()
			}
		})
		x.Wait()
		l.finish()
	}, 0},

	{"completion/done after a cancel", func(x *interleave.Run) {
		l := newLab(x, 1)
		t := l.task("t", once)
		var c Completion
		c.Init(&t.Task)
		l.spawn(t)
		l.start()
		x.Go("owner", func() {
			c.Done()
			c.Cancel()
			interleave.Receive(c.Done())
			c.Init(&t.Task) // the value comes a few instructions before the end
			l.Assert(c.Err() == nil, "ended with %v", c.Err())
		})
		x.Wait()
		l.finish()
	}, 0},
	{"shutdown/against a spawn", func(x *interleave.Run) { // a task is refused, or waited for
		l := newLab(x, 1)
		t, u := l.task("t", once), l.task("u", once)
		l.spawn(t)
		l.start()
		x.Go("closer", l.ex.close)
		x.Go("spawner", func() {
			if l.ex.Spawn(u) != nil {
				l.ended()
			}
		})
		x.Wait()
		select {
		case <-l.ex.drained:
		default:
			x.Fail("not drained")
		}
		l.finish()
	}, 0},
	{"shutdown/cancels", func(x *interleave.Run) { // it reaches a task that waits, and one that is about to
		l := newLab(x, 1)
		t := l.task("t", func(_ *subject, cx *Context, _ int32) bool { return cx.Err() != nil })
		l.spawn(t)
		l.start()
		x.Go("closer", func() { l.ex.close(); l.ex.cancelAll() })
		x.Wait()
		l.finish()
	}, 0},

	{"dump/against a wake", func(x *interleave.Run) {
		l := newLab(x, 1)
		var told interleave.Bool
		t := l.task("t", func(*subject, *Context, int32) bool { return told.Load() })
		l.spawn(t)
		l.start()
		x.Go("waker", func() { told.Store(true); t.Wake() })
		x.Go("dumper", func() { l.ex.Dump() })
		x.Wait()
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
		x.Wait()
		l.finish()
	}, 0},
	{"join/against cancel", func(x *interleave.Run) { // of two permits one has come when the task is cancelled, or none, or both
		l := newLab(x, 1)
		s := semaphore.New(2)
		s.TryAcquire(2)
		fa, fb := new(semaphore.AcquireFuture), new(semaphore.AcquireFuture)
		fa.Init(s, 1)
		fb.Init(s, 1)
		all := AllOf(fa, fb)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, all) {
				return false
			}
			if all.Err() == nil {
				s.Release(2)
			}
			return true
		})
		l.spawn(t)
		l.start()
		x.Go("releaser", func() { s.Release(1); s.Release(1) })
		x.Go("canceller", t.Cancel)
		x.Wait()
		x.Assert(s.Available() == 2 && s.Waiting() == 0, "a permit was lost")
		l.finish()
	}, 0},
	{"park/spawn of two", func(x *interleave.Run) {
		l := newLab(x, 2)
		t, u := l.task("t", once), l.task("u", once)
		l.start()
		x.Go("spawner", func() { l.spawn(t); l.spawn(u) })
		x.Wait()
		l.finish()
	}, 2},
	{"park/overflow", func(x *interleave.Run) { // one task fills its worker's queue, and more
		l := newLab(x, 2)
		var children []*subject
		for range ringSize + 2 {
			children = append(children, l.task("child", once))
		}
		l.spawn(l.task("parent", func(_ *subject, cx *Context, _ int32) bool {
			for _, c := range children {
				l.Assert(cx.Spawn(c) == nil, "spawn refused")
			}
			return true
		}))
		l.start()
		x.Wait()
		l.finish()
	}, 2},
	{"park/spawn of two that need each other", func(x *interleave.Run) { // while workers fall asleep
		l := newLab(x, 2)
		var here interleave.Int32
		meet := func(*subject, *Context, int32) bool {
			here.Add(1)
			for here.Load() < 2 {
				interleave.Yield()
			}
			return true
		}
		t, u := l.task("t", meet), l.task("u", meet)
		l.start()
		x.Go("spawner", func() { l.spawn(t); l.spawn(u) })
		x.Wait()
		l.finish()
	}, 2},
	{"park/wake and spawn", func(x *interleave.Run) {
		l := newLab(x, 2)
		var told interleave.Bool
		t := l.task("t", func(*subject, *Context, int32) bool { return told.Load() })
		u := l.task("u", once)
		l.spawn(t)
		l.start()
		x.Go("waker", func() { told.Store(true); t.Wake() })
		x.Go("spawner", func() { l.spawn(u) })
		x.Wait()
		l.finish()
	}, 2},
}

// The largest, sampled.
var tierThree = []experiment{
	{"park/three workers", func(x *interleave.Run) {
		l := newLab(x, 3)
		var ran interleave.Int32
		wait := func(n int32) func(*subject, *Context, int32) bool {
			return func(*subject, *Context, int32) bool {
				ran.Add(1)
				for ran.Load() < n {
					interleave.Yield()
				}
				return true
			}
		}
		for range 3 { // all three have to be polled at the same time
			l.spawn(l.task("t", wait(3)))
		}
		l.start()
		x.Wait()
		l.finish()
	}, 0},
	{"hand-off/two workers", func(x *interleave.Run) { // tasks that take turns on a permit, and yield while they hold it
		l := newLab(x, 2)
		s := semaphore.New(1)
		var holding interleave.Int32
		for range 3 {
			f := new(semaphore.AcquireFuture)
			f.Init(s, 1)
			holds := false // the task's own
			l.spawn(l.task("t", func(me *subject, cx *Context, _ int32) bool {
				if !holds {
					if !me.poll(cx, f) {
						return false
					}
					l.Assert(f.Err() == nil, "not granted")
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
		x.Wait()
		x.Assert(s.Available() == 1, "a permit was lost")
		l.finish()
	}, 0},
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
