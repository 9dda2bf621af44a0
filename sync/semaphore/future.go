package semaphore

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// Bind makes f a request for n permits of s: see [waiter.Future]. The first Poll or Done of f makes
// the request, which waits in the same line as the callers of Acquire. After Take the permits may
// be given back in parts. Bind panics if n is negative, if s is nil, or if the request of f before
// has not ended. With an option that has an order or a policy of its own, the first Bind of a
// future allocates.
func (s *Semaphore) Bind(f *waiter.Future, n int64) {
	if n < 0 {
		panic("semaphore: future of a negative number of permits")
	}
	if s == nil {
		panic("semaphore: future of a nil semaphore")
	}
	if s.p != nil {
		s.bindPolicy(f, n)
		return
	}
	waiter.Bind(f, (*request)(s), n)
}

// A request is the semaphore as the [waiter.Request] of its futures.
type request Semaphore

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	s := (*Semaphore)(r)
	if s.mayBeObserved() {
		return observed.StartFuture(s.record(), observed.Request{N: w.N}, s.permits(), w, waker)
	}
	return s.permits().Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return (*Semaphore)(r).permits().Unlink(w) }

func (r *request) GiveBack(n int64) bool { return (*Semaphore)(r).permits().GiveBack(n) }

// Explain implements [waiter.Explainer].
func (r *request) Explain(err error, n int64) error { return (*Semaphore)(r).named(err, n) }

// Recorder implements [waiter.Recorded].
func (r *request) Recorder() waiter.Recorder { return (*Semaphore)(r).recorder() }

// recorder returns the record of s for its futures, nil if s is not observed.
func (s *Semaphore) recorder() waiter.Recorder { return observed.Recorder(s, s.e.IsObserved()) }
