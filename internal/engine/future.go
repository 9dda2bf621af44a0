package engine

import (
	"github.com/farad-go/farad/internal/future"
	"github.com/farad-go/farad/waiter"
)

// Future is a request for permits that is waited for by polling or by a channel, owned and embedded
// by its user. See [future.Future].
type Future struct {
	f    future.Future
	e    *Engine
	base int64
}

// Init makes f a request for n permits, n >= 0, of e. The previous request must have been taken,
// released or cancelled: Init
// reports false, and changes nothing, if it was not.
func (f *Future) Init(e *Engine, base, n int64) bool {
	if !f.f.Init(n) {
		return false
	}
	f.e, f.base = e, base
	return true
}

// Engine returns what f is a request to, nil before Init.
func (f *Future) Engine() *Engine { return f.e }

// Poll is that of [future.Future].
func (f *Future) Poll(waker waiter.Waker) bool { return f.f.Poll((*request)(f), waker) }

// Done is that of [future.Future].
func (f *Future) Done() <-chan struct{} { return f.f.Done((*request)(f)) }

// Complete is that of [future.Future].
func (f *Future) Complete() bool { return f.f.Complete() }

// Err is that of [future.Future].
func (f *Future) Err() error { return f.f.Err() }

// N returns how many permits the request is for.
func (f *Future) N() int64 { return f.f.Node.N }

// Release is that of [future.Future].
func (f *Future) Release() bool { return f.f.Release((*request)(f)) }

// Cancel is that of [future.Future].
func (f *Future) Cancel() bool { return f.f.Cancel((*request)(f)) }

// request is what the future asks of the engine.
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

func (r *request) GiveBack(n int64) bool { return n == 0 || r.e.Release(r.base, n) }
