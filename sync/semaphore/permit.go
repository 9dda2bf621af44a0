package semaphore

import (
	"context"
	"strconv"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// A Permit is a handle to permits that are held. Its Release may be called more than once, so a
// deferred Release is always correct.
//
// A nil *Permit holds nothing. Several goroutines may call the methods at a time; each permit is
// released once. A Permit must not be copied.
type Permit struct {
	_ noCopy
	s *Semaphore
	n xsync.Int64 // how many it holds

	tenant *any // whose they are; nil: the semaphore keeps no accounts, or nobody's
}

// AcquirePermit is Acquire and returns a handle, which it allocates. With an error the handle is
// nil and holds nothing.
func (s *Semaphore) AcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	if err := s.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return s.permit(n), nil
}

// TryAcquirePermit is TryAcquire and returns a handle, or nil and false.
func (s *Semaphore) TryAcquirePermit(n int64) (*Permit, bool) {
	if !s.TryAcquire(n) {
		return nil, false
	}
	return s.permit(n), true
}

// permitOf is permit for permits of a tenant.
func (s *Semaphore) permitOf(tenant any, n int64) *Permit {
	if s.accounts() == nil {
		return s.permit(n)
	}
	both := &struct {
		Permit
		tenant any
	}{tenant: tenant}
	both.s, both.Permit.tenant = s, &both.tenant
	return both.took(n)
}

func (s *Semaphore) permit(n int64) *Permit {
	p := &Permit{s: s}
	return p.took(n)
}

// took has p hold n permits, which have just been acquired.
func (p *Permit) took(n int64) *Permit {
	p.n.Store(n)
	if r := p.record(); r != nil {
		r.HandleTook(&p.n, n)
	}
	return p
}

// N returns how many permits the handle holds.
func (p *Permit) N() int64 {
	if p == nil {
		return 0
	}
	return p.n.Load()
}

// Release returns all permits that the handle holds. A second Release does nothing.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	n, r := p.n.Swap(0), p.record()
	switch {
	case n == 0:
	case r != nil && r.HandleReleasing(&p.n):
		if p.tenant != nil {
			cedeIf(p.s.accounts().release(*p.tenant, n, -1))
		} else {
			p.s.giveBack(n)
		}
	case p.tenant != nil:
		p.s.As(*p.tenant).Release(n)
	default:
		p.s.Release(n)
	}
}

// record returns the record of the handle's semaphore, nil if that is not observed.
func (p *Permit) record() observed.Record {
	if p.s != nil && p.s.e.IsObserved() {
		return observed.Of(p.s)
	}
	return nil
}

// Forget empties the handle without returning the permits, and returns how many there were. They
// stay held: the caller is responsible for them. It returns them with a Release of the semaphore,
// or never, which makes the semaphore smaller.
func (p *Permit) Forget() int64 {
	if p == nil {
		return 0
	}
	if r := p.record(); r != nil {
		r.HandleForgets(&p.n)
	}
	return p.n.Swap(0)
}

// Split moves n permits to a new handle. It panics, and moves nothing, if n is negative or more
// than the handle holds.
func (p *Permit) Split(n int64) *Permit {
	if n < 0 {
		panic("semaphore: split of a negative number of permits")
	}
	if p == nil {
		if n > 0 {
			panic(overSplit(n, 0))
		}
		return nil
	}
	for { // A retry follows only another's success.
		o := p.n.Load()
		if n > o {
			panic(overSplit(n, o))
		}
		if p.n.CompareAndSwap(o, o-n) {
			q := &Permit{s: p.s, tenant: p.tenant}
			q.n.Store(n)
			if r := p.record(); r != nil {
				r.HandleSplits(&p.n, &q.n, n)
			}
			return q
		}
	}
}

func overSplit(n, held int64) string {
	return "semaphore: split of " + strconv.FormatInt(n, 10) +
		", but the permit holds " + strconv.FormatInt(held, 10)
}

// Merge moves all permits of q, which may be nil, into p, and leaves q empty. It panics, and moves
// nothing, if they are of different semaphores or tenants, or p is nil. Merging a handle into
// itself does nothing. For concurrent users of the handles Merge is two steps: in between the
// permits are held, but in neither handle.
func (p *Permit) Merge(q *Permit) {
	if q == nil || p == q {
		return
	}
	switch {
	case p == nil:
		panic("semaphore: merge into a nil permit")
	case p.s != q.s:
		panic("semaphore: merge of permits of different semaphores")
	case p.tenant != q.tenant && (p.tenant == nil || q.tenant == nil || *p.tenant != *q.tenant):
		panic("semaphore: merge of permits of different tenants")
	}
	if r := p.record(); r != nil {
		r.HandlesMerge(&p.n, &q.n)
	}
	p.n.Add(q.n.Swap(0))
}
