package rt

import (
	"context"
	"runtime/debug"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A JoinHandle is a straight-line task and its result. Any number of tasks ([JoinHandle.Await]) and
// goroutines ([JoinHandle.Wait], or [JoinHandle.Done] in a select) may wait for the task, and each
// gets the result.
//
// A JoinHandle is also a [Future] that completes with the end of the task, for [Select], [Join],
// [Timeout] and so on. As a Future, by Poll and Release, it has one owner at a time. Several tasks
// that select on one task use a [Completion] each.
//
// [JoinHandle.Release] stops waiting for the task. [JoinHandle.Abort] aborts the task.
type JoinHandle[T any] struct {
	straight straight
	end      Completion    // of the owner of the handle as a Future
	done     chan struct{} // made by the first Done; guarded by the shard's lock
	fn       func(cx *Context) (T, error)
	value    T
	err      error
}

// Go starts fn as a task of ex. If ex has been shut down, fn is not called, and the handle is
// complete with [ErrShutdown].
//
// fn is written like the function of a goroutine. Where a goroutine would block, fn calls [Await],
// [Select], [Sleep] and so on; meanwhile it holds a coroutine with its stack, but no worker. Code
// that blocks in other ways (network reads, channels, a sync.Mutex that is held for long) belongs
// in [Blocking]. A panic in fn ends the task and becomes its error. If no goroutine waits for the
// task, the panic is reported: see [WithPanicHandler].
//
// fn must not call runtime.LockOSThread. Go allocates the task; waiting allocates nothing.
func Go[T any](ex *Executor, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	return GoNamed(ex, "", fn)
}

// GoNamed is [Go] with a name for the task, for [Executor.Dump] and the watchdog. Poll tasks have
// [Task.SetName].
func GoNamed[T any](ex *Executor, name string, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	if ex == nil {
		panic("rt: Go on a nil executor")
	}
	if fn == nil {
		panic("rt: Go of a nil function")
	}
	h := &JoinHandle[T]{fn: fn}
	h.straight.body = h
	if name != "" {
		h.straight.SetName(name)
	}
	h.end.Init(&h.straight.Task)
	if err := ex.Spawn(&h.straight); err != nil {
		h.err = err
	}
	return h
}

// run is the life of the task, on its coroutine.
func (h *JoinHandle[T]) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			e := &PanicError{Value: r, Stack: debug.Stack()}
			h.err = e
			h.straight.cx.w.panicked = e
		} else {
			h.err = ErrGoexit // The Goexit goes on through the coroutine to the worker.
			h.straight.cx.task, h.straight.cx.co = nil, nil
		}
	}()
	h.straight.cx.co.sit(&h.straight.Task)
	if h.err = h.straight.cx.Err(); h.err == nil {
		h.value, h.err = h.fn(&h.straight.cx)
	}
	returned = true
}

// Poll reports whether the task has ended. See [Future].
func (h *JoinHandle[T]) Poll(w waiter.Waker) bool {
	h.task()
	return h.end.Poll(w)
}

// Err returns the error of the task: that of its function, a [*PanicError], [ErrGoexit],
// [ErrCancelled] if it was aborted before it began, or [ErrShutdown]. It returns
// [waiter.ErrPending] if the task has not ended. Anyone may ask, whatever the owner of the handle
// as a Future does.
func (h *JoinHandle[T]) Err() error {
	if !h.ended() {
		return waiter.ErrPending
	}
	return askedFor(h.err)
}

// Result returns what the task's function returned, or an error as from [JoinHandle.Err].
func (h *JoinHandle[T]) Result() (T, error) {
	if !h.ended() {
		var none T
		return none, waiter.ErrPending
	}
	return h.value, askedFor(h.err)
}

// ended reports whether the task has ended. The node of the owner may not have its outcome yet.
func (h *JoinHandle[T]) ended() bool { return h.task().state.Load()&taskAlive == 0 }

// Done returns a channel that is closed when the task has ended. All calls return the same channel;
// the first call allocates it.
func (h *JoinHandle[T]) Done() <-chan struct{} {
	t := h.task()
	s := t.registered()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.done == nil {
		h.done = make(chan struct{})
		c := &closer{c: h.done}
		c.node.Arm(c)
		if !t.joinLocked(&c.node) {
			close(h.done)
		}
	}
	return h.done
}

// A closer closes a channel at the end of a task.
type closer struct {
	node waiting.Waiter
	c    chan struct{}
}

// Wake implements [waiter.Waker].
func (c *closer) Wake() { close(c.c) }

// Release stops the wait of the owner that has polled the handle. The task goes on, and so do all
// other waits for it. [Select] calls it on a handle that has lost. [JoinHandle.Abort] ends the task
// itself.
func (h *JoinHandle[T]) Release() {
	h.task()
	h.end.Release()
}

// Abort asks the task to end, as [Task.Abort] does.
func (h *JoinHandle[T]) Abort() { h.task().Abort() }

// Await waits in a task for the task of the handle, and returns its result. If the waiting task is
// aborted, Await returns [ErrCancelled] and the other task goes on. The first wait for a task
// allocates a few words, which later waits use again.
func (h *JoinHandle[T]) Await(cx *Context) (T, error) {
	c := completions.Get().(*Completion)
	c.Init(h.task())
	err := Await(cx, c)
	c.recycle()
	if err == ErrCancelled { //nolint:errorlint // of this task: how the other one ended may wrap it
		var none T
		return none, err
	}
	return h.value, askedFor(h.err)
}

// Wait waits in a goroutine for the task, and returns its result. If ctx is done first, Wait
// returns ctx.Err and the task goes on. A cancel of ctx that happened before the end wins. Wait in
// a task would block its worker. It allocates no more than [JoinHandle.Await].
func (h *JoinHandle[T]) Wait(ctx context.Context) (T, error) {
	if ctx == nil {
		panic("rt: Wait with a nil context")
	}
	if err := h.task().waitEnd(ctx); err != nil {
		var none T
		return none, err
	}
	return h.value, askedFor(h.err)
}

// task returns the task. It panics if Go did not make the handle.
func (h *JoinHandle[T]) task() *Task {
	if h.straight.body == nil {
		panic("rt: use of a JoinHandle that Go has not made")
	}
	return &h.straight.Task
}

// straight is a straight-line task: a poll task whose Poll runs a coroutine until it waits.
type straight struct {
	Task
	cx   Context
	body body
}

// Poll implements [Poller].
func (s *straight) Poll(w *Context) bool {
	if s.cx.co == nil {
		s.cx.co = w.w.ex.coroutines.get()
		s.cx.co.body = s.body
	}
	s.cx.task, s.cx.w, s.cx.left, s.cx.again = &s.Task, w.w, w.left, false
	s.cx.co.resume()
	s.cx.task = nil
	if s.cx.co.body != nil {
		w.again = s.cx.again
		return false
	}
	co := s.cx.co
	s.cx.co = nil
	w.w.ex.coroutines.put(co)
	return true
}

// straightLine returns the task, which must be a straight-line task that is running.
func (cx *Context) straightLine() *Task {
	t := cx.current()
	if cx.co == nil {
		panic("rt: Await in a poll task: only straight-line tasks can wait in the middle of a function")
	}
	return t
}

// pause hands the worker back until the task is polled again.
func (cx *Context) pause() {
	cx.co.pause()
	if cx.w.attendance.wanted.Load() {
		cx.co.sit(cx.task)
	}
}
