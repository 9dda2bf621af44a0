package engine

import "github.com/farad-go/farad/waiter"

// Permits are those of an engine, counted from a base. They are a [waiter.Request], by which a
// future waits for some of them. A future keeps its request. So the lock itself is that of its
// futures, and forwards here: a value of Permits in an interface would be an allocation.
type Permits struct {
	e    *Engine
	base int64
}

// From returns the permits of e, counted from base.
func (e *Engine) From(base int64) Permits { return Permits{e, base} }

// Start implements [waiter.Request]: it takes w.N permits, w.N >= 0, or queues w.
func (p Permits) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	switch n := w.N; {
	case n > 0 && p.e.TryAcquire(p.base, n):
		return waiter.Granted
	case p.e.IsClosed():
		return waiter.Closed
	case n == 0:
		return waiter.Granted
	}
	w.Arm(waker)
	return p.e.Enqueue(p.base, w, AtBack)
}

// Unlink implements [waiter.Line].
func (p Permits) Unlink(w *waiter.Waiter) bool { return p.e.Cancel(p.base, w) }

// GiveBack implements [waiter.Line].
func (p Permits) GiveBack(n int64) bool { return p.e.Release(p.base, n) }
