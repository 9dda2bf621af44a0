package rt

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Poller is a poll task: an object of its owner's, with a [Task] embedded, that does its work in
// steps.
//
// Poll takes the task as far as it can go without waiting, and returns true when it has ended. To
// wait it calls [Context.Poll] with a future, and returns false if that is not complete: it is
// called again when it is. Poll is never called by two goroutines at once, and what one call has
// written the next one sees.
type Poller interface {
	Poll(cx *Context) bool

	base() *Task
}

// A Task is the part of a poll task that the executor needs. It is embedded, so that scheduling and
// waiting allocate nothing:
//
//	type job struct {
//		rt.Task
//		permit semaphore.AcquireFuture
//	}
//
//	func (j *job) Poll(cx *rt.Context) bool {
//		if !cx.Poll(&j.permit) {
//			return false // called again when the permit is there
//		}
//		...
//		return true
//	}
//
// The zero Task is ready for [Executor.Spawn]. When the task has ended it may be spawned again. It
// must not be copied after that.
//
// # State
//
// The state word counts the wakes that are not answered yet, and has a bit for whether the task
// lives:
//
//	alive  count  the task is                           who moves it, and to what
//	0      any    not spawned, or ended                 Spawn: alive, 1
//	1      0      waiting: in no queue, nobody polls    Wake: 1, and queues it
//	1      1      in a queue, or being polled           Wake: 2; worker: 0 after the poll; ended
//	1      2...   the same, and woken since             worker: 1, before a poll or instead of 0
//
// Invariants:
//
//  1. A live task whose count is not 0 is in exactly one queue or being polled by exactly one
//     worker: only the step from 0 to 1 puts it into a queue, and only the worker takes the count
//     back to 0. (TestModel/wake)
//  2. A wake that comes after the beginning of a poll leads to another poll: it finds a count of 0
//     or 1, and changes it, or finds one that somebody else has changed since. (TestModel/wake)
//  3. The fields next, poller and ex are written before the task is in a queue and by whoever has
//     it from there.
type Task struct {
	_ noCopy

	next   *Task // in a list of tasks
	poller Poller
	ex     *Executor
	state  xsync.Uint32
	home   xsync.Uint32 // the worker that polled it last: whose inbox a wake puts it into

	flags xsync.Uint32 // of this life: flagCancelled, flagContext
	shard uint32       // which shard of the registry has it

	older, newer *Task // the registry's list, guarded by the shard's lock
	waits        any   // what it polled last without success; only whoever has the task may touch it
	more         *more // guarded by the shard's lock
}

// more is what most tasks do not need.
type more struct {
	name    string
	err     error        // how it ended
	joiners waiter.Queue // who waits for its end

	// The context of this life; nil if nobody has asked for one. Written by who has the task.
	context xsync.Pointer[taskContext]
}

const (
	taskAlive uint32 = 1 << 31
	taskCount        = taskAlive - 1
)

const (
	flagCancelled uint32 = 1 << iota // Cancel was called
	flagContext                      // more.context was set, and more stays where it is
)

// isCancelled reports whether the task has been asked to end.
func (t *Task) isCancelled() bool { return t.flags.Load()&flagCancelled != 0 }

func (t *Task) base() *Task { return t }

// Wake has the task polled again. It may be called from any goroutine, at any time and any number
// of times: a task that has ended, or was not spawned, does not mind. It is what futures call: see
// [waiter.Waker].
//
// What happened before Wake happens before the Poll that it leads to.
//
// A future that the task waits for gets the waker of [Context.Waker] instead, which knows whose it
// is.
func (t *Task) Wake() { t.waker().Wake() }

// A taskWaker is a task as the waker of a future. It is a type of its own, so that what
// [waiter.Owner] asks for is no method of every user's task.
type taskWaker Task

func (t *Task) waker() *taskWaker { return (*taskWaker)(t) }

// Wake implements [waiter.Waker].
func (t *taskWaker) Wake() {
	for { // Each turn follows another one's wake, or the end of a poll.
		s := t.state.Load()
		if s&taskAlive == 0 || s&taskCount > 1 {
			return
		}
		if !t.state.CompareAndSwap(s, s+1) {
			continue
		}
		if s == taskAlive {
			t.ex.workers[t.home.Load()].enqueue((*Task)(t))
		}
		return
	}
}

// Displaced implements [waiter.Owner]. It panics if a future that waits for this task is polled
// by another task, or by a goroutine in [BlockOn].
func (t *taskWaker) Displaced(by waiter.Waker) {
	if t.state.Load()&taskAlive != 0 {
		displaced(t, by)
	}
}

// displaced is called when a future that would wake w is about to wake by instead of it. It
// panics if that is somebody else: only one of the two would be woken. If it is not known who
// that is, w is woken, and polls the future again.
func displaced(w, by waiter.Waker) {
	switch by = partyOf(by); {
	case by == nil:
		w.Wake()
	case by != w:
		panic("rt: future polled by " + pairOf(w, by) + "; it must be cancelled in between")
	}
}

// partyOf returns who waits with w: a task, or a goroutine in BlockOn; nil if that is not known.
func partyOf(w waiter.Waker) waiter.Waker {
	if t := taskOf(w); t != nil {
		return t.waker()
	}
	if q, ok := w.(*part); ok {
		w = q.of.owner()
	}
	if g, ok := w.(goroutineWaker); ok {
		return g
	}
	return nil
}

func pairOf(a, b waiter.Waker) string {
	_, first := a.(*taskWaker)
	_, second := b.(*taskWaker)
	switch {
	case first && second:
		return "two tasks"
	case first || second:
		return "a task and a goroutine"
	default:
		return "two goroutines"
	}
}

// taskOf returns the task that w wakes, nil if it wakes something else.
func taskOf(w waiter.Waker) *Task {
	switch w := w.(type) {
	case *taskWaker:
		return (*Task)(w)
	case *Task: // its user has passed the task itself
		return w
	case *watched:
		return w.task
	case *part:
		return taskOf(w.of.owner())
	default:
		return nil
	}
}

// Abort asks the task to end. It learns of it when it waits next or already waits: the future is
// cancelled, which gives back what was being granted, and [Context.Err] and [Await] return
// [ErrCancelled]. A task that never waits never learns of it, unless it asks, or has given its
// [Context.Context] to what does. Abort does not wait; it may be called at any time and any
// number of times.
func (t *Task) Abort() {
	if t.flags.Or(flagCancelled)&flagContext != 0 {
		c := t.more.context.Load()
		if c != nil && t.isCancelled() { // still: otherwise it is the context of the next life
			c.cancelled()
		}
	}
	t.Wake()
}

// noCopy has vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
