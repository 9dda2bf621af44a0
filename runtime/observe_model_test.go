//go:build interleave

package rt

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/observed/agents"
)

// Scenarios of tasks that are observed. That they are begins and ends at every step of their lives.
// No task is lost, polled without a reason or left with a row, and who looks sees what there is.

// timed returns a lab whose clock has begun.
func timed(l *lab) *lab {
	l.now.Store(1)
	l.Clock(&l.now)
	return l
}

// row returns what an observer is told of a task, the only one.
func (l *lab) row() agents.Task {
	all := l.ex.read().Tasks
	l.Assert(len(all) == 1, "%d tasks", len(all))
	return all[0]
}

// isMe says that a question on the goroutine of the caller is answered with t.
func (l *lab) isMe(t *Task) {
	r := t.row.Load()
	l.Assert(r != nil && r.running.Load(), "a task that is polled does not run")
	l.Assert(taskOn(agents.Goroutine()) == r.id, "taken for task %d, not %d", taskOn(agents.Goroutine()), r.id)
}

// requireNoRow says that tasks that have ended, or are not observed any more, have no row, and that
// no worker thinks that it polls one.
func (l *lab) requireNoRow(tasks ...*Task) {
	for _, t := range tasks {
		l.Assert(t.row.Load() == nil, "a row is left")
	}
	for _, w := range l.ex.workers {
		l.Assert(w.attendance.row == nil, "a worker still attends a task")
	}
}

// lastOf returns what each of n threads calls in the end. The last one tells t to end, which waits,
// and is not observed any more. Nobody else has woken it.
func (l *lab) lastOf(n int32, t *subject, tell func()) (end func()) {
	var parties interleave.Int32
	return func() {
		if parties.Add(1) < n {
			return
		}
		await(func() bool { return t.state.Load() == taskAlive })
		l.requireNoRow(&t.Task)
		l.Assert(t.polls.Load() == 1, "%d polls", t.polls.Load())
		tell()
	}
}

// shift is serve, and ends the task that panics with boo, as [worker.shift] does. What the explorer
// unwinds with passes.
func (l *lab) shift(w *worker) (again bool) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case boo:
			again = true
			w.finish(w.cx.task, &PanicError{Value: r})
		default:
			panic(r)
		}
	}()
	w.serve()
	return false
}

const boo = "boo"

