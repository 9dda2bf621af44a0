package rt

import (
	"fmt"
	"runtime/debug"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Blocking runs fn, which may block, and waits for it in a straight-line task. fn runs on a
// goroutine of its own, or of the executor's pool. Blocking returns the result of fn; a panic in fn
// becomes a [*PanicError]. If the pool refuses, Blocking returns the error of the pool, and fn is
// not called. A pool whose Submit waits for a goroutine makes Blocking hold its worker meanwhile,
// forever if the workers themselves occupy the pool.
//
// If the task is aborted, Blocking returns [ErrCancelled] at once. fn goes on, its result is
// dropped, and Shutdown waits for it. A fn that should end with the task uses the task's context,
// which the task takes before the call: see [Context.Context].
func Blocking[T any](cx *Context, fn func() (T, error)) (T, error) {
	t := cx.straightLine()
	if fn == nil {
		panic("rt: Blocking of a nil function")
	}
	b := &blocking[T]{ex: t.ex.scheduler, task: t, cx: cx, fn: fn, err: ErrGoexit}
	waiting.Bind(&b.f, b, 1)
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
	f       waiting.Future
	ex      *scheduler
	task    *Task    // lives while the owner waits; its name stays
	cx      *Context // of the task; nil once the function may begin
	fn      func() (T, error)
	value   T
	err     error
	died    *PanicError // the panic of fn; err may be one that fn has from elsewhere
	refused error       // by the pool
	taken   bool        // the task has asked for the result
}

// run calls the function.
func (b *blocking[T]) run() {
	defer b.ex.workerEnded()
	defer func() {
		if r := recover(); r != nil {
			b.died = &PanicError{Value: r, Stack: debug.Stack()}
			b.err = b.died
		}
		if !b.f.Node().Deliver(waiting.Granted) {
			b.drop()
		}
	}()
	b.value, b.err = b.fn()
}

// Poll implements [Future].
func (b *blocking[T]) Poll(w waiter.Waker) bool { return b.f.Poll(w) }

// Err implements [Future].
func (b *blocking[T]) Err() error {
	if err := b.f.Err(); err != nil {
		return err
	}
	b.taken = true
	if b.refused != nil {
		return b.refused
	}
	return b.err
}

// Release implements [Future].
func (b *blocking[T]) Release() { b.f.Release() }

// Start implements [waiting.Request].
func (b *blocking[T]) Start(n *waiting.Waiter, w waiting.Waker) waiting.Outcome {
	n.Arm(w)
	b.cx.away, b.cx = true, nil // before the function begins
	if err := b.ex.spawnCounted(b.run); err != nil {
		b.refused = fmt.Errorf("rt: the pool has no goroutine for blocking work: %w", err)
		return waiting.Granted
	}
	return waiting.Pending
}

// Unlink implements [waiting.Line]: the function is in no queue.
func (b *blocking[T]) Unlink(*waiting.Waiter) bool { return false }

// GiveBack implements [waiting.Line].
func (b *blocking[T]) GiveBack(int64) bool {
	b.drop()
	return true
}

// drop reports a panic that no goroutine will ask for. The goroutine of the function calls it if it
// finds the node abandoned, and the owner if it finds the node complete.
func (b *blocking[T]) drop() {
	if b.died != nil {
		b.ex.panics.ended(b.died, b.task.lockedName(), 0)
		b.ex.panics.gone(b.died)
	}
}
