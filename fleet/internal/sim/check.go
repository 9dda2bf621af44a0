package sim

import (
	"slices"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
)

// check looks at everything after a step.
func (w *world) check() {
	var inside int64
	for _, p := range w.procs {
		if !p.alive || p.paused {
			continue
		}
		p.tenancies(func(t *tenancy) {
			w.checkBacked(t)
			inside += w.weight(t.engine.held)
		})
	}
	if inside > w.allowed && !w.Deaf && !w.fenced() && !w.restored {
		w.fail("%d are held of %d", inside, w.allowed)
	}
	w.flights = slices.DeleteFunc(w.flights, func(f *flight) bool { return f.copies == 0 })
}

// checkLine looks at the line after a change.
func (w *world) checkLine() {
	held := w.store.held(all)
	w.allowed = max(w.store.size, min(w.allowed, held))
	if held > w.allowed && !w.Tamper && !w.restored {
		w.fail("blocks hold %d of %d", held, w.allowed)
	}
	w.allowedAt[w.store.rev] = w.allowed
}

// checkFits checks that what fits goes on fitting for as long as it exists and the size is the
// same.
func (w *world) checkFits() {
	var sum int64
	for i := range w.store.entries {
		e := &w.store.entries[i]
		sum += e.Weight
		fits := sum <= w.store.size
		if e.fits && !fits && e.fitted == w.store.sizeMod && !w.Tamper {
			w.fail("%d/%d does not hold any more", e.Lease, e.Seq)
		}
		e.fits, e.fitted = fits, w.store.sizeMod
	}
}

// checkOwners checks that each entry is of a tenancy that its process still knows, and that they
// are few: a process has a few that hold, and some that wait and are of no use any more.
func (w *world) checkOwners() {
	if w.restored {
		return
	}
	entries := map[int64]int{}
	for _, e := range w.store.entries {
		entries[e.Lease]++
		s := w.sessions[e.Lease]
		if s == nil || !s.p.alive || s.p.paused || !s.valid() || w.Twice > 0 {
			continue
		}
		owned := false
		s.p.tenancies(func(t *tenancy) { owned = owned || t.made(e.Key) })
		if !owned {
			w.fail("%d/%d is nobody's", e.Lease, e.Seq)
		}
	}
	for lease, n := range entries {
		if w.TxnOps == 0 {
			w.result.Entries = max(w.result.Entries, n)
		}
		if n > mostEntries && w.TxnOps == 0 {
			w.fail("lease %d has %d entries", lease, n)
		}
	}
}

// mostEntries is how many a lease has at most at a time.
const mostEntries = 16

// checkBacked checks that the entries of a tenancy hold what its process may use: now, and after
// any of its transactions that may still be applied.
func (w *world) checkBacked(t *tenancy) {
	_, exists := w.store.leases[t.lease]
	if !t.valid() || t.tampered || w.Pause || w.Jump || w.Revoke && !exists || w.restored {
		return
	}
	if !exists {
		w.fail("lease %d has ended while it is valid", t.lease)
	}
	has := w.store.held(t.made)
	uses := max(w.weight(t.engine.size), w.weight(t.engine.held))
	if uses > has {
		w.fail("lease %d uses %d and holds %d", t.lease, uses, has)
	}
	for _, f := range w.flights {
		if f.by != t || f.copies == 0 {
			continue
		}
		left := has
		for _, op := range f.txn.Ops {
			if f.epoch != w.store.epochs[t.lease] {
				break
			}
			i := w.store.find(op.Key)
			if i < 0 && op.Mod != 0 || i >= 0 && w.store.entries[i].Mod != op.Mod {
				left = has // it will not be applied
				break
			}
			if i >= 0 && w.store.entries[i].held {
				left -= w.store.entries[i].Weight - op.Weight
			}
		}
		if uses > left {
			w.fail("lease %d uses %d and a transaction under way leaves %d", t.lease, uses, left)
		}
	}
}

// made reports whether the tenancy made an entry.
func (t *tenancy) made(k line.Key) bool {
	return k.Lease == t.lease && t.first <= k.Seq && k.Seq < t.end
}

// checkPlanned checks what an agent has decided, on what it knows.
func (w *world) checkPlanned(t *tenancy) {
	a := t.agent
	if a.State().Rev == 0 || t.lost || t.p.cur != t || w.restored {
		return
	}
	others, asked := false, int64(0)
	for e, holds := range a.State().Holding {
		if !t.made(e.Key) {
			others = others || !holds
		} else if !holds {
			asked = max(asked, e.Weight)
		}
	}
	if len(t.engine.queue) > 0 && !t.busy {
		n := t.engine.queue[0].n
		if max(asked, w.weight(t.engine.size)) < w.weight(n) && n <= a.State().Size {
			w.fail("lease %d has %d, waits for %d, and its oldest request is for %d", t.lease, t.engine.size, asked, n)
		}
	}
	given, held := w.weight(t.engine.size), w.weight(t.engine.held)
	if (others || w.Lean) && given > held {
		w.fail("lease %d has %d idle, others wait: %v", t.lease, given-held, others)
	}
	if others && given > 0 && !w.Jump && t.p.clock() >= t.granted+line.Tenure(a.State(), int64(w.Tenure)) {
		w.fail("lease %d still has %d after its tenure", t.lease, given)
	}
}

// checkRung checks that a process whose agent is lean looks at what a release has left idle.
func (w *world) checkRung() {
	for _, p := range w.procs {
		t := p.cur
		if !w.Lean || t == nil || t.lost || t.rung || !p.alive || p.paused || t.agent.State().Rev == 0 {
			continue
		}
		if idle := w.weight(t.engine.size) - w.weight(t.engine.held); idle > 0 {
			w.fail("lease %d has %d idle, and does not look", t.lease, idle)
		}
	}
}

// perEntry is how long an entry delays those behind it once its own turn has come: its process sees
// that somebody waits, its tenure ends, the last holder releases, the driver looks, a transaction
// that is under way is answered, and the one that returns the block arrives.
func (w *world) perEntry() int64 {
	return w.tenure*102/100 + int64(w.Hold+w.Look+5*w.Delay) + 10
}

// turn is called for each entry that begins to hold: no later than the sum of what the entries
// before it may take.
func (w *world) turn(e *entry) {
	if !w.prompt() {
		return
	}
	waited := w.now - e.created
	if e.before == 0 {
		if waited > 0 {
			w.fail("%d/%d waited behind nobody", e.Lease, e.Seq)
		}
		return
	}
	used := float64(waited) / float64(int64(e.before)*w.perEntry())
	w.result.WaitUsed = max(w.result.WaitUsed, used)
	if used > 1 {
		w.fail("%d/%d waited %v behind %d", e.Lease, e.Seq, time.Duration(waited), e.before)
	}
}
