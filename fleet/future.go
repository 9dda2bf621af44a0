package fleet

import (
	"errors"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// An AcquireFuture is a request for permits that does not block its owner: a goroutine that selects
// on Done, or a task of package runtime. It waits in the same line as the callers of Acquire.
//
//	var f fleet.AcquireFuture
//	f.Init(sem, 1)
//	defer f.Release() // right on every path
//	select {
//	case <-f.Done():
//		if err := f.Err(); err != nil {
//			return err
//		}
//		... // the permit is ours
//	case <-other:
//	}
//
// It works as the AcquireFuture of package sync/semaphore, with two differences. What was granted
// is released by the future, or by a Permit of it, and not by the semaphore: so after Err has
// returned nil Cancel does nothing. And a request that waits when its process loses its lease ends
// with ErrLost: the owner may begin it again, after Release.
type AcquireFuture struct {
	f waiter.Future
	d *driver
	t *tenancy // of the round under way
	n int64

	before  *refusal // the last one when the round began
	refused error    // the outcome, if the server has refused what the request needs
	lost    bool     // the grant was
}

// Init makes f a request for n permits of s and does not start it. It panics if n is negative, if s
// is nil, or if the previous request has not ended by Release.
func (f *AcquireFuture) Init(s *Semaphore, n int64) {
	if s == nil || n < 0 {
		panic("fleet: future of a nil semaphore, or of a negative number of permits")
	}
	if f.f.Taken() && f.f.Err() == nil || !f.f.Init((*request)(f), n) {
		panic("fleet: Init of a future whose request has not ended")
	}
	f.d, f.n, f.lost, f.refused = s.d, n, false, nil
}

// Poll starts the request if need be, and reports whether it is complete. If not, w is woken when
// it is worth polling again.
func (f *AcquireFuture) Poll(w waiter.Waker) bool { return f.lost || f.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when it is complete.
func (f *AcquireFuture) Done() <-chan struct{} {
	if f.lost {
		return f.t.ctx.Done() // the tenancy is over
	}
	return f.f.Done()
}

// Err returns nil if the permits are the owner's, ErrPending if there is no outcome yet, ErrLost,
// ErrTooLarge, ErrClosed or, if the servers refuse this process what it needs, their error.
func (f *AcquireFuture) Err() error {
	if f.lost {
		return ErrLost
	}
	if f.refused != nil {
		return f.refused
	}
	err := f.record().FutureErr(&f.f)
	switch {
	case err == nil && !f.t.valid():
		f.record().FutureRelease(&f.f)
		f.lost = true
		return ErrLost
	case errors.Is(err, ErrClosed) && !f.d.closed.Load():
		return ErrLost
	case errors.Is(err, ErrTooLarge):
		if f.refused = f.d.refusedSince(f.before); f.refused != nil {
			return f.refused
		}
	}
	return err
}

// Permit returns a handle to the permits, after Err has returned nil, or nil. The future has them
// no more.
func (f *AcquireFuture) Permit() *Permit {
	if f.Err() != nil {
		return nil
	}
	f.record().FutureCancel(&f.f) // leaves with us what Err has returned
	return newPermit(f.t, f.n)
}

// Release ends the request in every state: it gives up the place in line, or gives back the
// permits. A second Release does nothing.
func (f *AcquireFuture) Release() {
	f.lost, f.refused = false, nil
	if !f.record().FutureRelease(&f.f) {
		panic("fleet: the permits of a future were released by other means")
	}
}

// Cancel is Release, but does nothing once Err has returned nil: the permits stay with the future
// until Release or Permit. Package runtime cancels the futures of tasks that are aborted.
func (f *AcquireFuture) Cancel() {
	if !f.f.Taken() || f.f.Err() != nil {
		f.Release()
	}
}

// record returns the record of the line, nil if it is not observed.
func (f *AcquireFuture) record() *observed.Record {
	if f.d == nil { // before Init
		return nil
	}
	return f.d.record()
}

// A request is the future as the [waiter.Request] of its waiter.Future. The tenancy is the one that
// is current when the round starts.
type request AcquireFuture

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	r.t, r.before = r.d.current.Load(), r.d.refusal.Load()
	if r.d.mayBeObserved() {
		return observed.StartFuture(r.d.join(), r.t, w, waker, false)
	}
	return r.t.Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return r.t.Unlink(w) }

func (r *request) GiveBack(n int64) bool { return r.t.GiveBack(n) }
