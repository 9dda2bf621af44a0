package rt

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// BlockOn waits for f in a goroutine, not in a task, and returns f.Err. If ctx is done first, or at
// the call, BlockOn releases f and returns ctx.Err. If ctx is done without an error, BlockOn
// returns [context.Canceled]. BlockOn in a task would block its worker. It allocates where it
// sleeps.
func BlockOn(ctx context.Context, f Future) error {
	if ctx == nil {
		panic("rt: BlockOn with a nil context")
	}
	if f == nil {
		panic("rt: BlockOn of a nil future")
	}
	done := ctx.Done()
	err := ctx.Err()
	w := goroutineWaker{new(xsync.Sleeper)}
	w.sleeper.Init(done != nil || waiting.InBubble())
	asking := false // ctx, which may be of a foreign type and panic
	defer func() {
		if err != nil || asking { // Poll may panic, too: then the wait is another's
			f.Release()
		}
	}()
	for err == nil && !f.Poll(w) {
		asking = true
		err = w.sleep(ctx, done)
		asking = false
	}
	if err == nil && done != nil {
		asking = true
		err = ctx.Err() // again: it may have ended before f was complete
		asking = false
	}
	if err != nil {
		return err
	}
	return f.Err()
}

// A goroutineWaker wakes a sleeping goroutine.
type goroutineWaker struct{ sleeper *xsync.Sleeper }

// Wake implements [waiter.Waker].
func (w goroutineWaker) Wake() { w.sleeper.Wake(xsync.Token) }

// Displaced implements [waiting.Owner]: see taskWaker.Displaced.
func (w goroutineWaker) Displaced(by waiting.Waker) { displaced(w, by) }

// sleep returns nil when w is woken, and the error of ctx when that is done.
func (w goroutineWaker) sleep(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		w.sleeper.SleepInline()
		w.sleeper.Sleep()
		return nil
	}
	if w.sleeper.SleepOr(done) != 0 {
		return ctx.Err()
	}
	return waiting.ContextError(ctx)
}

// WithContext returns a Future that completes with f or, if ctx is done first, with ctx.Err. Then f
// has been released. If ctx is done without an error, the error is [context.Canceled].
//
// A wait registers a function with ctx, which allocates. For a ctx of a foreign type without an
// AfterFunc method, package context starts a goroutine.
func WithContext(ctx context.Context, f Future) Future {
	if ctx == nil {
		panic("rt: WithContext with a nil context")
	}
	if f == nil {
		panic("rt: WithContext of a nil future")
	}
	if ctx.Done() == nil {
		return f
	}
	return &bound{ctx: ctx, f: f}
}

// bound is a future bound to a context. Its node waits for the context; the function that the end
// of the context calls is the claimer.
//
// Invariants:
//
//  1. A complete node says that the context is done: the function of an earlier round finds its
//     node abandoned. (TestWithContextHearsInEveryRound, TestModel/bound)
//  2. Between two rounds the node is idle, or abandoned and about to be: the next round registers
//     it again, and hears of the context. (TestWithContextHearsInEveryRound, TestModel/bound)
type bound struct {
	ctx  context.Context
	f    Future
	w    waiting.Waiter
	stop func() bool // has the function not be called, if it reports true; nil: not registered
	err  error       // of the context, if that was first
	done bool
}

// Poll implements [Future]. The context is asked before f is polled, so that nothing is begun in
// vain, and afterwards, because a cancel that came before the completion wins.
func (b *bound) Poll(w waiter.Waker) bool {
	if b.done || b.ended() {
		return true
	}
	if b.f.Poll(w) {
		if !b.ended() {
			b.end()
		}
		return true
	}
	s := b.w.Status()
	switch s {
	case waiting.StatusIdle:
		b.w.Arm(w)
		b.stop = afterFunc(b.ctx, func() { b.w.Deliver(waiting.Granted) })
		return false
	case waiting.StatusWaiting:
		s = b.w.Rearm(w)
	default:
	}
	if s != waiting.StatusWaiting && w != nil {
		w.Wake() // the context is done, or was when the future was released
	}
	return false
}

// ended reports whether the context is done, and ends the wait if so.
func (b *bound) ended() bool {
	err := b.ctx.Err()
	if err == nil && b.w.Status() == waiting.StatusComplete {
		err = waiting.ContextError(b.ctx)
	}
	if err == nil {
		return false
	}
	b.err = err
	b.f.Release()
	b.end()
	return true
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

// Release implements [Future].
func (b *bound) Release() {
	b.f.Release()
	if !b.done {
		b.end()
	}
	b.done, b.err = false, nil
}
