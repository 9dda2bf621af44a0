package rwlock

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Bind makes f a request for the write lock of l: see [waiter.Future]. The first Poll or Done of f
// makes the request, which waits in the same line as the callers of Lock and RLock. While f holds
// the lock nobody may upgrade or downgrade it; after Take the caller may. Bind panics if l is nil,
// or if the request of f before has not ended.
func (l *RWLock) Bind(f *waiter.Future) { l.bind(f, engine.Everyone) }

// BindRead is [RWLock.Bind] for a read lock.
func (l *RWLock) BindRead(f *waiter.Future) { l.bind(f, engine.Reader) }

// BindUpgradable is [RWLock.Bind] for the upgradable read lock.
func (l *RWLock) BindUpgradable(f *waiter.Future) { l.bind(f, engine.Upgradable) }

func (l *RWLock) bind(f *waiter.Future, n int64) {
	if l == nil {
		panic("rwlock: future of a nil lock")
	}
	waiting.Bind((*waiting.Future)(f), (*request)(l), n)
}

// A request is the lock as the [waiting.Request] of its futures.
type request RWLock

func (r *request) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	l := (*RWLock)(r)
	if l.mayBeObserved() {
		q := requested(w.N)
		return observed.StartFuture(l.record(), q, &l.e, w, waker)
	}
	return r.e.Start(w, waker)
}

func (r *request) Unlink(w *waiting.Waiter) bool { return r.e.Unlink(w) }

func (r *request) GiveBack(n int64) bool { return r.e.GiveBack(n) }

// Recorder implements [waiting.Recorded].
func (r *request) Recorder() waiting.Recorder {
	return observed.Recorder((*RWLock)(r), r.e.IsObserved())
}
