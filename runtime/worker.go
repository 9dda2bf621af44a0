package rt

import (
	"runtime/debug"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

const (
	// maxRunNext is how many tasks of the inbox may run in a row ahead of the queue of the worker.
	maxRunNext = 3
	// budget is how many futures a task may find complete in one poll before it has to yield.
	budget = 128
)

// A worker is a goroutine that polls tasks, one at a time. It takes its tasks, in this order, from
//
//   - its inbox: woken tasks that it polled last. The oldest runs next, ahead of the queue, because
//     its data is in the cache and because a task that wakes another usually waits for it; but at
//     most maxRunNext times in a row;
//   - its own queue: the rest of the inbox, tasks that yielded, tasks that a task has spawned;
//   - the injection queue, and half of the queue of another worker.
//
// If a poll takes long, the monitor moves the tasks of the worker to the injection queue.
//
// Fields that are not atomic belong to the goroutine of the worker. The field searching of a
// sleeping worker is guarded by the lock of the idle workers.
type worker struct {
	inbox   inbox
	sleeper xsync.Sleeper // a token for each successful inbox.wake or push to a sleeping inbox
	ex      *scheduler
	id      uint32
	solo    bool // the only worker: no goroutine steals, and its queue is a plain list

	list list // the queue if solo
	cx   Context

	tick      uint32
	runNext   int  // how many tasks have run ahead of the queue in a row
	searching bool // counted in idle.word
	listed    bool // in idle.sleepers; guarded by its lock

	asked xsync.Bool // set by the monitor, cleared by the worker between two polls

	panicked *PanicError // the panic of the straight-line task that is being polled

	counts     counts
	attendance attendance

	ring ring // the queue, unless solo
}

// enqueue puts a woken task into the inbox of w.
func (w *worker) enqueue(t *Task) {
	if w.inbox.push(t) {
		w.sleeper.Wake(xsync.Token)
	}
}

// work polls tasks until the executor stops. A panic ends a shift only.
func (w *worker) work() {
	for w.shift() {
	}
	w.leave()
}

// shift polls tasks until the executor stops or a task panics. It reports whether to go on.
func (w *worker) shift() (again bool) {
	ended := false
	defer func() {
		switch r := recover(); {
		case ended:
			w.ex.workerEnded()
		case w.cx.task == nil: // not in a poll: a waker, a handler or this package has panicked
			if r == nil {
				r = "rt: a waker or a panic handler has called Goexit"
			}
			panic(r)
		case r != nil:
			again = true
			w.finish(w.cx.task, &PanicError{Value: r, Stack: debug.Stack()})
		default: // runtime.Goexit ends the goroutine: another one continues
			w.finish(w.cx.task, ErrGoexit)
			w.leave()
			w.ex.replace(w)
		}
	}()
	w.serve()
	ended = true
	return false
}

// serve polls tasks until the executor stops.
func (w *worker) serve() {
	for t := w.next(); t != nil; t = w.next() {
		w.poll(t)
	}
}

// next returns a task to poll, and sleeps until there is one. It returns nil when the executor has
// stopped.
func (w *worker) next() *Task {
	for {
		if t := w.find(); t != nil {
			w.endSearch()
			return t
		}
		if !w.sleep() {
			return nil
		}
	}
}

// find returns a task to poll, or nil.
func (w *worker) find() *Task {
	w.tick++
	if w.asked.Load() {
		w.asked.Store(false)
	}
	if w.tick%injectionEvery == 0 {
		w.counts.publish()
		if t := w.ex.injection.pop(); t != nil {
			return t
		}
	}
	if t := w.receive(); t != nil {
		return t
	}
	if t := w.pop(); t != nil {
		w.runNext = 0
		return t
	}
	return w.search()
}

// receive empties the inbox into the queue. It returns the task to run ahead of the queue, or nil
// if there is none or the queue has its turn.
func (w *worker) receive() *Task {
	if w.inbox.top.Load() == nil {
		return nil
	}
	l := w.inbox.takeAll()
	var t *Task
	if w.runNext < maxRunNext {
		w.runNext++
		t = l.popFront()
	}
	w.pushAll(&l)
	return t
}

// pushAll puts the tasks of l behind the worker's queue.
func (w *worker) pushAll(l *list) {
	for l.head != nil {
		w.push(l.popFront())
	}
}

// push puts a task behind the worker's queue.
func (w *worker) push(t *Task) {
	if w.solo {
		w.list.pushBack(t)
		return
	}
	if w.ring.push(t) {
		return
	}
	// No room: half of the queue goes to the injection queue.
	var l list
	for l.size < ringSize/2 {
		older := w.ring.pop()
		if older == nil {
			break // stolen meanwhile
		}
		l.pushBack(older)
	}
	l.pushBack(t)
	w.ex.injection.append(&l)
}

func (w *worker) pop() *Task {
	if w.solo {
		return w.list.popFront()
	}
	return w.ring.pop()
}

// search looks for a task outside the worker.
func (w *worker) search() *Task {
	ex := w.ex
	if t := ex.injection.take(w); t != nil {
		return t
	}
	if w.solo {
		return nil
	}
	if !w.searching {
		w.searching = true
		ex.idle.word.Add(oneSearching)
	}
	n := uint32(len(ex.workers))
	for i := uint32(1); i < n; i++ {
		from := ex.workers[(w.id+i)%n]
		if t, stolen := from.ring.take(&w.ring); t != nil {
			w.counts.steals += uint64(stolen)
			return t
		}
	}
	return ex.injection.take(w) // again: a task may have come meanwhile, and the look is cheap
}

// endSearch is called with a task to poll. If this was the last searching worker, callers that have
// added work since relied on it; so it wakes another worker if there is more work.
func (w *worker) endSearch() {
	if w.solo {
		return
	}
	if w.searching {
		w.searching = false
		w.ex.idle.sub(oneSearching)
	} else if w.ring.empty() {
		return
	}
	w.ex.offer()
}

// poll polls t, which the worker has taken from a queue.
func (w *worker) poll(t *Task) {
	if t.state.Load() != taskAlive|1 {
		t.state.Store(taskAlive | 1)
	}
	if t.home.Load() != w.id {
		t.home.Store(w.id)
	}
	w.counts.polls++
	cx := &w.cx
	cx.task, cx.left, cx.again = t, budget, false
	attended := w.attendance.wanted.Load()
	if attended {
		w.begin(t)
	}
	done := t.poller.Poll(cx)
	if attended {
		w.end()
	}
	switch {
	case done && w.panicked != nil:
		e := w.panicked
		w.panicked = nil
		w.finish(t, e)
	case done:
		w.finish(t, nil)
	case cx.again:
		w.push(t)
	case t.state.CompareAndSwap(taskAlive|1, taskAlive):
		// It waits, and belongs to its next waker.
	default: // woken meanwhile
		t.state.Store(taskAlive | 1)
		w.push(t)
	}
	cx.task = nil
}

// finish ends the life of t, which the worker has polled.
func (w *worker) finish(t *Task, err error) {
	w.cx.task = nil
	ex := w.ex
	if w.attendance.row != nil || ex.watch != nil { // whether or not somebody still looks
		w.end() // unless it has returned
		if ex.watch != nil {
			ex.watch.ended(t)
		}
	}
	t.endContext() // before anyone can observe the end
	s := &ex.shards[t.shard]
	var wakes waiting.WakeList
	s.mu.Lock()
	s.remove(t)
	e, _ := err.(*PanicError) //nolint:errorlint // it is made by the worker
	if err != nil {
		t.extra().err = err
	}
	if m := t.more; m != nil {
		if e != nil {
			ex.panics.ended(e, t.name(), m.joiners.Len())
		}
		for j := m.joiners.PopFront(); j != nil; j = m.joiners.PopFront() {
			j.N = 1 // Wake counts the permits of waits that were given up.
			wakes.Add(j, waiting.Granted)
		}
	}
	t.waits = nil
	if t.row.Load() != nil {
		t.row.Store(nil)
	}
	closed := s.closed
	t.state.Store(0)
	s.mu.Unlock() // from here on t belongs to its owner
	w.counts.ended++
	for wakes.Wake() > 0 { // One turn for each wait that was given up.
		if e != nil {
			ex.panics.gone(e)
		}
	}
	if e != nil {
		ex.panics.gone(e)
	}
	if closed {
		ex.taskEnded()
	}
}
