package rt

import (
	"context"
	"errors"
	"fmt"

	"github.com/farad-go/farad/waiter"
)

// A Context is a task's access to the executor that runs it. A poll task gets one with every Poll,
// for the time of that call; a straight-line task has one for its life. It must not be used by
// anybody else, or afterwards.
type Context struct {
	task  *Task // nil while no task is being polled
	w     *worker
	left  int32 // of the budget
	again bool  // poll at once again, or rather: as soon as others have had their turn
	away  bool  // the task waits for a function of Blocking, which must not use this

	co    *coroutine // of a straight-line task
	timer Timer      // for its Sleep
}

// Executor returns the executor that runs the task.
func (cx *Context) Executor() *Executor { return cx.current().ex }

// Waker returns what has the task polled again.
func (cx *Context) Waker() waiter.Waker { return cx.current().waker() }

// Err returns [ErrCancelled] if the task has been asked to end, by [Task.Abort] or by the
// executor's shutdown, and nil otherwise.
func (cx *Context) Err() error {
	if cx.current().isCancelled() {
		return ErrCancelled
	}
	return nil
}

// Context returns a [context.Context] that ends when the task is cancelled, or has ended,
// whichever comes first: for what the task has others do, in [Blocking] above all.
//
//	ctx := cx.Context()
//	rows, err := rt.Blocking(cx, func() (*sql.Rows, error) { return db.QueryContext(ctx, query) })
//
// It is the same in all calls of one life of the task, and may be used by anybody, at any time.
// Its Err is [context.Canceled]. [context.Cause] tells why: it is ErrCancelled if the task was
// cancelled, together with the cause of the context of the Shutdown that did it, and another
// error if the task has ended. The cancel of a task that has ended does not end its context
// again.
//
// A call of [Task.Abort] ends the context before it returns, and the end of a task before
// anybody learns of it. The first call in a task's life allocates; a task that never calls it
// pays nothing.
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

// A taskContext is the context of one life of a task, and what ends it: Cancel and the end of the
// task, once each or not at all. Whichever of Cancel and Context sets its flag second sees the
// other one's, and so ends the context.
type taskContext struct {
	context.Context //nolint:containedctx // that is what it is

	end context.CancelCauseFunc
	ex  *Executor
}

// cancelled ends the context of a task that has been cancelled.
func (c *taskContext) cancelled() {
	cause := ErrCancelled
	if why := c.ex.Cause(); why != nil {
		cause = fmt.Errorf("%w: %w", ErrCancelled, why)
	}
	c.end(cause)
}

// endContext ends the context of a task that ends. The caller has the task.
func (t *Task) endContext() {
	if t.flags.Load()&flagContext != 0 {
		t.more.context.Swap(nil).end(errEnded)
	}
}

// errEnded is why the context of a task that has ended is done.
var errEnded = errors.New("rt: task ended")

// Yield has the poll task polled again when others have had their turn:
//
//	return cx.Yield()
//
// It returns false. Straight-line tasks call the function [Yield].
func (cx *Context) Yield() bool {
	cx.current()
	cx.again = true
	return false
}

// Poll polls f for a poll task, and reports whether the task may go on. After false the task
// returns false from its own Poll, and is called again when it is worth coming back. After true,
// f.Err says how f ended.
//
// If the task has been cancelled, Poll cancels f, which gives back what was being granted, and
// returns true: Err of f is [waiter.ErrPending] then, and that of the context ErrCancelled.
//
// A task that finds very many futures complete in one poll is made to yield: then Poll returns
// false for a future that is complete. The future keeps what it has been granted, and its place in
// the queue if not.
func (cx *Context) Poll(f Future) bool {
	t := cx.current()
	if f == nil {
		panic("rt: Poll of a nil future")
	}
	if t.isCancelled() {
		t.cancel(f)
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

// Spawn is [Executor.Spawn] for a task: the new one is queued behind the others of the same worker.
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

// spent counts a future that was found complete, and reports whether the budget is used up: then
// the task has to hand its worker back, and is polled at once again.
func (cx *Context) spent() bool {
	if cx.left--; cx.left >= 0 {
		return false
	}
	cx.again = true
	return true
}

// cancel cancels a future that t may have polled.
func (t *Task) cancel(f Future) {
	f.Cancel()
	if wd := t.ex.watch; wd != nil {
		wd.forget(t, f)
	}
}

// poll polls f with t as its waker, or with one that the watchdog listens to.
func (t *Task) poll(f Future) bool {
	if wd := t.ex.watch; wd != nil {
		return wd.poll(t, f)
	}
	return f.Poll(t.waker())
}
