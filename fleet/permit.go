package fleet

import (
	"context"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/observe/hook"
)

// A Permit is a handle to permits that are held, and reports whether they can still be relied on.
// Its Release may be called more than once, so a deferred Release is always correct.
//
// A nil *Permit holds nothing: N, Valid and Release know it. Several goroutines may call the
// methods at a time. A Permit must not be copied.
type Permit struct {
	d     *driver
	t     *tenancy
	n     hook.Handle
	token fence.Token

	// Of an election, whose permit is a term with a context of its own; otherwise nil.
	ctx context.Context //nolint:containedctx // of who works in the term
	end context.CancelFunc
}

func newPermit(d *driver, t *tenancy, n int64) *Permit {
	p := &Permit{d: d, t: t}
	p.n.Store(n)
	seq, stamp := t.Token()
	if stamp != nil { // of 0 permits there may be none
		p.token = fence.Token{Rev: stamp.Rev, Seq: seq, Lease: t.session.Load().lease, Survivors: stamp.Holders}
	}
	if r, ok := d.observable.Of(d); ok && n > 0 {
		r.HandleTook(&p.n, n)
	}
	return p
}

// N returns how many permits the handle holds, lost or not.
func (p *Permit) N() int64 {
	if p == nil {
		return 0
	}
	return p.n.Load()
}

// Token returns what a resource must be shown so that it can refuse this holder once another one
// has come after a loss. The tokens of a fleet grow with every grant.
func (p *Permit) Token() fence.Token { return p.token }

// Valid reports whether the permits are held and can be relied on at this moment. It looks at the
// clocks.
func (p *Permit) Valid() bool { return p.N() > 0 && p.t.valid() }

// Lost returns a channel that is closed when the permits can no longer be relied on: by a fifth of
// the TTL before others can get them. Release does not close it.
func (p *Permit) Lost() <-chan struct{} { return p.t.ctx.Done() }

// Context returns a context that ends when Lost is closed. Its cause is then ErrLost. All permits
// that a process holds of a semaphore at a time have the same one, and Release does not end it. The
// term of an [Election] has one of its own, which Release ends.
func (p *Permit) Context() context.Context {
	if p.ctx != nil {
		return p.ctx
	}
	return p.t.ctx
}

// Release returns all permits that the handle holds. A second Release does nothing. Permits that
// are lost are released as well: the process waits for that before it forgets them.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	n := p.n.Swap(0)
	if n == 0 {
		return
	}
	if p.end != nil {
		p.end()
	}
	if r, ok := p.d.observable.Of(p.d); ok && r.HandleReleasing(&p.n) {
		p.t.Release(n)
	} else {
		p.d.releaseOf(p.t, n)
	}
	if p.t.over.Load() {
		p.d.forget()
	}
	if p.d.released != nil {
		p.d.released()
	}
}
