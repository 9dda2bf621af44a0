package rt

import (
	"context"
	"errors"
	"fmt"

	"github.com/farad-go/farad/waiter"
)

// A Context is a task's access to its executor. A poll task gets one with each call of Poll, for
// the time of that call. A straight-line task has one for its life. No other goroutine may use it,
// and none after that time.
type Context struct {
	task  *Task // nil while no task is being polled
	w     *worker
	left  int32 // of the budget
	again bool  // the task yields: poll it again when others have had their turn
	away  bool  // the task waits for a function of Blocking, which must not use the Context

	co    *coroutine // of a straight-line task
	timer Timer      // for its Sleep
}

// Executor returns the executor that runs the task.
func (cx *Context) Executor() *Executor { return cx.current().ex }

// Waker returns the waker that has the task polled again. A Poll that calls the Poll of a future
// itself passes this waker.
func (cx *Context) Waker() waiter.Waker { return cx.current().waker() }

// Err returns [ErrCancelled] if the task was asked to end, by [Task.Abort] or by a shutdown of the
// executor. Otherwise it returns nil.
func (cx *Context) Err() error {
	if cx.current().isCancelled() {
		return ErrCancelled
	}
	return nil
}

// Context returns a [context.Context] that ends when the task is aborted or has ended, at the
// earlier of the two. It is for calls that take a context, above all in [Blocking]:
//
//	ctx := cx.Context()
//	rows, err := rt.Blocking(cx, func() (*sql.Rows, error) { return db.QueryContext(ctx, query) })
//
// All calls in one life of the task return the same context, which any goroutine may use at any
// time. Its error is [context.Canceled]. Its [context.Cause] is [ErrCancelled] if the task was
// aborted, joined with the cause of the shutdown if that did it, and another error if the task has
// ended. Aborting a task that has ended does not change its context.
//
// [Task.Abort] ends the context before it returns. The end of a task ends its context before anyone
// can observe the end. The first call in a life allocates; a task that never calls Context pays
// nothing.
func (cx *Context) Context() context.Context {
	t := cx.current()
	if t.flags.Load()&flagContext != 0 {
		return t.more.context.Load().Context
	}
	c := &taskContext{ex: t.ex}
	c.Context, c.end = context.WithCancelCause(context.Background())
	s := t.registered()
	s.mu.Lock()
	m := t.extra()
	s.mu.Unlock()
	m.context.Store(c)
	if t.flags.Or(flagContext)&flagCancelled != 0 {
		c.cancelled()
	}
	return c.Context
}

// A taskContext is the context of one life of a task. Abort and the end of the task each end it at
// most once. Abort and Context both set a flag; the second to do so sees the flag of the other, and
// ends the context.
type taskContext struct {
	context.Context //nolint:containedctx // that is what it is

	end context.CancelCauseFunc
	ex  *Executor
}

// cancelled ends the context of a task that was aborted.
func (c *taskContext) cancelled() {
	cause := ErrCancelled
	if why := c.ex.cause.Load(); why != nil {
		cause = fmt.Errorf("%w: %w", ErrCancelled, why)
	}
	c.end(cause)
}

// endContext ends the context of a task that ends. The caller has taken the task.
func (t *Task) endContext() {
	if t.flags.Load()&flagContext != 0 {
		t.more.context.Swap(nil).end(errEnded)
	}
}

// errEnded is the cause of the context of a task that has ended.
var errEnded = errors.New("rt: task ended")

// Yield has the poll task polled again after the tasks that are queued:
//
//	return cx.Yield()
//
// It returns false. Straight-line tasks call the function [Yield].
func (cx *Context) Yield() bool {
	cx.current()
	cx.again = true
	return false
}

// Poll polls f for a poll task and reports whether the task may go on. After false the task returns
// false from its own Poll, and is polled again later. After true, f.Err says how f ended.
//
// If the task was aborted, Poll releases f and returns true.
// Then f.Err is [waiter.ErrPending] and [Context.Err] is [ErrCancelled].
//
// A task that finds 128 futures complete in one poll has to yield: Poll then returns false for a
// complete future. The future keeps its grant. Poll allocates nothing.
func (cx *Context) Poll(f Future) bool {
	t := cx.current()
	if f == nil {
		panic("rt: Poll of a nil future")
	}
	if t.isCancelled() {
		t.release(f)
		t.waits = nil
		return true
	}
	if !t.poll(f) {
		t.waits = f
		return false
	}
	if cx.spent() {
		return false
	}
	t.waits = nil
	return true
}

// Spawn is [Executor.Spawn] for use in a task: the new task joins the queue of the same worker.
func (cx *Context) Spawn(p Poller) error {
	w := cx.w
	t, err := cx.current().ex.admit(p)
	if err != nil {
		return err
	}
	w.push(t)
	if !w.solo {
		w.ex.notify()
	}
	return nil
}

// current returns the task.
func (cx *Context) current() *Task {
	if cx == nil {
		panic("rt: nil task context")
	}
	if cx.task == nil || cx.away {
		panic("rt: use of a task's Context outside the task")
	}
	return cx.task
}

// spent counts a future that was found complete, and reports whether the budget is used up. Then
// the task has to yield.
func (cx *Context) spent() bool {
	if cx.left--; cx.left >= 0 {
		return false
	}
	cx.again = true
	return true
}

// release releases a future that t may have polled.
func (t *Task) release(f Future) {
	f.Release()
	if wd := t.ex.watch; wd != nil {
		wd.forget(t, f)
	}
}

// poll polls f with the waker of t, or with one that the watchdog observes.
func (t *Task) poll(f Future) bool {
	if t.ex.attended.Load() {
		return t.pollAttended(f)
	}
	return f.Poll(t.waker())
}
