package runtime

import (
	"context"
	"runtime/debug"

	"github.com/farad-go/farad/waiter"
)

// A JoinHandle is a straight-line task and its result. It is a [Future] that completes when the task has ended; it is
// for one owner at a time, which may be a task ([JoinHandle.Await]) or a goroutine ([JoinHandle.Wait], or
// [JoinHandle.Done] in a select).
type JoinHandle[T any] struct {
	straight straight
	end      Completion
	fn       func(cx *Context) (T, error)
	value    T
	err      error
}

// Go starts fn as a task of ex. If ex has been shut down, fn is not called, and the handle is complete with
// [ErrShutdown].
//
// fn is written like the code of a goroutine, but where a goroutine would block it waits with [Await], [Select],
// [Sleep] and so on; then it holds no worker, only its stack. What blocks otherwise (a read from the network, a
// sync.Mutex that is held for long, a channel) belongs into [Blocking]. A panic in fn ends the task, and is its error.
//
// It must not call runtime.LockOSThread. A new task allocates; waiting does not.
func Go[T any](ex *Executor, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	return GoNamed(ex, "", fn)
}

// GoNamed is [Go] with a name for the task, for [Executor.Dump] and the watchdog.
func GoNamed[T any](ex *Executor, name string, fn func(cx *Context) (T, error)) *JoinHandle[T] {
	if ex == nil {
		panic("runtime: Go on a nil executor")
	}
	if fn == nil {
		panic("runtime: Go of a nil function")
	}
	h := &JoinHandle[T]{fn: fn}
	h.straight.body = h
	if name != "" {
		h.straight.SetName(name)
	}
	h.end.Init(&h.straight.Task)
	if err := ex.Spawn(&h.straight); err != nil {
		h.err = err
		h.end.w.Finish(waiter.Granted)
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
			h.err = &PanicError{Value: r, Stack: debug.Stack()}
		} else {
			h.err = ErrGoexit // which goes on, through the coroutine, to the worker
			h.straight.cx.task, h.straight.cx.co = nil, nil
		}
	}()
	if h.err = h.straight.cx.Err(); h.err == nil {
		h.value, h.err = h.fn(&h.straight.cx)
	}
	returned = true
}

// Poll reports whether the task has ended. See [Future].
func (h *JoinHandle[T]) Poll(w waiter.Waker) bool { return h.end.Poll(w) }

// Err returns the task's error: what its function returned, a [*PanicError], [ErrGoexit], [ErrCancelled] if it was
// cancelled before it began, [ErrShutdown]; [waiter.ErrPending] if it has not ended.
func (h *JoinHandle[T]) Err() error {
	if err := h.end.ended(); err != nil {
		return err
	}
	return h.err
}

// Result returns what the task's function returned, or an error as from [JoinHandle.Err].
func (h *JoinHandle[T]) Result() (T, error) {
	if err := h.end.ended(); err != nil {
		var none T
		return none, err
	}
	return h.value, h.err
}

// Done returns a channel that carries one value when the task has ended.
func (h *JoinHandle[T]) Done() <-chan struct{} { return h.end.Done() }

// Cancel ends the wait of the handle's owner; the task goes on. This is what [Select] does to a handle that has lost.
func (h *JoinHandle[T]) Cancel() { h.end.Cancel() }

// Abort cancels the task, as [Task.Cancel] does.
func (h *JoinHandle[T]) Abort() { h.straight.Cancel() }

// Await waits in a task for the task of the handle, and returns its result. If the waiting task is cancelled it returns
// [ErrCancelled]; the other one goes on.
func (h *JoinHandle[T]) Await(cx *Context) (T, error) {
	if err := Await(cx, &h.end); err != nil {
		var none T
		return none, err
	}
	return h.Result()
}

// Wait waits in a goroutine for the task, and returns its result. If ctx is done first it returns ctx.Err; the task goes
// on.
func (h *JoinHandle[T]) Wait(ctx context.Context) (T, error) {
	if err := BlockOn(ctx, &h.end); err != nil {
		var none T
		return none, err
	}
	return h.Result()
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
		panic("runtime: Await in a poll task: only straight-line tasks can wait in the middle of a function")
	}
	return t
}

// pause hands the worker back until the task is polled again.
func (cx *Context) pause() { cx.co.pause() }
