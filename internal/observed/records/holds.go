package records

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/xsync"
)

// pool has entries for reuse.
var pool = xsync.Pool{New: func() any { return new(entry) }}

// newEntry returns an entry of the hook's caller: its caller's caller is the hook.
func newEntry(q observed.Request) *entry {
	e := pool.Get().(*entry)
	e.Hold = Hold{
		ID: observed.NewID(), Agent: agents.Self(), Since: xsync.Now(), Stack: here(), weight: 1,
		Permits: q.N, Shared: q.Shared, Tenant: q.Tenant, Key: q.Key, Call: q.Call, hash: q.Hash,
	}
	return e
}

func free(e *entry) {
	e.Hold = Hold{} // it must keep no labels alive
	pool.Put(e)
}

// addHold records a hold of the caller.
func (r *Record) addHold(q observed.Request) {
	e := newEntry(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Holders { // any more
		free(e)
		return
	}
	r.holdLocked(e)
}

// holdLocked records the hold e. Without its key, which nobody asks for below Holders, it is one
// that began before: its permits are those of an unknown holder. A hold of no key would stay, for
// its release will name the key.
func (r *Record) holdLocked(e *entry) {
	if r.kind.Keys && e.Key == "" {
		r.unknown += e.Permits
		free(e)
		return
	}
	r.pushLocked(&r.holds, e)
}

// pushLocked puts e into a list. If there is no room the oldest goes.
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

func (r *Record) removeWaitLocked(e *entry, now int64) {
	r.pressureLocked(e.Key, now).waiting--
	r.disownLocked(e)
	r.waits.remove(e)
}

// forgetLocked drops a hold. Its permits are those of an unknown holder from now on.
func (r *Record) forgetLocked(e *entry, now int64) {
	r.pressureLocked(e.Key, now).held -= e.Permits
	r.unknown += e.Permits
	r.holds.remove(e)
	r.disownLocked(e)
	free(e)
}

// endWait ends the wait of e. If it was granted permits a hold follows.
func (r *Record) endWait(e *entry, granted bool) {
	now := xsync.Now()
	if granted {
		r.wait.add(now-e.Since, 1)
	}
	r.mu.Lock()
	if e.in != nil {
		r.removeWaitLocked(e, now)
	}
	if e.Permits > 0 { // otherwise it was for a signal, and in nobody's way
		s := r.siteLocked(e.Stack)
		s.Waits++
		s.Delay += now - e.Since
	}
	if granted && e.Permits > 0 && r.Level() == observed.Holders {
		e.ID, e.Since = observed.NewID(), now
		e.CanEnd, e.Future, e.Granted = false, false, false
		r.holdLocked(e)
		e = nil
	}
	r.mu.Unlock()
	if e != nil {
		free(e)
	}
}

// endHold forgets n permits that are about to be released: of the caller's holds, the newest first;
// then unknown ones; then of the oldest hold, because who releases for another has probably taken
// over what was taken longest ago.
func (r *Record) endHold(q observed.Request) {
	me, now, n := agents.Who(), xsync.Now(), q.N
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Holders { // any more
		return
	}
	for e := r.holds.last; e != nil && n > 0; {
		prev := e.prev
		if e.Agent.Is(&me) && e.isOf(q) && !e.handle {
			n = r.reduceLocked(e, n, now, false)
		}
		e = prev
	}
	if n == 0 {
		r.released++
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
func (e *entry) isOf(q observed.Request) bool { return e.Shared == q.Shared && e.Key == q.Key }

// has reports whether a hold of the list is.
func (l *entries) has(q observed.Request) bool {
	for e := l.first; e != nil; e = e.next {
		if e.isOf(q) {
			return true
		}
	}
	return false
}

// share makes the caller's newest hold of n permits that of a reader.
func (r *Record) share(n int64) {
	me := agents.Who()
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.holds.last; e != nil; e = e.prev {
		if e.Agent.Is(&me) && e.Permits == n && !e.Shared && !e.handle {
			e.Shared = true
			return
		}
	}
}

// reduceLocked takes n permits from a hold, and returns how many it did not have. handed says that
// another agent than the acquirer releases them.
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
	free(e)
	return n
}

// doubtLocked marks the holds of a kind as approximate: one that is not there may hold in the place
// of each of them.
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
func (r *Record) sampleHold(n, weight int64) {
	e := pool.Get().(*entry)
	e.Agent, e.Permits, e.weight, e.Since = agents.Who(), n, weight, xsync.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Counts { // any more
		free(e)
		return
	}
	if r.holds.n >= maxSamples { // released by others, without a trace
		old := r.holds.first
		r.holds.remove(old)
		free(old)
	}
	r.holds.push(e)
	r.seen.Store(1)
}

// endSample ends the caller's newest hold of the sample, if there is one; and one that the monitor
// has seen to last.
func (r *Record) endSample() {
	me, now := agents.Who(), xsync.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Counts { // any more
		return
	}
	if r.stamp != 0 {
		if n, ok := r.lock.Numbers(); !ok || r.acquired(n.Passed) != r.last {
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
		free(e)
	case r.stamp != 0:
		r.hold.add(now-r.stamp, 1)
	}
	if r.holds.n == 0 && r.stamp == 0 {
		r.seen.Store(0)
	}
}
