package runtime

import (
	"context"

	"github.com/farad-go/farad/internal/signal"
	"github.com/farad-go/farad/waiter"
)

// BlockOn waits in a goroutine, not in a task, for f, and returns its Err. If ctx is done first, or already, it cancels f
// and returns ctx.Err. It allocates a channel. A task that called it would block its worker.
func BlockOn(ctx context.Context, f Future) error {
	if ctx == nil {
		panic("runtime: BlockOn with a nil context")
	}
	w := goroutineWaker(signal.New(1))
	for {
		if err := ctx.Err(); err != nil {
			f.Cancel()
			return err
		}
		if f.Poll(w) {
			return f.Err()
		}
		signal.Signal(w).ReceiveOr(ctx.Done())
	}
}

// A goroutineWaker wakes a goroutine that receives from it.
type goroutineWaker signal.Signal

// Wake implements [waiter.Waker].
func (w goroutineWaker) Wake() { signal.Signal(w).TrySend() }

// Displaced implements [waiter.Owner]: see [Task.Displaced].
func (w goroutineWaker) Displaced(by waiter.Waker) { displaced(w, by) }

// WithContext returns a future that completes with f, or, if ctx is done before that, with ctx.Err. Then f has been
// cancelled.
func WithContext(ctx context.Context, f Future) Future {
	if ctx == nil {
		panic("runtime: WithContext with a nil context")
	}
	if ctx.Done() == nil {
		return f
	}
	return &bound{ctx: ctx, f: f}
}

// bound is a future bound to a context. Its node waits for the context; the function that context.AfterFunc calls is the
// claimer.
type bound struct {
	ctx  context.Context
	f    Future
	w    waiter.Waiter
	stop func() bool // of AfterFunc; nil: not registered
	err  error       // of the context, if that was first
	done bool
}

// Poll implements [Future].
func (b *bound) Poll(w waiter.Waker) bool {
	switch {
	case b.done:
		return true
	case b.ctx.Err() != nil:
		b.err = b.ctx.Err()
		b.f.Cancel()
		b.end()
		return true
	case b.f.Poll(w):
		b.end()
		return true
	}
	s := b.w.Status()
	if s == waiter.StatusIdle {
		b.w.Arm(w)
		b.stop = context.AfterFunc(b.ctx, func() { b.w.Deliver(waiter.Granted) })
		return false
	}
	if s == waiter.StatusWaiting {
		s = b.w.Rearm(w)
	}
	if s != waiter.StatusWaiting && w != nil {
		w.Wake() // the context is done, or was when the future was cancelled
	}
	return false
}

// end deregisters.
func (b *bound) end() {
	b.done = true
	if b.stop == nil {
		return
	}
	if b.stop() || !b.w.Abandon() {
		b.w.Reset() // the function will not be called, or has been
	}
	b.stop = nil
}

// Err implements [Future].
func (b *bound) Err() error {
	switch {
	case !b.done:
		return waiter.ErrPending
	case b.err != nil:
		return b.err
	default:
		return b.f.Err()
	}
}

// Cancel implements [Future].
func (b *bound) Cancel() {
	b.f.Cancel()
	if !b.done {
		b.end()
	}
	b.done, b.err = false, nil
}
