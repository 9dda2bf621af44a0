package engine

import (
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
)

// Permits are the [waiting.Request] of a future that wants some of them. A future keeps its
// request, and a value of Permits in an interface is an allocation. So a façade makes the lock
// itself the request of its futures, and forwards to these methods.

// Start implements [waiting.Request]: it takes w.N permits, w.N >= 0, or queues w.
func (e Permits) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	o := e.atOnce(w.N)
	if o == waiting.Pending {
		w.Arm(waker)
		o = e.Enqueue(w, AtBack)
	}
	return o
}

// StartBy is Start at an ordered engine. It returns the line that the request stands in.
func (e Permits) StartBy(w *waiting.Waiter, waker waiting.Waker, by func() order.By) (Ordered, waiting.Outcome) {
	o := e.atOnce(w.N)
	if o != waiting.Pending {
		return Ordered{Permits: e}, o
	}
	who := by() // It may panic, and then w does not wait.
	w.Arm(waker)
	return e.EnqueueBy(w, &who)
}

// atOnce takes n permits, n >= 0, or returns Pending if a request for them may have to wait.
func (e Permits) atOnce(n int64) waiting.Outcome {
	switch {
	case n > 0 && e.TryAcquire(n):
		return waiting.Granted
	case e.IsClosed():
		return waiting.Closed
	case n == 0:
		return waiting.Granted
	}
	return waiting.Pending
}

// Unlink implements [waiting.Line]. It is Cancel.
func (e Permits) Unlink(w *waiting.Waiter) bool { return e.Cancel(w) }

// GiveBack implements [waiting.Line]. It is Release.
func (e Permits) GiveBack(n int64) bool { return e.Release(n) }
