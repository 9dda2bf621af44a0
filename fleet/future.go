package fleet

import (
	"errors"

	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/observe/hook"
	"github.com/farad-go/farad/waiter"
)

// A Future is a request for permits that does not block its owner: a goroutine that selects on
// Done, or a task of package runtime. It waits in the same line as the callers of Acquire.
//
//	var f fleet.Future
//	sem.Bind(&f, 1)
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
// It works as a [waiter.Future], with two differences. What was granted is taken by Permit, as a
// handle. And a request that waits when its process loses its lease ends with ErrLost: the owner
// may bind it again.
type Future struct {
	f waiter.Future
	d *driver
	n int64
	t *tenancy // of the round under way, as in is

	in share.Request // what stands in the line of t

	before  *error // the last one when the round began
	refused error  // the outcome, if the server has refused what the request needs
	lost    bool   // the grant was
}

// Bind makes f a request for n permits of s. The first Poll or Done of f makes the request. Bind
// panics if n is negative, if s is nil, or if the request of f before has not ended.
func (s *Semaphore) Bind(f *Future, n int64) {
	if s == nil || n < 0 {
		panic("fleet: future of a nil semaphore, or of a negative number of permits")
	}
	s.d.observable.Bind(&f.f, s.d, hook.Request{N: n}, (*request)(f))
	f.d, f.n, f.lost, f.refused = s.d, n, false, nil
}

// Poll reports whether the request is complete, and makes it if need be. If it is not complete, w
// is woken when it is worth polling again.
func (f *Future) Poll(w waiter.Waker) bool { return f.lost || f.f.Poll(w) }

// Done makes the request if need be, and returns a channel that is closed when it is complete.
func (f *Future) Done() <-chan struct{} {
	if f.lost {
		return f.t.ctx.Done() // the tenancy is over
	}
	return f.f.Done()
}

// Err returns nil if the permits are granted, ErrPending if there is no outcome yet, ErrLost,
// ErrTooLarge, ErrClosed or, if the servers refuse this process what it needs, their error.
func (f *Future) Err() error {
	if f.lost {
		return ErrLost
	}
	if f.refused != nil {
		return f.refused
	}
	err := f.f.Err()
	switch {
	case err == nil && !f.t.valid():
		f.f.Release()
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

// Permit takes the permits of a request that is granted, and returns a handle to them. It returns
// nil if there are none. The round of the future is over then.
func (f *Future) Permit() *Permit {
	if f.Err() != nil {
		return nil
	}
	if f.f.Take() != nil {
		return nil
	}
	return newPermit(f.d, f.t, f.n)
}

// Release ends the request in every state: it gives up the place in line, or gives back the
// permits. A second Release does nothing.
func (f *Future) Release() {
	f.lost, f.refused = false, nil
	f.f.Release()
}

// A request is the future as the [waiter.Request] of its future. The tenancy is the one that
// is current when the round starts.
type request Future

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	r.t, r.before = r.d.current.Load(), r.d.refusal.Load()
	r.in.Of(&r.t.Share)
	return r.in.Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return r.in.Unlink(w) }

func (r *request) GiveBack(n int64) bool { return r.in.GiveBack(n) }
