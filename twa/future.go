package twa

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Bind makes f a request for n permits of s: see [waiter.Future]. The first Poll or Done of f takes
// the tickets, and waits in the same line as the callers of Acquire. Bind panics if n is negative,
// if s is nil, or if the request of f before has not ended. The first Bind of a future allocates.
func (s *Semaphore) Bind(f *waiter.Future, n int64) {
	switch {
	case n < 0:
		panic("twa: future of a negative number of permits")
	case s == nil:
		panic("twa: future of a nil semaphore")
	}
	s.t.bind(f, zero, n)
}

// Bind makes f a request to lock m: see [waiter.Future], and [Semaphore.Bind]. It panics if m is
// nil, or if the request of f before has not ended.
func (m *Mutex) Bind(f *waiter.Future) {
	if m == nil {
		panic("twa: future of a nil mutex")
	}
	m.t.bind(f, one, 1)
}

func (s *tickets) bind(future *waiter.Future, base, n int64) {
	f := (*waiting.Future)(future)
	r := waiting.Reuse[ticketRequest](f)
	r.t, r.base = s, base
	waiting.Bind(f, r, n)
}

// A ticketRequest is what a future asks of the tickets. Its place in the array is its own: a
// claimer that has taken it out of a line no longer touches that.
type ticketRequest struct {
	t    *tickets
	base int64
	end  int64 // of the tickets, once the request has been started
	s    parking.Sleeper
}

// Start implements [waiting.Request].
func (r *ticketRequest) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if w.N == 0 {
		if r.t.isClosed() {
			return waiting.Closed
		}
		return waiting.Granted
	}
	if o := r.t.precheck(r.base, w.N); o != waiting.Pending {
		return o
	}
	r.end = r.t.take(w.N)
	if r.t.atOnce(r.base, w.N, r.end) {
		return waiting.Granted // without a look at the array
	}
	w.Arm(waker)
	return r.t.enter(&r.s, w, r.base, r.end)
}

// Unlink implements [waiting.Request].
func (r *ticketRequest) Unlink(w *waiting.Waiter) bool {
	if !r.t.table().Leave(&r.s) {
		return false
	}
	r.t.abandon(r.base, w.N, r.end)
	return true
}

// GiveBack implements [waiting.Request]. The permits are held, whatever tickets they were: they go
// back as any that are.
func (r *ticketRequest) GiveBack(n int64) bool {
	if !r.t.ledger.give(n) {
		return false
	}
	g := r.t.give(n)
	return r.t.quiet(r.base, n, g) || r.t.releaseSlow(r.base, n, g)
}

// Explain implements [waiting.Explainer].
func (r *ticketRequest) Explain(err error, n int64) error { return r.t.named(err, n) }
