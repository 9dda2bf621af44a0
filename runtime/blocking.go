package rt

import (
	"fmt"
	"runtime/debug"

	"github.com/farad-go/farad/waiter"
)

// Blocking runs fn, which may block, on a goroutine of its own, or of the executor's pool, and
// waits for it in a straight-line task. Its result is fn's; a panic in fn becomes a [*PanicError].
// If the pool refuses, fn is not called, and Blocking returns the pool's error.
//
// If the task is cancelled, Blocking returns [ErrCancelled] at once; fn runs on, and its result is
// dropped. Shutdown waits for it. To learn of the cancel fn uses the task's context, which the task
// takes before: see [Context.Context].
func Blocking[T any](cx *Context, fn func() (T, error)) (T, error) {
	t := cx.straightLine()
	if fn == nil {
		panic("rt: Blocking of a nil function")
	}
	b := &blocking[T]{ex: t.ex.scheduler, task: t, cx: cx, fn: fn, err: ErrGoexit}
	err := Await(cx, b)
	cx.away = false
	if !b.taken {
		var none T
		return none, err
	}
	return b.value, err
}

// blocking is the future of a function on another goroutine, which is the claimer of its node.
type blocking[T any] struct {
	w       waiter.Waiter
	ex      *scheduler
	task    *Task    // lives while the owner waits; its name stays
	cx      *Context // the task's; nil when the function may begin
	fn      func() (T, error)
	value   T
	err     error
	died    *PanicError // fn's own panic; err may be one that fn has from elsewhere
	refused error
	taken   bool // the task has asked for the result
	gone    bool // the task has cancelled the wait
}

// run calls the function.
func (b *blocking[T]) run() {
	defer b.ex.workerEnded()
	defer func() {
		if r := recover(); r != nil {
			b.died = &PanicError{Value: r, Stack: debug.Stack()}
			b.err = b.died
		}
		if !b.w.Deliver(waiter.Granted) {
			b.drop()
		}
	}()
	b.value, b.err = b.fn()
}

// Poll implements [Future].
func (b *blocking[T]) Poll(w waiter.Waker) bool {
	if s := b.w.Status(); s != waiter.StatusIdle {
		return repoll(&b.w, s, w)
	}
	b.w.Arm(w)
	b.cx.away, b.cx = true, nil // before the function begins
	if err := b.ex.spawnCounted(b.run); err != nil {
		b.refused = fmt.Errorf("rt: the pool has no goroutine for blocking work: %w", err)
		b.w.Finish(waiter.Granted)
		return true
	}
	return false
}

// Err implements [Future].
func (b *blocking[T]) Err() error {
	if b.w.Status() != waiter.StatusComplete {
		return waiter.ErrPending
	}
	b.taken = true
	if b.refused != nil {
		return b.refused
	}
	return b.err
}

// Cancel implements [Future].
func (b *blocking[T]) Cancel() {
	if b.taken || b.gone || b.w.Status() == waiter.StatusIdle {
		return
	}
	b.gone = true
	if !b.w.Abandon() {
		b.drop()
	}
}

// drop reports a panic that nobody will ask for. Either the function's goroutine calls it, which
// found the node abandoned, or the owner, which found it complete.
func (b *blocking[T]) drop() {
	if b.died != nil {
		b.ex.panics.ended(b.died, b.task.lockedName(), 0)
		b.ex.panics.gone(b.died)
	}
}
