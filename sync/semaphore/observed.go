package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/text"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
)

// The bit O of a semaphore is in the engine's word, also if a policy has the permits.

var kind = observed.Register(observed.About{Name: "semaphore.Semaphore"}, (*Semaphore).observe, (*Semaphore).numbers).
	Returning((*Semaphore).giveBack)

func (s *Semaphore) observe(on bool) { s.e.Observe(on) }

func (s *Semaphore) numbers() observed.Numbers {
	size := s.Size()
	return observed.Numbers{Size: size, Free: size - s.held(), Waiting: s.Waiting()}
}

// held returns how many permits are held: see [policy].
func (s *Semaphore) held() int64 {
	if s.p != nil {
		return s.p.held()
	}
	return s.permits().Held()
}

func (s *Semaphore) mayBeObserved() bool { return observed.MayBe(s.e.IsObserved()) }

// record returns the record of s, which joins if need be.
func (s *Semaphore) record() observed.Record { return kind.Record(s, s.e.IsObserved()) }

// tenantText returns a tenant as r has it. Only a record of holders needs it.
func tenantText(r observed.Record, tenant any) string {
	if r.Level() != observed.Holders {
		return ""
	}
	return text.Tenant(tenant)
}

// acquireObserved is the slow path of an acquire of n permits, n > 0, by an observed semaphore. It
// gives up when d, if not 0, has passed, or when ctx is done. The tenant is nil if none is named.
//
//go:noinline
func (s *Semaphore) acquireObserved(ctx context.Context, n int64, d time.Duration, tenant any) error {
	if p, ok := s.p.(*ordered); ok && tenant == nil {
		tenant = p.nobody
	}
	r := s.record()
	q := observed.Request{N: n, Tenant: tenantText(r, tenant)}
	if s.try(n) {
		return r.AtOnce(q, waiting.Keep(ctx, taken{s}, n))
	}
	if err := s.refusal(n); err != nil {
		return r.AtOnce(q, err)
	}
	l := waiting.Until(ctx, d)
	switch p := s.p.(type) {
	case nil:
		return observed.Await(r, q, l, func(l waiting.Limit) error { return s.permits().Wait(l, n) })
	case *ordered:
		var by order.By
		p.ask(&by, l, d <= 0, tenant) // before the wait is recorded: a weight may panic
		return observed.Await(r, q, l, func(l waiting.Limit) error { return p.acquire(l, &by, n) })
	default:
		return observed.Await(r, q, l, func(waiting.Limit) error {
			if d > 0 {
				return p.AcquireTimeout(d, n)
			}
			return p.Acquire(ctx, n)
		})
	}
}

// refusal returns why there is no use in waiting for n permits, or nil.
func (s *Semaphore) refusal(n int64) error {
	switch {
	case s.e.IsClosed():
		return ErrClosed
	case n > s.Size():
		return s.named(ErrTooLarge, n)
	}
	return nil
}

// tryObserved is TryAcquire for n permits, n > 0.
//
//go:noinline
func (s *Semaphore) tryObserved(n int64) bool {
	ok := s.try(n)
	observed.Of(s).Tried(observed.Request{N: n}, ok)
	return ok
}

// try takes n permits, n > 0, whether s is observed or not.
func (s *Semaphore) try(n int64) bool {
	if s.p != nil {
		return s.p.TryAcquire(n)
	}
	return s.permits().TryObserved(n)
}

// taken takes back what was taken, for [waiting.Keep].
type taken struct{ s *Semaphore }

func (t taken) GiveBack(n int64) bool {
	t.s.giveBack(n)
	return true
}

// giveBack returns n permits that the caller has taken, and that no record has.
func (s *Semaphore) giveBack(n int64) {
	if s.p != nil {
		s.p.Release(n)
	} else if !s.permits().Release(n) {
		s.releaseElse(n)
	}
}

// releaseObserved is Release of n permits, n > 0. If they are not held it records nothing, as far
// as that can be known before.
//
//go:noinline
func (s *Semaphore) releaseObserved(n int64) {
	_, array := s.p.(arrayPolicy)
	if array || n <= s.Size()-s.Available() || n <= s.held() {
		observed.Of(s).Released(observed.Request{N: n})
	}
	s.giveBack(n)
}
