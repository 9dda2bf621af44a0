package engine

import "github.com/farad-go/farad/waiter"

// Future is a request for permits, embedded by the future of a lock. See [waiter.Future].
type Future struct {
	waiter.Future
	e    *Engine
	base int64
}

// Init makes f a request for n permits, n >= 0, of e. The previous request must have been taken,
// released or cancelled. If not, Init reports false and changes nothing.
func (f *Future) Init(e *Engine, base, n int64) bool {
	if !f.Future.Init((*request)(f), n) {
		return false
	}
	f.e, f.base = e, base
	return true
}

// Engine returns the engine that f is a request to, nil before Init.
func (f *Future) Engine() *Engine { return f.e }

// request is a future as a [waiter.Request].
type request Future

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	switch n := w.N; {
	case n > 0 && r.e.TryAcquire(r.base, n):
		return waiter.Granted
	case r.e.IsClosed():
		return waiter.Closed
	case n == 0:
		return waiter.Granted
	}
	w.Arm(waker)
	return r.e.Enqueue(r.base, w, AtBack)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return r.e.Cancel(r.base, w) }

func (r *request) GiveBack(n int64) bool { return r.e.Release(r.base, n) }
