package rt

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Poller is a poll task: an object with an embedded [Task] that does its work in steps.
//
// Poll runs the task until it has to wait, and returns true when the task has ended. To wait, Poll
// calls [Context.Poll] with a future and returns false if the future is not complete. The executor
// calls Poll again when the future is worth polling. No two goroutines call Poll at the same time,
// and each call sees what the one before has written.
type Poller interface {
	Poll(cx *Context) bool

	base() *Task
}

// The state word of a task counts the wakes that are not answered yet. Its top bit says whether the
// task is alive:
//
//	alive  count  the task is                           who changes it, and to what
//	0      any    not spawned, or ended                 Spawn: alive, 1
//	1      0      waiting: in no queue, not polled      Wake: 1, and queues the task
//	1      1      queued, or being polled               Wake: 2; worker: 0 after the poll; ended
//	1      2...   queued or being polled, and woken     worker: 1, before a poll or instead of 0
//
// Invariants:
//
//  1. A live task whose count is not 0 is in exactly one queue, or exactly one worker polls it.
//     Only the step from 0 to 1 queues a task, and only its worker sets the count back to 0.
//     (TestModel/wake)
//  2. A wake after the beginning of a poll leads to another poll. It finds a count of 0 or 1 and
//     raises it, or a count that another wake since then has raised. (TestModel/wake)
//  3. The fields next, poller and ex are written before the task is queued, and after that only by
//     the goroutine that has taken the task.

// A Task is the part of a poll task that the executor needs. A poll task embeds it, so that
// scheduling and waiting allocate nothing:
//
//	type job struct {
//		rt.Task
//		permit waiter.Future
//	}
//
//	func (j *job) Poll(cx *rt.Context) bool {
//		if !cx.Poll(&j.permit) {
//			return false // called again when the permit is granted
//		}
//		...
//		return true
//	}
//
// The zero Task is ready for [Executor.Spawn]. A task that has ended may be spawned again. A Task
// must not be copied after its first use.
type Task struct {
	_ noCopy

	next   *Task // in a list of tasks
	poller Poller
	ex     *Executor
	state  xsync.Uint32
	home   xsync.Uint32 // the worker that polled it last; a wake puts the task into its inbox

	flags xsync.Uint32 // of this life: flagCancelled, flagContext
	shard uint32       // the shard of the registry that lists the task

	older, newer *Task // the registry's list, guarded by the shard's lock
	waits        any   // the future of the last poll, if incomplete; owned by the taker of the task
	more         *more // guarded by the shard's lock

	row xsync.Pointer[row] // nil unless the executor is observed
}

// more holds the fields that most tasks do not need.
type more struct {
	name    string
	err     error         // how it ended
	joiners waiting.Queue // the waits for its end

	// The context of this life, nil if it was not asked for. Written by the goroutine that has
	// taken the task.
	context xsync.Pointer[taskContext]
}

const (
	taskAlive uint32 = 1 << 31
	taskCount        = taskAlive - 1
)

const (
	flagCancelled uint32 = 1 << iota // Abort was called
	flagContext                      // more.context was set, and more stays where it is
)

// isCancelled reports whether the task was asked to end.
func (t *Task) isCancelled() bool { return t.flags.Load()&flagCancelled != 0 }

func (t *Task) base() *Task { return t }

// Waker returns the waker of the task, which is also that of [Context.Waker]. Its Wake has the
// executor poll the task again. Any goroutine may call Wake, at any time and any number of times.
// On a task that has ended or was never spawned it does nothing. It allocates nothing.
//
// A call of Wake synchronizes before the Poll that it causes.
func (t *Task) Waker() waiter.Waker { return t.waker() }

// taskWaker is a task as the waker of a future. It is a type of its own so that the methods of
// [waiting.Owner] are not promoted to the types of poll tasks. A poll task is no waker itself:
// otherwise it could be passed to a future that cannot distinguish it from another task.
type taskWaker Task

func (t *Task) waker() *taskWaker { return (*taskWaker)(t) }

// Wake implements [waiter.Waker].
func (t *taskWaker) Wake() {
	for { // Each turn follows another wake or the end of a poll.
		s := t.state.Load()
		if s&taskAlive == 0 || s&taskCount > 1 {
			return
		}
		if !t.state.CompareAndSwap(s, s+1) {
			continue
		}
		if r := t.row.Load(); r != nil {
			r.noteWake(s == taskAlive)
		}
		if s == taskAlive {
			t.ex.workers[t.home.Load()].enqueue((*Task)(t))
		}
		return
	}
}

// Displaced implements [waiting.Owner]. It panics if another task, or a goroutine in [BlockOn],
// polls a future that waits for this task.
func (t *taskWaker) Displaced(by waiting.Waker) {
	if t.state.Load()&taskAlive != 0 {
		displaced(t, by)
	}
}

// displaced is called when a poll is about to replace w, the waker of a waiting future, by another.
// It panics if that belongs to another task or goroutine: only one of the two would be woken. If
// the owner of the new waker is unknown, w is woken and polls the future again.
func displaced(w, by waiter.Waker) {
	switch by = partyOf(by); {
	case by == nil:
		w.Wake()
	case by != w:
		panic("rt: future polled by " + pairOf(w, by) + "; it must be released in between")
	}
}

// partyOf returns the waker of the task, or of the goroutine in BlockOn, that w wakes. It returns
// nil if that is unknown.
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

// taskOf returns the task that w wakes, or nil if it wakes something else.
func taskOf(w waiter.Waker) *Task {
	switch w := w.(type) {
	case *taskWaker:
		return (*Task)(w)
	case *watched:
		return w.task
	case *part:
		return taskOf(w.of.owner())
	default:
		return nil
	}
}

// Abort asks the task to end. The task learns of it in its current wait, or at its next one: the
// future is released and gives back what it was granted, and [Await] and [Context.Err] return
// [ErrCancelled]. A task that never waits learns of it only from Context.Err or its
// [Context.Context].
//
// Abort does not wait for the end of the task. Any goroutine may call it, at any time and any
// number of times.
func (t *Task) Abort() {
	if t.flags.Or(flagCancelled)&flagContext != 0 {
		c := t.more.context.Load()
		if c != nil && t.isCancelled() { // still: otherwise it is the context of the next life
			c.cancelled()
		}
	}
	t.waker().Wake()
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