var observing = []experiment{
	{"observed/wake", func(x *interleave.Run) { // from its spawn to its end
		l := timed(newLab(x, 1))
		t, tell := l.told()
		x.Go("observer", func() { l.ex.observe(true); l.ex.read(); l.ex.observe(false) })
		l.start(t)
		x.Go("waker", tell)
		l.finish()
		x.Assert(t.polls.Load() <= 2, "%d polls", t.polls.Load())
		l.requireNoRow(&t.Task)
	}, 0},
	{"observed/a task that waits", func(x *interleave.Run) { // it is left as it was
		l := timed(newLab(x, 1))
		t, tell := l.told()
		l.start(t)
		x.Go("observer", func() {
			await(func() bool { return t.state.Load() == taskAlive })
			l.ex.observe(true)
			s := l.row()
			l.Assert(s.State == "waiting" && s.Polls == 0, "%s after %d polls", s.State, s.Polls)
			l.ex.observe(false)
			l.requireNoRow(&t.Task)
			tell()
		})
		l.finish()
		x.Assert(t.polls.Load() == 2, "%d polls", t.polls.Load())
		l.requireNoRow(&t.Task)
	}, 0},
	{"observed/spawn beside the end of it", func(x *interleave.Run) {
		l := timed(newLab(x, 1))
		t, tell := l.told()
		end := l.lastOf(2, t, tell)
		l.start()
		x.Go("spawner", func() { l.spawn(t); end() })
		x.Go("observer", func() { l.ex.observe(true); l.ex.observe(false); end() })
		l.finish()
	}, 0},
	{"observed/read beside the end of it", func(x *interleave.Run) {
		l := timed(newLab(x, 1))
		t, tell := l.told()
		l.ex.observe(true)
		end := l.lastOf(2, t, tell)
		l.start(t)
		x.Go("reader", func() { l.ex.read(); end() })
		x.Go("observer", func() { l.ex.observe(false); end() })
		l.finish()
	}, 0},
	{"observed/parks on a lock", func(x *interleave.Run) {
		l := timed(newLab(x, 1))
		s := held(1)
		f := request(s)
		t := l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, f) {
				return false
			}
			f.Release()
			return true
		})
		x.Go("observer", func() { l.ex.observe(true); l.ex.observe(false) })
		l.start(t)
		x.Go("releaser", func() { s.Release(1) })
		l.finish()
		x.Assert(t.polls.Load() <= 2, "%d polls", t.polls.Load())
		l.requireIdle(s)
		l.requireNoRow(&t.Task)
	}, 0},
	{"observed/knows itself", func(x *interleave.Run) { // whatever was seen of it before
		l := timed(newLab(x, 1))
		told := new(interleave.Bool)
		t := l.task("t", func(s *subject, _ *Context, _ int32) bool {
			if !told.Load() {
				return false
			}
			l.isMe(&s.Task)
			l.Assert(l.row().State == "running", "it does not run")
			return true
		})
		x.Go("observer", func() {
			l.ex.observe(true)
			l.ex.observe(false)
			l.ex.observe(true)
			await(func() bool { return t.state.Load() == taskAlive })
			l.Assert(l.row().State == "waiting", "it does not wait")
			told.Store(true)
			t.Waker().Wake()
		})
		l.start(t)
		l.finish()
		x.Assert(t.polls.Load() == 2, "%d polls", t.polls.Load())
		l.requireNoRow(&t.Task)
	}, 0},
	{"observed/knows itself, in a straight line", func(x *interleave.Run) {
		l := timed(newTasks(x))
		s := held(1)
		var h *JoinHandle[int]
		h = Go(l.ex, func(cx *Context) (int, error) {
			err := Await(cx, request(s))
			l.isMe(&h.straight.Task)
			return 7, err
		})
		t := &h.straight.Task
		x.Go("observer", func() {
			l.ex.observe(true)
			l.ex.observe(false)
			l.ex.observe(true)
			await(func() bool { return t.state.Load() == taskAlive })
			l.Assert(l.row().State == "waiting", "it does not wait")
			s.Release(1)
		})
		l.wait(context.Background(), h, l.seven)
		l.start()
		l.finish()
		l.requireNoRow(t)
	}, 0},
	{"observed/panics", func(x *interleave.Run) { // and what its worker polls next is not taken for it
		l := timed(newLab(x, 1))
		l.panics()
		var off interleave.Bool
		t := l.task("t", func(*subject, *Context, int32) bool { l.ended(); panic(boo) })
		u := l.task("u", func(*subject, *Context, int32) bool {
			if off.Load() {
				l.Assert(taskOn(agents.Goroutine()) == 0, "taken for another task")
			}
			return true
		})
		l.spawn(t)
		x.Go("observer", func() { l.ex.observe(true); l.ex.observe(false); off.Store(true); l.spawn(u) })
		x.Go("w0", func() {
			w := l.ex.workers[0]
			defer w.leave()
			for l.shift(w) { // One turn for each panic.
			}
		})
		l.finish()
		l.requireNoRow(&t.Task, &u.Task)
	}, 0},
	{"observed/spawn that is refused", func(x *interleave.Run) {
		l := timed(newLab(x, 1))
		t, u := l.task("t", once), l.task("u", once)
		l.start(t)
		x.Go("observer", func() { l.ex.observe(true); l.ex.observe(false) })
		x.Go("closer", l.ex.close)
		x.Go("spawner", func() {
			if l.ex.Spawn(u) != nil {
				l.Assert(u.row.Load() == nil, "a row is left")
				l.ended()
			}
		})
		l.finish()
		l.requireNoRow(&t.Task, &u.Task)
	}, 0},
}

func TestModelObserved(t *testing.T) {
	defer func() { coroutineThread = nil }()
	o := interleave.Options{}
	switch {
	case interleave.RaceEnabled:
		o = interleave.Options{Mode: interleave.Bounded, Bound: 1}
	case testing.Short():
		o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
	}
	run(t, o, observing)
}
