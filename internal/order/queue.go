package order

import (
	"time"

	"github.com/farad-go/farad/internal/waiting"
)

// A Queue is what happens to requests when the line is long. The zero Queue lets any number wait,
// first-in-first-out, for any time.
type Queue struct {
	// MaxWaiting and MaxWaitingPerTenant are how many requests may wait, in all and of one tenant
	// or class. A further one ends with ErrQueueFull. 0 is any number.
	MaxWaiting, MaxWaitingPerTenant int

	// RefuseLate refuses a request that cannot be served before its deadline at the measured rate,
	// or cannot be done by then: see By.Permits. It ends with ErrWouldExpire.
	RefuseLate bool

	// Shed is how requests that have waited for too long are ended, with ErrShed.
	Shed Shed

	// Target is how long a request may wait while too many come, and Interval how long that has to
	// last until any is shed. 0 is 5 ms and 100 ms, and what is above nine years counts as that.
	Target, Interval time.Duration
}

// A Shed is a way to end requests that have waited for too long.
type Shed uint8

// The ways. The last request of all is never shed.
const (
	// ShedNone sheds nothing.
	ShedNone Shed = iota
	// ShedCoDel sheds the oldest request of a lane when those that were served had waited for more
	// than Target throughout an Interval, and more and more often until it helps. Where many more
	// come than can be served, that takes seconds: set MaxWaiting, too. The last request of a lane
	// is not shed.
	ShedCoDel
	// ShedAdaptiveLIFO serves a lane newest first once it has not been empty for an Interval, and
	// then sheds requests that have waited for more than Target. Until then it sheds those that
	// have waited for more than an Interval, and so it does with the last request of a lane in any
	// case. There is no other bound for how often a request is overtaken.
	ShedAdaptiveLIFO
)

const (
	defaultTarget   = 5 * time.Millisecond
	defaultInterval = 100 * time.Millisecond
	maxTime         = 1 << 58 // 16 of them and the time since the process began are a time
)

func (q *Queue) target() int64 {
	if q.Target > 0 {
		return min(int64(q.Target), maxTime)
	}
	return int64(defaultTarget)
}

func (q *Queue) interval() int64 {
	if q.Interval > 0 {
		return min(int64(q.Interval), maxTime)
	}
	return int64(defaultInterval)
}

// Check panics if q contradicts itself.
func (q Queue) Check() {
	if q.MaxWaiting < 0 || q.MaxWaitingPerTenant < 0 || q.Target < 0 || q.Interval < 0 || q.Shed > ShedAdaptiveLIFO {
		panic("farad: no number or time of a queue may be negative, and Shed is one of three")
	}
}

// timed reports whether the clock is looked at: a refusal says how long to back off.
func (q *Queue) timed() bool {
	return q.MaxWaiting > 0 || q.MaxWaitingPerTenant > 0 || q.RefuseLate || q.Shed != ShedNone
}

// Timed reports whether the times that Push and Pop get are used.
func (o *Order) Timed() bool { return o.timed }

// Set changes what happens when the line is long. Requests that wait stay, and those over a new
// maximum, too. If the Order is Timed only from now on, their time counts from the next call.
func (o *Order) Set(q Queue) {
	old := o.config.Queue
	o.config.Queue, o.timed = q, q.timed()
	o.late.Store(q.RefuseLate)
	if !o.timed {
		o.rate = rate{}
	}
	o.undated = o.size > 0 && o.timed && (o.undated || !old.timed())
	if q.Shed == old.Shed {
		return
	}
	for _, l := range o.policy.all() {
		l.codel = codel{}
		if l.newest {
			l.newest = false
			o.policy.changed(l)
		}
	}
}

// date gives the requests whose time begins to count their time.
func (o *Order) date(now int64) {
	if !o.undated {
		return
	}
	o.undated = false
	for _, l := range o.policy.all() {
		l.since = now
		for t := l.front; t != nil; t = t.next {
			t.at = now
		}
	}
}

// refuse returns why a request may not wait, or Pending. l is the tenant's lane, if it has one.
func (o *Order) refuse(l *lane, by *By, n, now int64, staged bool) waiting.Outcome {
	q, all, own := &o.config.Queue, o.size, 0
	o.rate.now = now
	if l != nil {
		own = l.size
	}
	if staged {
		all++
		if o.key(by.Tenant) == o.last {
			own++
		}
	}
	switch {
	case q.MaxWaiting > 0 && all >= q.MaxWaiting, q.MaxWaitingPerTenant > 0 && own >= q.MaxWaitingPerTenant:
		return waiting.QueueFull
	case q.RefuseLate && by.Deadline != 0 && o.size >= probes && o.misses(l, by, n, now):
		return waiting.WouldExpire
	}
	return waiting.Pending
}

// misses reports whether a request that comes now is predicted to miss its deadline.
func (o *Order) misses(l *lane, by *By, n, now int64) bool {
	if !o.rate.known() {
		return by.Deadline < now
	}
	wait := o.predict(l, by.Tenant, by.Weight, n, now)
	return wait+o.rate.held(by.Permits, now, o.size) > float64(by.Deadline-now)
}

// settle sheds what is due before the head of l is served, and reports whether the head may have
// changed.
func (o *Order) settle(l *lane, now int64, wake *waiting.WakeList) bool {
	switch o.config.Shed {
	case ShedCoDel:
		return o.control(l, now, wake)
	case ShedAdaptiveLIFO:
		return o.adapt(l, now, wake)
	default:
		return false
	}
}
