package sim

import (
	"errors"

	"github.com/farad-go/farad/fleet/fence"
)

// use is what a goroutine does with its permits: an operation on a resource that checks tokens.
func (w *world) use(r *request) {
	if w.tooMany() {
		w.result.Overlaps++
	}
	if w.Size == 1 && !w.Resize && r.token.Compare(w.last) < 0 && w.keeps(r) {
		w.fail("of one permit, a token of lease %d is less than the last one", r.token.Lease)
	}
	w.fit(r.token)
	var err error
	if r.inside {
		err = w.gate.Check(r.token)
	} else {
		err = w.gate.Begin(r.token, r.n)
		r.inside = true
	}
	switch {
	case err == nil:
	case errors.Is(err, fence.ErrStale):
		w.log("process %d: the resource refuses %v", r.by.p.id, r.token)
		w.result.Refused++
		if w.keeps(r) {
			w.fail("the resource refuses a token of lease %d, which has lost nothing", r.token.Lease)
		}
	case !w.Tamper: // a lease survives what an operator takes from it
		w.fail("the resource: %v", err)
	}
}

// fit gives the gate the size that it needs once a token has come in: what could be held in the
// state of its revision. The gate fails if that is not enough for those inside.
func (w *world) fit(t fence.Token) {
	if t.Rev > w.last.Rev {
		w.gate.Resize(w.allowedAt[t.Rev])
	}
	if t.Compare(w.last) > 0 {
		w.last = t
	}
}

// leave ends the operation of a request, if there is one.
func (w *world) leave(r *request) {
	if r.inside {
		_ = w.gate.End(r.token, r.n) // it may have been evicted
	}
}

// keeps reports whether the entries of a holder's tenancy still hold enough for all its holders.
func (w *world) keeps(r *request) bool {
	t := r.by.p.of(r.engine)
	return !t.tampered && w.store.held(t.made) >= w.weight(t.engine.held)
}

// tooMany reports whether goroutines hold together more than there is, whatever their processes
// think of it.
func (w *world) tooMany() bool {
	var sum, readers int64
	for _, p := range w.procs {
		for _, g := range p.workers {
			switch {
			case g.holding == nil || !p.alive || p.paused:
			case w.rw() && g.holding.n == 1:
				readers = 1 // any number of them
			default:
				sum += g.holding.n
			}
		}
	}
	return sum+readers > w.allowed
}

// stamp returns the token of a request that is served now.
func (t *tenancy) stamp() fence.Token {
	e := &t.engine
	return fence.Token{Rev: e.rev, Seq: e.seq, Lease: t.lease, Survivors: e.holders}
}
