package records

import (
	"unsafe"
	"weak"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// At Holders a wait or a hold may belong to a future, which is known by its node, or to a handle,
// which is known by its number of permits. Their addresses say which record is meant, whichever
// goroutine calls. Weak pointers show what was collected.

// owned are entries in lists by the addresses of their owners. It is no map: the race detector
// would see the hooks there, and not what orders them.
type owned [1 << ownedBits]*entry

const ownedBits = 8

//go:norace
func (o *owned) at(p uintptr) **entry { return &o[spread(p, 64-ownedBits)] }

// of returns the entry of the owner at an address, or nil.
//
//go:norace
func (o *owned) of(p uintptr) *entry {
	if o == nil {
		return nil
	}
	e := *o.at(p)
	for e != nil && e.owner != p {
		e = e.nextOwned
	}
	return e
}

//go:norace
func (o *owned) add(e *entry) {
	at := o.at(e.owner)
	e.nextOwned, *at = *at, e
}

//go:norace
func (o *owned) remove(e *entry) {
	at := o.at(e.owner)
	for *at != e {
		at = &(*at).nextOwned
	}
	*at, e.nextOwned = e.nextOwned, nil
}

// all ranges over the entries that are there when it begins, and when their turn comes.
func (o *owned) all(yield func(*entry) bool) {
	if o == nil {
		return
	}
	var all []*entry
	for _, e := range o {
		for ; e != nil; e = e.nextOwned {
			all = append(all, e)
		}
	}
	for _, e := range all {
		if e.owner != 0 && !yield(e) {
			return
		}
	}
}

// ownLocked makes e that of the owner at p.
func (r *Record) ownLocked(e *entry, p unsafe.Pointer) {
	if r.owned == nil {
		r.owned = new(owned)
	}
	switch old := r.owned.of(uintptr(p)); {
	case old == nil:
	case old.handle: // of one that was collected, and whose leak has not been found yet
		r.owned.remove(old)
		for r.owned.of(old.owner) != nil || old.owner == uintptr(p) {
			old.owner++ // to what is no address
		}
		r.owned.add(old)
	default: // an earlier request's
		r.dropLocked(old)
	}
	e.owner, e.weak = uintptr(p), weak.Make((*byte)(p))
	r.owned.add(e)
}

// disownLocked makes e that of no owner.
//
//go:norace
func (r *Record) disownLocked(e *entry) {
	if e.owner != 0 {
		r.owned.remove(e)
		e.owner, e.weak, e.handle = 0, weak.Pointer[byte]{}, false
	}
}

// dropLocked ends the ownership of e: a hold stays, as that of its agent; a wait is over.
func (r *Record) dropLocked(e *entry) {
	if e.in != &r.waits {
		r.disownLocked(e)
		return
	}
	r.removeWaitLocked(e, xsync.Now())
	r.freeLocked(e)
}

// FutureBegins records that the request of a future is about to be made.
func (r *Record) FutureBegins(q observed.Request, w *waiting.Waiter) {
	if r.Level() != observed.Holders || q.N == 0 {
		return
	}
	m := thisMoment()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Holders { // any more
		return
	}
	e := r.newLocked(q, m)
	e.Future = true
	r.ownLocked(e, unsafe.Pointer(w))
	r.pushLocked(&r.waits, e)
	r.asking++
}

// FutureWaits records that the request of a future has not been granted at once. It does not ask
// the lock how many wait: some look at each of them.
func (r *Record) FutureWaits(w *waiting.Waiter) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.owned.of(uintptr(unsafe.Pointer(w))); e != nil && !e.waited && e.in == &r.waits {
		e.waited = true
		r.asking--
		r.peakLocked()
	}
}

// FutureSeen records the outcome that the owner has seen for the first time. The owner holds now if
// err is nil. It implements [waiting.Recorder], and so do the next two.
func (r *Record) FutureSeen(w *waiting.Waiter, err error) {
	if r.Level() == observed.Off {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.owned.of(uintptr(unsafe.Pointer(w)))
	waits := e != nil && e.in == &r.waits
	switch {
	case err != nil:
		r.failed[whyOf(err)].Add(1)
	case r.Level() == observed.Holders && !waits: // its request began before the record
		r.unknown += w.N
		return
	case e != nil && e.waited:
		r.granted.Add(1)
	default:
		r.took.Add(1)
	}
	if !waits {
		return
	}
	if err != nil || r.Level() != observed.Holders {
		r.dropLocked(e)
		return
	}
	now, s := xsync.Now(), r.siteLocked(e.Stack)
	r.wait.add(now-e.Since, 1)
	s.Waits++
	s.Delay += now - e.Since
	r.removeWaitLocked(e, now)
	r.ownLocked(e, unsafe.Pointer(w))
	e.ID, e.Since, e.Future = r.newIDLocked(), now, false
	e.Agent = agents.Self()
	r.pushLocked(&r.holds, e)
}

// FutureReleasing says that the future is about to give back what it has.
func (r *Record) FutureReleasing(w *waiting.Waiter) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.owned.of(uintptr(unsafe.Pointer(w))); e != nil && e.in == &r.holds {
		r.reduceLocked(e, e.Permits, xsync.Now(), r.isHandedLocked(e))
	}
}

