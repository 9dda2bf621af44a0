package records

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/xsync"
)

// A moment is who has called a hook, when and where. What it takes is found before the record is
// locked.
type moment struct {
	agent agents.Agent
	at    int64
	stack *Stack
}

// thisMoment returns that of the caller.
//
//go:norace
func thisMoment() moment { return moment{agents.Self(), xsync.Now(), here()} }

// newLocked returns an entry of a request.
//
//go:norace
func (r *Record) newLocked(q observed.Request, m moment) *entry {
	e := r.getLocked()
	e.Hold = Hold{
		ID: r.newIDLocked(), Agent: m.agent, Since: m.at, Stack: m.stack, weight: 1,
		Permits: q.N, Shared: q.Shared, Tenant: q.Tenant, Key: q.Key, Call: q.Call, hash: q.Hash,
	}
	return e
}

// newIDLocked returns a number that nothing else in the process has.
//
//go:norace
func (r *Record) newIDLocked() uint64 {
	if r.idsLeft == 0 {
		r.idsLeft = 1 << 6
		r.ids = observed.NewIDs(r.idsLeft)
	}
	r.idsLeft--
	r.ids++
	return r.ids - 1
}

// maxSpare is how many entries a record keeps for reuse.
const maxSpare = 64

// getLocked returns an entry that has been freed, or a new one.
//
//go:norace
func (r *Record) getLocked() *entry {
	e := r.spare
	if e == nil {
		return new(entry)
	}
	r.spare, e.next = e.next, nil
	r.spares--
	return e
}

//go:norace
func (r *Record) freeLocked(e *entry) {
	e.Hold = Hold{} // it must keep no labels alive
	if r.spares < maxSpare {
		e.next, r.spare = r.spare, e
		r.spares++
	}
}

// addHold records a hold of the caller.
//
//go:norace
func (r *Record) addHold(q observed.Request) {
	m := thisMoment()
	r.mu.enter()
	r.atOnce++
	if r.Level() == observed.Holders { // still
		r.holdLocked(r.newLocked(q, m))
	}
	r.mu.leave()
}

// addWait records a wait of the caller.
//
//go:norace
func (r *Record) addWait(q observed.Request, canEnd bool) *entry {
	m := thisMoment()
	r.mu.enter()
	defer r.mu.leave()
	e := r.newLocked(q, m)
	e.CanEnd = canEnd
	r.pushLocked(&r.waits, e)
	r.peakLocked()
	return e
}

// peakLocked notes how many requests wait, and futures whose owners have not seen the outcome.
//
//go:norace
func (r *Record) peakLocked() { r.peak.Store(max(r.peak.Load(), int64(r.waits.n-r.asking))) }

// holdLocked records the hold e. Without its key, which nobody asks for below Holders, it is one
// that began before: its permits are those of an unknown holder. A hold of no key would stay, for
// its release will name the key.
//
//go:norace
func (r *Record) holdLocked(e *entry) {
	if r.kind.Keys && e.Key == "" {
		r.unknown += e.Permits
		r.freeLocked(e)
		return
	}
	r.pushLocked(&r.holds, e)
}

// pushLocked puts e into a list. If there is no room the oldest goes.
//
//go:norace
func (r *Record) pushLocked(l *entries, e *entry) {
	switch {
	case l == &r.holds && l.n >= maxHolds:
		r.droppedHolds++
		r.forgetLocked(l.first, e.Since)
	case l == &r.waits && l.n >= maxWaits:
		r.droppedWaits++
		r.removeWaitLocked(l.first, e.Since) // its End, if it is not a future's, frees it
	}
	p := r.pressureLocked(e.Key, e.Since)
	if l == &r.waits {
		p.waiting++
	} else {
		p.held += e.Permits
		e.before = p.sum
	}
	l.push(e)
	if l == &r.holds {
		e.hand.join(r, e)
	}
}

//go:norace
func (r *Record) removeWaitLocked(e *entry, now int64) {
	r.pressureLocked(e.Key, now).waiting--
	r.disownLocked(e)
	r.waits.remove(e)
	if e.Future && !e.waited {
		r.asking--
	}
}

// forgetLocked drops a hold. Its permits are those of an unknown holder from now on.
//
//go:norace
func (r *Record) forgetLocked(e *entry, now int64) {
	r.pressureLocked(e.Key, now).held -= e.Permits
	r.unknown += e.Permits
	r.holds.remove(e)
	r.disownLocked(e)
	r.freeLocked(e)
}

// endWait ends the wait of e. If it was granted permits a hold follows.
//
//go:norace
func (r *Record) endWait(e *entry, granted bool) {
	now := xsync.Now()
	r.mu.enter()
	if granted {
		r.granted.Add(1)
		r.wait.add(now-e.Since, 1)
	}
	if e.in != nil {
		r.removeWaitLocked(e, now)
	}
	if e.Permits > 0 { // otherwise it was for a signal, and in nobody's way
		s := r.siteLocked(e.Stack)
		s.Waits++
		s.Delay += now - e.Since
	}
	if granted && e.Permits > 0 && r.Level() == observed.Holders {
		e.ID, e.Since = r.newIDLocked(), now
		e.CanEnd, e.Future, e.Granted = false, false, false
		r.holdLocked(e)
	} else {
		r.freeLocked(e)
	}
	r.mu.leave()
}

