package records

import (
	"slices"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// A Lock is what a record says, with the numbers of its lock.
type Lock struct {
	ID    uint64
	Name  string
	Place []uintptr // where it was first waited for
	Kind  string
	Level observed.Level
	Owned bool
	Since int64

	observed.Numbers
	Peak    int
	Unknown int64

	Acquired, Contended uint64
	Failed              [numWhys]uint64
	Released, Handed    uint64 // at Holders
	Wait, Hold          Histogram
	Holders, Waiters    []Hold // at Holders, oldest first
	Keys                []Key  // of a table of locks: those that are waited for, at Holders
	Sites               []Site // at Holders
	Fleet               any    // of a lock that processes share: a *hook.Fleet

	DroppedHolds, DroppedWaits uint64
}

// A Key is one of the locks of a table.
type Key struct {
	Text string // as holds and waits have it
	observed.Numbers
	Unknown int64 // permits that no hold has
}

// Read returns what all records say, by ID, and how many locks had no room.
func Read() (locks []Lock, dropped uint64) {
	records, dropped := allRecords()
	for _, r := range records {
		if l, ok := r.read(); ok {
			if x := r.lock.Value(); x != nil && r.kind.Fleet != nil {
				l.Fleet = r.kind.Fleet(x)
			}
			locks = append(locks, l)
		}
	}
	return locks, dropped
}

func (r *Record) read() (l Lock, ok bool) {
	l = Lock{ID: r.id, Kind: r.kind.Name, Owned: r.kind.Owned, Since: r.since, Level: r.Level()}
	for i := range l.Failed {
		l.Failed[i] = uint64(r.failed[i].Load())
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	l.Wait, l.Hold = r.wait.read(), r.hold.read()
	l.Name, l.Place = r.name, r.place
	l.Released, l.Handed = r.released, r.handed
	l.DroppedHolds, l.DroppedWaits = r.droppedHolds, r.droppedWaits
	if l.Level == observed.Holders {
		r.boundUnknownLocked()
		l.Unknown = r.unknown
		l.Holders, l.Waiters, l.Sites = r.holds.read(), r.waits.read(), r.readSitesLocked()
		e := r.holds.first
		for i := range l.Holders {
			p := r.pressureLocked(e.Key, xsync.Now())
			l.Holders[i].Blame = e.blameLocked(p, e.Permits)
			e = e.next
		}
		if r.kind.Keys {
			l.Keys = r.readKeysLocked()
		}
	}
	acquired := r.acquiredLocked(0)  // first: what a lane has had is missing for a moment, and not there twice
	l.Numbers, ok = r.lock.Numbers() // under mu, so that the holds are held
	// A wait that is about to end is counted neither here nor there for a moment.
	r.shown.acquired = max(r.shown.acquired, uint64(max(acquired+l.Passed, 0)))
	r.shown.contended = max(r.shown.contended, uint64(r.granted.Load()+r.late.Load())+uint64(l.Waiting))
	l.Acquired, l.Contended = r.shown.acquired, r.shown.contended
	r.peak.Store(max(r.peak.Load(), int64(l.Waiting)))
	l.Peak = int(r.peak.Load())
	return l, ok
}

// readKeysLocked returns the keys that are waited for. Under mu, the holds of each are held.
func (r *Record) readKeysLocked() (all []Key) {
	at := map[string]int{}
	for e := r.waits.first; e != nil; e = e.next {
		if _, known := at[e.Key]; known || e.Key == "" { // "": see holdLocked
			continue
		}
		at[e.Key] = -1
		if n, ok := r.lock.OfKey(e.hash); ok {
			at[e.Key] = len(all)
			all = append(all, Key{e.Key, n, n.Held()})
		}
	}
	for e := r.holds.first; e != nil; e = e.next {
		if i, ok := at[e.Key]; ok && i >= 0 {
			all[i].Unknown -= e.Permits
		}
	}
	for i := range all {
		if r.unknown == 0 { // It was granted, and its wait is about to become a hold.
			all[i].Unknown = 0
		}
	}
	return all
}

func (l *entries) read() []Hold {
	all := make([]Hold, 0, l.n)
	for e := l.first; e != nil; e = e.next {
		h := e.Hold
		h.Granted = e.grantedLocked()
		all = append(all, h)
	}
	return all
}

// Stamp marks the waits and holds that last, so that they are measured although no clock was read
// when they began. A monitor calls it once in a while.
func Stamp() {
	records, _ := allRecords()
	now := xsync.Now()
	for _, r := range records {
		r.stampAll(now)
	}
}

func (r *Record) stampAll(now int64) {
	if r.Level() != observed.Counts { // otherwise who begins to wait is seen
		return
	}
	n, ok := r.lock.Numbers()
	if !ok {
		return
	}
	r.peak.Store(max(r.peak.Load(), int64(n.Waiting)))
	if r.crowded.Load() && n.Held() > 0 {
		r.agree() // so that the end of what is held now is recorded
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tickLocked(n.Waiting, now)
	switch acquired := r.acquiredLocked(n.Passed); {
	case acquired != r.last || n.Held() <= 0:
		r.last, r.lastAt, r.stamp = acquired, now, 0
	case r.stamp == 0:
		r.stamp = r.lastAt
		r.seen.Store(1)
	}
}

// A tick is a line of waits that the monitor has seen. They are taken to be granted in order: those
// whose grants have the numbers after granted, up to last.
type tick struct{ granted, last, at int64 }

// maxTicks is how many lines are kept: the oldest, in which the longest waits are.
const maxTicks = 64

// tickLocked keeps the line of now, if there is one.
func (r *Record) tickLocked(waiting int, now int64) {
	granted := r.granted.Load()
	r.ticks = slices.DeleteFunc(r.ticks, func(t tick) bool { return t.last <= granted })
	if waiting > 0 && len(r.ticks) < maxTicks {
		r.ticks = append(r.ticks, tick{granted, granted + int64(waiting), now})
		r.line.Store(max(r.line.Load(), granted+int64(waiting)))
	}
}

// sinceTick returns how long ago the monitor first saw the wait whose grant has a number, 0 if it
// never did.
func (r *Record) sinceTick(c int64) int64 {
	if c > r.line.Load() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.ticks {
		if t.granted < c && c <= t.last {
			return max(xsync.Now()-t.at, 1)
		}
	}
	return 0
}

// Wall returns the time at which xsync.Now said t.
func Wall(t int64) time.Time { return time.Now().Add(time.Duration(t - xsync.Now())) }
