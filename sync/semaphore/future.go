package semaphore

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
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
	waiting.Bind((*waiting.Future)(f), (*request)(s), n)
}

// A request is the semaphore as the [waiting.Request] of its futures.
type request Semaphore

func (r *request) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	s := (*Semaphore)(r)
	if s.mayBeObserved() {
		return observed.StartFuture(s.record(), observed.Request{N: w.N}, s.permits(), w, waker)
	}
	return s.permits().Start(w, waker)
}

func (r *request) Unlink(w *waiting.Waiter) bool { return (*Semaphore)(r).permits().Unlink(w) }

func (r *request) GiveBack(n int64) bool { return (*Semaphore)(r).permits().GiveBack(n) }

// Explain implements [waiting.Explainer].
func (r *request) Explain(err error, n int64) error { return (*Semaphore)(r).named(err, n) }

// Recorder implements [waiting.Recorded].
func (r *request) Recorder() waiting.Recorder { return (*Semaphore)(r).recorder() }

// recorder returns the record of s for its futures, nil if s is not observed.
func (s *Semaphore) recorder() waiting.Recorder { return observed.Recorder(s, s.e.IsObserved()) }
