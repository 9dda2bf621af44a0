package engine

import "github.com/farad-go/farad/waiter"

// Permits are the [waiter.Request] of a future that wants some of them. A future keeps its request,
// and a value of Permits in an interface is an allocation. So a façade makes the lock itself the
// request of its futures, and forwards to these methods.

// Start implements [waiter.Request]: it takes w.N permits, w.N >= 0, or queues w.
func (e Permits) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	switch n := w.N; {
	case n > 0 && e.TryAcquire(n):
		return waiter.Granted
	case e.IsClosed():
		return waiter.Closed
	case n == 0:
		return waiter.Granted
	}
	w.Arm(waker)
	return e.Enqueue(w, AtBack)
}

// Unlink implements [waiter.Line]. It is Cancel.
func (e Permits) Unlink(w *waiter.Waiter) bool { return e.Cancel(w) }

// GiveBack implements [waiter.Line]. It is Release.
func (e Permits) GiveBack(n int64) bool { return e.Release(n) }
