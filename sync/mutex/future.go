package mutex

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Bind makes f a request to lock m: see [waiter.Future]. The first Poll or Done of f makes the
// request, which waits in the same line as the callers of Lock. Bind panics if m is nil, or if the
// request of f before has not ended.
func (m *Mutex) Bind(f *waiter.Future) {
	if m == nil {
		panic("mutex: future of a nil mutex")
	}
	waiting.Bind((*waiting.Future)(f), (*request)(m), 1)
}

// A request is the mutex as the [waiting.Request] of its futures.
type request Mutex

func (r *request) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	m := (*Mutex)(r)
	if m.mayBeObserved() {
		return observed.StartFuture(m.record(), requested, m.permits(), w, waker)
	}
	return m.permits().Start(w, waker)
}

func (r *request) Unlink(w *waiting.Waiter) bool { return (*Mutex)(r).permits().Unlink(w) }

func (r *request) GiveBack(n int64) bool { return (*Mutex)(r).permits().GiveBack(n) }

// Recorder implements [waiting.Recorded].
func (r *request) Recorder() waiting.Recorder {
	return observed.Recorder((*Mutex)(r), r.e.IsObserved())
}
