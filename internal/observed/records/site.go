package records

import (
	"cmp"
	"context"
	"hash/maphash"
	"runtime/trace"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// A Site is what the waits and holds of one stack have taken, of those that have ended.
type Site struct {
	Stack *Stack // nil: of all for which there was no room
	Waits uint64
	Delay int64 // of the waits
	Holds uint64
	Held  int64 // of the holds

	Handed uint64 // holds that others have released, at least in part
	Blame  int64  // how long others have waited for what was held

	next *Site
}

// maxSites is how many stacks a record distinguishes.
const maxSites = 256

// sites has those of a record, in lists by the addresses of their stacks.
type sites struct {
	lists [1 << siteBits]*Site
	n     int
}

const siteBits = 4

// siteLocked returns the site of a stack.
//
//go:norace
func (r *Record) siteLocked(s *Stack) *Site {
	at := &r.sites.lists[spread(xsync.Address(s), 64-siteBits)]
	for x := *at; x != nil; x = x.next {
		if x.Stack == s {
			return x
		}
	}
	if s != nil && r.sites.n >= maxSites {
		return r.siteLocked(nil)
	}
	*at = &Site{Stack: s, next: *at}
	r.sites.n++
	return *at
}

// readSitesLocked returns the sites, those first that cost most.
func (r *Record) readSitesLocked() []Site {
	var all []Site
	for _, x := range r.sites.lists {
		for ; x != nil; x = x.next {
			all = append(all, *x)
		}
	}
	slices.SortFunc(all, func(a, b Site) int { return cmp.Compare(b.Delay+b.Blame, a.Delay+a.Blame) })
	return all
}

// A pressure says how much the waiters press on each permit that is held: the sum over time of the
// number of waits divided by that of permits held. What a hold is to blame for is the growth of the
// sum meanwhile, for each of its permits. So blame is computed by a few instructions where anything
// changes, and all blame together is all delay, but for that on unknown holders.
type pressure struct {
	waiting int
	held    int64
	sum     float64 // nanoseconds of waits for each permit
	at      int64   // until when the sum has been computed
}

// keys is how many pressures a table of locks has. Keys that share one share blame.
const keys = 64

var keySeed = maphash.MakeSeed()

// otherClock is a time that no clock shows after the other, but that of a synctest bubble and that
// of the monitor outside, which are decades apart.
const otherClock = int64(5 * 365 * 24 * time.Hour)

// pressureLocked returns the pressure on a key at a time.
//
//go:norace
func (r *Record) pressureLocked(key string, now int64) *pressure {
	p, unknown := &r.pressure, r.unknown
	if key != "" {
		if r.keyed == nil {
			r.keyed = new([keys]pressure)
		}
		p, unknown = &r.keyed[maphash.String(keySeed, key)%keys], 0
	}
	if p.waiting > 0 {
		now = max(now, p.at) // times are read before the lock is taken, and may come in another order
		if now-p.at > otherClock {
			now = p.at
		}
		if held := p.held + unknown; held > 0 {
			p.sum += float64(now-p.at) * float64(p.waiting) / float64(held)
		}
	}
	p.at = now
	return p
}

// blameLocked returns what n permits of a hold are to blame for.
//
//go:norace
func (e *entry) blameLocked(p *pressure, n int64) int64 {
	return int64(float64(n) * (p.sum - e.before))
}

// region begins a region of the execution trace if that is on, otherwise it returns nil. The region
// ends on the same goroutine.
func (r *Record) region() any {
	if !trace.IsEnabled() {
		return nil
	}
	r.mu.Lock()
	name := cmp.Or(r.name, r.kind.Name)
	r.mu.Unlock()
	return trace.StartRegion(context.Background(), "wait for "+name)
}
