package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// A policy is what a semaphore does whose waiters do not simply stand in the engine's queue. It is
// asked when the fast path has failed. With all but [ordered] that is always so: they have permits
// of their own, and the engine of such a semaphore has none.
type policy interface {
	Acquire(ctx context.Context, n int64) error
	AcquireTimeout(d time.Duration, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
	Size() int64
	Available() int64
	held() int64 // exact even during a Resize, but for that of the waiting array
	Waiting() int
	Resize(n int64)
	Close()

	// request returns a request for f: that of f, which has ended, if it is of the right kind.
	request(f *waiting.Future) waiting.Request
}

// A policyRequest is a request of a semaphore with a policy.
type policyRequest struct {
	waiting.Request // of the policy
	s               *Semaphore
}

// Start implements [waiting.Request].
func (r *policyRequest) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if r.s.mayBeObserved() {
		var tenant any
		if o, ok := r.Request.(tenantRequest); ok {
			tenant = o.whose()
		}
		record := r.s.record()
		q := observed.Request{N: w.N, Tenant: tenantText(record, tenant)}
		return observed.StartFuture(record, q, r.Request, w, waker)
	}
	return r.Request.Start(w, waker)
}

// Explain implements [waiting.Explainer].
func (r *policyRequest) Explain(err error, n int64) error {
	err = r.s.named(err, n)
	if o, ok := r.Request.(tenantRequest); ok {
		return o.explain(err, n)
	}
	return err
}

// A tenantRequest is the request of a policy that knows tenants.
type tenantRequest interface {
	waiting.Request
	as(tenant any)
	whose() any
	explain(err error, n int64) error
}

// Recorder implements [waiting.Recorded].
func (r *policyRequest) Recorder() waiting.Recorder { return r.s.recorder() }

// bindPolicy is Bind for a semaphore with a policy.
func (s *Semaphore) bindPolicy(future *waiter.Future, n int64) *policyRequest {
	f := (*waiting.Future)(future)
	r := waiting.Reuse[policyRequest](f)
	r.s = s
	waiting.Bind(f, r.Request, n) // so that the policy uses it again
	r.Request = s.p.request(f)
	waiting.Bind(f, r, n)
	return r
}

// arrayPolicy is [WithWaitingArray].
type arrayPolicy struct{ *twa.Semaphore }

func newArrayPolicy(n int64, a *twa.Array) arrayPolicy {
	return arrayPolicy{twa.New(n, twa.WithWaitingArray(a))}
}

// held may be too few while a reduction waits in line.
func (p arrayPolicy) held() int64 { return p.Size() - p.Available() }

func (p arrayPolicy) request(f *waiting.Future) waiting.Request {
	p.Bind((*waiter.Future)(f), f.Node().N)
	return f.Request()
}
