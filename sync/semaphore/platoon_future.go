package semaphore

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// request implements policy.
func (p *platoon) request(f future, n int64) future {
	a, ok := f.(*platoonFuture)
	if !ok {
		a = new(platoonFuture)
	}
	a.init(p, n)
	return a
}

// A platoonFuture is a request that does not block anybody. Its place in the line is its own.
type platoonFuture struct {
	f waiter.Future
	p *platoon
	s parking.Sleeper
}

func (f *platoonFuture) init(p *platoon, n int64) {
	if !f.f.Init((*platoonRequest)(f), n) {
		panic("semaphore: Init of a future whose request has not ended")
	}
	f.p = p
}

func (f *platoonFuture) Poll(w waiter.Waker) bool { return f.f.Poll(w) }
func (f *platoonFuture) Done() <-chan struct{}    { return f.f.Done() }
func (f *platoonFuture) Complete() bool           { return f.f.Complete() }
func (f *platoonFuture) Err() error               { return f.f.Err() }

func (f *platoonFuture) Release() {
	if !f.f.Release() {
		panic(overReleased("AcquireFuture.Release of", f.f.Node.N, f.p.Size(), f.p.Available()) +
			givenAlready)
	}
}

func (f *platoonFuture) Cancel() {
	if !f.f.Cancel() {
		panic(overReleased("AcquireFuture.Cancel of", f.f.Node.N, f.p.Size(), f.p.Available()) +
			givenAlready)
	}
}

func (f *platoonFuture) requireEnded() { f.init(f.p, 0) }

// platoonRequest is what the future asks of the semaphore.
type platoonRequest platoonFuture

func (r *platoonRequest) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	if w.N == 0 && !r.p.look().isClosed() || r.p.TryAcquire(w.N) {
		return waiter.Granted
	}
	w.Arm(waker)
	return r.p.enqueue(&r.s, w)
}

func (r *platoonRequest) Unlink(*waiter.Waiter) bool { return r.p.leave(&r.s, false) }

func (r *platoonRequest) GiveBack(n int64) bool { return r.p.giveBack(n) }
