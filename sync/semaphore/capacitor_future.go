package semaphore

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// request implements policy.
func (p *capacitor) request(f future, n int64) future {
	a, ok := f.(*capacitorFuture)
	if !ok {
		a = new(capacitorFuture)
	}
	a.init(p, n)
	return a
}

// A capacitorFuture is a request that does not block its goroutine. Its place in the line is its
// own.
type capacitorFuture struct {
	f waiter.Future
	p *capacitor
	s parking.Sleeper
}

func (f *capacitorFuture) init(p *capacitor, n int64) {
	if !f.f.Init((*capacitorRequest)(f), n) {
		panic("semaphore: Init of a future whose request has not ended")
	}
	f.p = p
}

func (f *capacitorFuture) Poll(w waiter.Waker) bool { return f.f.Poll(w) }
func (f *capacitorFuture) Done() <-chan struct{}    { return f.f.Done() }
func (f *capacitorFuture) Complete() bool           { return f.f.Complete() }
func (f *capacitorFuture) Err() error               { return f.f.Err() }

func (f *capacitorFuture) Release() {
	if !f.f.Release() {
		panic(givenAlready("AcquireFuture.Release of", f.f.Node.N, f.p))
	}
}

func (f *capacitorFuture) Cancel() {
	if !f.f.Cancel() {
		panic(givenAlready("AcquireFuture.Cancel of", f.f.Node.N, f.p))
	}
}

func (f *capacitorFuture) requireEnded() { f.init(f.p, 0) }

// capacitorRequest is what the future asks of the semaphore.
type capacitorRequest capacitorFuture

func (r *capacitorRequest) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	if w.N == 0 && !r.p.look().isClosed() || r.p.TryAcquire(w.N) {
		return waiter.Granted
	}
	w.Arm(waker)
	return r.p.enqueue(&r.s, w)
}

func (r *capacitorRequest) Unlink(*waiter.Waiter) bool { return r.p.leave(&r.s, false) }

func (r *capacitorRequest) GiveBack(n int64) bool { return r.p.giveBack(n) }