// endHold forgets n permits that are about to be released: of the caller's holds, the newest first;
// then unknown ones; then of the oldest hold, because who releases for another has probably taken
// over what was taken longest ago.
//
//go:norace
func (r *Record) endHold(q observed.Request) {
	me, now, n := agents.Who(), xsync.Now(), q.N
	r.mu.enter()
	own := r.Level() == observed.Holders // still
	for e := r.holds.last; own && e != nil && n > 0; {
		prev := e.prev
		if e.Agent.Is(&me) && e.isOf(q) && !e.handle {
			n = r.reduceLocked(e, n, now, false)
		}
		e = prev
	}
	if own && n == 0 {
		r.released++
	}
	r.mu.leave()
	if own && n > 0 {
		r.endOthers(q, n, now)
	}
}

// endOthers forgets n permits that the caller is about to release and has not acquired.
func (r *Record) endOthers(q observed.Request, n, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Holders { // any more
		return
	}
	if q.Key != "" && !r.holds.has(q) {
		return // of a key all of whose holders are unknown
	}
	r.boundUnknownLocked()
	d := min(n, r.unknown)
	r.unknown -= d
	if n -= d; n == 0 {
		return // It may well be the caller who had acquired them.
	}
	r.handed++
	for e := r.holds.first; e != nil && n > 0; {
		next := e.next
		if e.isOf(q) && !e.handle {
			n = r.reduceLocked(e, n, now, true)
			r.doubtLocked(q)
		}
		e = next
	}
}

// isOf reports whether e is a hold of the kind that q asks for.
//
//go:norace
func (e *entry) isOf(q observed.Request) bool { return e.Shared == q.Shared && e.Key == q.Key }

// has reports whether a hold of the list is.
//
//go:norace
func (l *entries) has(q observed.Request) bool {
	for e := l.first; e != nil; e = e.next {
		if e.isOf(q) {
			return true
		}
	}
	return false
}

// share makes the caller's newest hold of n permits that of a reader.
//
//go:norace
func (r *Record) share(n int64) {
	me := agents.Who()
	r.mu.enter()
	defer r.mu.leave()
	for e := r.holds.last; e != nil; e = e.prev {
		if e.Agent.Is(&me) && e.Permits == n && !e.Shared && !e.handle {
			e.Shared = true
			return
		}
	}
}

// reduceLocked takes n permits from a hold, and returns how many it did not have. handed says that
// another agent than the acquirer releases them.
//
//go:norace
func (r *Record) reduceLocked(e *entry, n, now int64, handed bool) int64 {
	p, d, s := r.pressureLocked(e.Key, now), min(n, e.Permits), r.siteLocked(e.Stack)
	s.Blame += e.blameLocked(p, d)
	p.held -= d
	if handed {
		s.Handed++
	}
	if n < e.Permits {
		r.holds.resize(e, -n)
		return 0
	}
	n -= e.Permits
	s.Holds++
	s.Held += now - e.Since
	r.hold.add(now-e.Since, e.weight)
	r.holds.remove(e)
	r.disownLocked(e)
	r.freeLocked(e)
	return n
}

// doubtLocked marks the holds of a kind as approximate: one that is not there may hold in the place
// of each of them.
//
//go:norace
func (r *Record) doubtLocked(q observed.Request) {
	for e := r.holds.first; e != nil; e = e.next {
		if e.isOf(q) && !e.handle {
			e.Approximate = true
		}
	}
}

// maxSamples is how many holds are timed at a time at Counts.
const maxSamples = 16

// sampleHold times a hold of the caller, which stands for weight many.
//
//go:norace
func (r *Record) sampleHold(n, weight int64) {
	me, now := agents.Who(), xsync.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Counts { // any more
		return
	}
	if r.holds.n >= maxSamples { // released by others, without a trace
		old := r.holds.first
		r.holds.remove(old)
		r.freeLocked(old)
	}
	e := r.getLocked()
	e.Agent, e.Permits, e.weight, e.Since = me, n, weight, now
	r.holds.push(e)
	r.seen.Store(1)
}

// endSample ends the caller's newest hold of the sample, if there is one; and one that the monitor
// has seen to last.
//
//go:norace
func (r *Record) endSample() {
	me, now := agents.Who(), xsync.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Counts { // any more
		return
	}
	if r.stamp != 0 {
		if n, ok := r.lock.Numbers(); !ok || r.acquiredLocked(n.Passed) != r.last {
			r.stamp = 0
		}
	}
	e := r.holds.last
	for e != nil && !e.Agent.Is(&me) {
		e = e.prev
	}
	switch {
	case e != nil:
		if r.stamp != 0 {
			e.weight = 1 // all that were seen are counted
		}
		r.hold.add(now-e.Since, e.weight)
		r.holds.remove(e)
		r.freeLocked(e)
	case r.stamp != 0:
		r.hold.add(now-r.stamp, 1)
	}
	if r.holds.n == 0 && r.stamp == 0 {
		r.seen.Store(0)
	}
}
