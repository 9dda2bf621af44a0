package limit

import (
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// A Permit is the right of one request to use the resource. It ends by the first call of Success,
// Dropped or Ignore, from any goroutine, which releases what it holds. Further calls do nothing. So
// a deferred Ignore is right on every path.
//
// A nil *Permit holds nothing, and its methods do nothing. A permit that is never ended keeps its
// part of the limit for ever. A Permit must not be copied.
type Permit struct {
	_        noCopy
	l        *Limiter
	tenant   any // whose permits they are; nil: nobody's
	n        int64
	inFlight int64 // when it began, itself included
	began    int64
	ended    xsync.Uint32 // 1, once it has
}

// Success ends a request that the resource has answered. Its latency counts.
func (p *Permit) Success() { p.end(false) }

// Dropped ends a request that failed because of overload: the resource refused it, or it took too
// long. If that happens to more than 5 % of the requests of a window, the limit falls. The latency
// of those that were given up late counts, too.
func (p *Permit) Dropped() { p.end(true) }

// Ignore ends a request that says nothing about the resource: the client went away, or the request
// was wrong.
func (p *Permit) Ignore() { p.release() }

// end releases the permits, and counts the request if it was not ended before.
func (p *Permit) end(dropped bool) {
	now := xsync.Now() // before others are woken
	if !p.release() {
		return
	}
	if took := now - p.began; took >= 0 && took < otherClock {
		p.l.add(now, Sample{RTT: time.Duration(took), InFlight: p.inFlight, Dropped: dropped})
	}
}

// release releases the permits, and reports whether it did.
func (p *Permit) release() bool {
	if p == nil || !p.ended.CompareAndSwap(0, 1) { // invariant 3 of Limiter
		return false
	}
	p.l.inFlight.Add(-p.n) // first: invariant 6
	p.giveBack()
	return true
}

// giveBack returns the permits to the semaphore, as those of their tenant.
func (p *Permit) giveBack() {
	if p.tenant == nil {
		p.l.sem.Release(p.n)
	} else {
		p.l.sem.As(p.tenant).Release(p.n)
	}
}