// FutureEnded records that the request of the future has ended. What its owner has seen, and the
// future has not given back, stays the owner's.
func (r *Record) FutureEnded(w *waiting.Waiter) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.owned.of(uintptr(unsafe.Pointer(w))); e != nil {
		r.dropLocked(e)
	}
}

// isHandedLocked counts a release by the caller of what e has, and reports whether another has
// acquired it.
func (r *Record) isHandedLocked(e *entry) bool {
	if me := agents.Who(); e.Agent.Is(&me) {
		r.released++
		return false
	}
	r.handed++
	return true
}

// HandleTook says that the handle h has the n permits that the caller has just taken.
func (r *Record) HandleTook(h *xsync.Int64, n int64) {
	if r.Level() != observed.Holders {
		return
	}
	me := agents.Who()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Level() != observed.Holders { // any more
		return
	}
	for e := r.holds.last; e != nil; e = e.prev {
		if e.Agent.Is(&me) && e.Permits == n && e.owner == 0 {
			r.ownLocked(e, unsafe.Pointer(h))
			e.handle = true
			return
		}
	}
}

// HandleReleasing says that the handle h is about to give back all that it has. It reports false if
// no record says that it has something: the release then is recorded as any other.
func (r *Record) HandleReleasing(h *xsync.Int64) bool {
	if r.Level() != observed.Holders {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.owned.of(uintptr(unsafe.Pointer(h)))
	if e == nil {
		return false
	}
	r.reduceLocked(e, e.Permits, xsync.Now(), r.isHandedLocked(e))
	return true
}

// HandleForgets says that what the handle h has is the caller's from now on.
func (r *Record) HandleForgets(h *xsync.Int64) {
	if r.Level() != observed.Holders {
		return
	}
	me := agents.Self()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.owned.of(uintptr(unsafe.Pointer(h))); e != nil {
		r.disownLocked(e)
		e.Agent = me
	}
}

// HandleSplits says that n permits of the handle h are another's now.
func (r *Record) HandleSplits(h, other *xsync.Int64, n int64) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.owned.of(uintptr(unsafe.Pointer(h)))
	if e == nil || e.Permits <= n || n == 0 || r.holds.n >= maxHolds {
		if e != nil && e.Permits == n { // all
			r.disownLocked(e)
			r.ownLocked(e, unsafe.Pointer(other))
			e.handle = true
		}
		return
	}
	part := r.getLocked()
	part.Hold = e.Hold
	part.ID, part.Permits, part.owner = r.newIDLocked(), n, 0
	r.holds.resize(e, -n)
	r.ownLocked(part, unsafe.Pointer(other))
	part.handle = true
	r.holds.push(part)
}

// HandlesMerge says that what the handle other has is that of h now.
func (r *Record) HandlesMerge(h, other *xsync.Int64) {
	if r.Level() != observed.Holders {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, from := r.owned.of(uintptr(unsafe.Pointer(h))), r.owned.of(uintptr(unsafe.Pointer(other)))
	switch {
	case from == nil:
	case e == nil:
		r.disownLocked(from)
		r.ownLocked(from, unsafe.Pointer(h))
		from.handle = true
	default:
		all := float64(e.Permits + from.Permits)
		e.before = (e.before*float64(e.Permits) + from.before*float64(from.Permits)) / all
		r.holds.resize(e, from.Permits)
		r.holds.remove(from)
		r.disownLocked(from)
		r.freeLocked(from)
	}
}

// grantedLocked reports whether e is the wait of a future that has its permits.
func (e *entry) grantedLocked() bool {
	p := e.weak.Value()
	return e.Future && p != nil && (*waiting.Waiter)(unsafe.Pointer(p)).Status() == waiting.StatusComplete
}
