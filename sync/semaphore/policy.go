package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// A policy has the permits of a semaphore whose waiters do not stand in the engine's queue. It is
// asked when the fast path has failed, which it always does: the engine of such a semaphore has no
// permits.
type policy interface {
	Acquire(ctx context.Context, n int64) error
	AcquireTimeout(d time.Duration, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
	Size() int64
	Available() int64
	Waiting() int
	Resize(n int64)
	Close()

	// request returns a future for n permits: f itself, restarted, if it is of the right kind. The
	// request of f has ended.
	request(f future, n int64) future
}

// A future is what stands behind an [AcquireFuture] of a semaphore with a policy.
type future interface {
	Poll(w waiter.Waker) bool
	Done() <-chan struct{}
	Complete() bool
	Err() error
	Release()
	Cancel()

	// requireEnded panics if the request has not ended.
	requireEnded()
}

// arrayPolicy is [WithWaitingArray].
type arrayPolicy struct{ *twa.Semaphore }

func newArrayPolicy(n int64, a *twa.Array) arrayPolicy {
	return arrayPolicy{twa.New(n, twa.WithWaitingArray(a))}
}

func (p arrayPolicy) request(f future, n int64) future {
	a, ok := f.(*arrayFuture)
	if !ok {
		a = new(arrayFuture)
	}
	a.s = p.Semaphore
	a.Init(a.s, n)
	return a
}

type arrayFuture struct {
	twa.AcquireFuture
	s *twa.Semaphore
}

func (f *arrayFuture) requireEnded() { f.Init(f.s, 0) }
