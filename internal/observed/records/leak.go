package records

import (
	"slices"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// A Leak is of something that was collected while it held permits.
type Leak struct {
	Hold
	LockID   uint64
	Lock     string // its name
	Place    []uintptr
	What     string // "lock", "permit" or "future"
	At       int64
	Returned bool  // the permits have been given back
	Owned    bool  // who acquires also releases
	Size     int64 // of the lock, as the record has seen it first
}

// maxLeaks is how many leaks are kept until they are taken.
const maxLeaks = 256

// leaks are those that nobody has taken yet.
var leaks struct {
	mu      xsync.Mutex
	all     []Leak
	dropped uint64
	returns xsync.Bool // permits of handles are given back
}

// ReturnLeaks says whether permits are given back whose handle was collected. It returns what was
// set before.
func ReturnLeaks(on bool) bool { return leaks.returns.Swap(on) }

// TakeLeaks returns the leaks that have been found since the last call, and how many there was no
// room for. It looks for handles and futures that have been collected.
func TakeLeaks() (all []Leak, dropped uint64) {
	records, _ := allRecords()
	for _, r := range records {
		r.findLeaks()
	}
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	all, dropped = leaks.all, leaks.dropped
	leaks.all, leaks.dropped = nil, 0
	return all, dropped
}

// findLeaks reports the permits of owners that have been collected.
func (r *Record) findLeaks() {
	var found []Leak
	r.mu.Lock()
	for e := range r.owned.all {
		switch {
		case e.weak.Value() != nil:
			continue
		case e.in == &r.holds && !e.handle: // a future whose owner knows that it holds
			r.disownLocked(e)
			continue
		case e.in == &r.waits && !r.isMissingLocked(e.Permits):
			r.dropLocked(e)
			continue
		}
		l := r.leakLocked(e)
		l.What = "future"
		if e.handle {
			l.What = "permit"
		}
		l.Returned = leaks.returns.Load() && r.kind.Returns
		switch wait := e.in == &r.waits; {
		case l.Returned && !wait:
			r.reduceLocked(e, e.Permits, l.At, true)
		case l.Returned:
			r.dropLocked(e)
		case wait: // It becomes a hold, which nobody will release.
			r.removeWaitLocked(e, l.At)
			e.handle, e.Future = true, false
			r.pushLocked(&r.holds, e)
		default:
			r.disownLocked(e)
			e.handle = true
		}
		found = append(found, l)
	}
	r.mu.Unlock()
	for i := range found {
		if l := &found[i]; l.Returned {
			l.Returned = r.lock.GiveBack(l.Permits)
		}
		report(found[i])
	}
}

// isMissingLocked reports whether n permits are held that no record has: a future that was
// collected had them. Otherwise its request had failed.
func (r *Record) isMissingLocked(n int64) bool {
	numbers, ok := r.lock.Numbers()
	return ok && numbers.Held() >= n+r.holds.permits+r.unknown
}

// leaked reports what was held of a lock that has been collected.
func (r *Record) leaked() {
	if r.Level() != observed.Holders {
		return
	}
	var found []Leak
	r.mu.Lock()
	for e := r.holds.first; e != nil; e = e.next {
		l := r.leakLocked(e)
		l.What = "lock"
		found = append(found, l)
	}
	r.mu.Unlock()
	for _, l := range found {
		report(l)
	}
}

func (r *Record) leakLocked(e *entry) Leak {
	return Leak{
		Hold: e.Hold, LockID: r.id, Lock: r.name, Place: r.place, At: xsync.Now(), Size: r.size, Owned: r.kind.Owned,
	}
}

func report(l Leak) {
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	if len(leaks.all) >= maxLeaks {
		leaks.all = slices.Delete(leaks.all, 0, 1)
		leaks.dropped++
	}
	leaks.all = append(leaks.all, l)
}
