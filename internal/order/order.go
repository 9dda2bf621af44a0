package order

import (
	"math"
	"reflect"
	"time"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Config is what an [Order] does. The zero Config is a line that is first-in-first-out.
type Config struct {
	// Shares divides the permits among the tenants that wait, by weight. A tenant is any comparable
	// value. Weight returns a tenant's weight; if nil, all weigh 1. What is below 1 counts as 1,
	// and what is above [MaxWeight] as that.
	Shares bool
	Weight func(tenant any) int

	// Classes > 0 divides the requests into that many classes. The tenant of a request is then its
	// class, an int from 0, which is the most urgent, to Classes-1. A request that has waited while
	// Aging permits were popped counts as one of the next class, and so on. Classes exclude Shares.
	// There are at most [MaxClasses], because each Pop looks at all.
	Classes, Aging int

	Queue
}

// A policy says which lane comes next.
type policy interface {
	find(tenant any) *lane // nil if nothing of the tenant waits
	// add returns the tenant's lane, for a request that comes. l is find(tenant).
	add(l *lane, tenant any, weight int) *lane
	pushed(t *Ticket) // t is about to join its lane
	changed(l *lane)  // l, which is not empty, has another head
	popped(l *lane)   // the head of l is about to leave, to be served
	emptied(l *lane)  // l has become empty; if it is not for ever, it must not be used again
	idle()            // nothing waits any more
	next() *lane      // the lane whose head comes next, nil if nothing waits
	all() []*lane     // a copy, in an order that depends on the calls alone
	// needed returns how many permits are popped until a request for n would be, with its own. l is
	// find(tenant), and total is what waits.
	needed(l *lane, tenant any, weight int, n, total float64) float64
}

// An Order holds the requests that wait, and decides which comes next. Its user guards it with a
// lock. Push, Pop and Remove take O(log tenants) or O(classes), amortized over those they shed, and
// allocate nothing while as many wait as before.
//
// Invariants, each with a test that fails without it:
//
//  1. A request that was pushed leaves exactly once: it is popped, removed, or put on a wake list.
//     A ticket has its waiter while that one waits, and no longer. (FuzzAgainstModel)
//  2. A lane holds its tickets in the order of their arrival. (FuzzAgainstModel)
//  3. The last request of all is never shed. So Pop returns nil only if nothing waits.
//     (FuzzAgainstModel)
//  4. An Order in which nothing waits holds no more memory than a new one, 64 spare tickets and
//     lanes, and the tenant that was next last. (TestAMillionTenantsLeaveNothingBehind)
//
// Those of the policies are at shares and classes.
type Order struct {
	config Config     // never changes but for Queue
	late   xsync.Bool // config.RefuseLate; written by Set, read without the lock
	policy policy

	size    int   // requests that wait
	permits int64 // and for how much
	seq     uint64
	last    any // the tenant of the request that was popped last
	rate    rate
	undated bool // requests wait whose time counts from the next call

	spare spares[*Ticket]
}

// New returns an empty Order. It panics if the config contradicts itself.
func New(c Config) *Order {
	o := &Order{config: c}
	o.late.Store(c.RefuseLate)
	switch {
	case c.Classes < 0 || c.Classes > MaxClasses || c.Classes > 0 && c.Shares:
		panic("farad: an order has either shares or priorities, of 1 to 256 classes")
	case c.Shares:
		o.policy = &shares{}
	case c.Classes == 0:
		o.policy = newClasses(1, 1)
	case c.Aging < 1:
		panic("farad: the aging of priorities is at least one permit")
	default:
		o.policy = newClasses(c.Classes, c.Aging)
	}
	return o
}

// Check panics if the tenant is not allowed. It reads only what never changes, so it is called
// without the lock that guards the Order.
func (o *Order) Check(tenant any) {
	switch {
	case o.config.Classes > 0:
		if class, ok := tenant.(int); !ok || class < 0 || class >= o.config.Classes {
			panic("farad: the class of a request is an int from 0 to the number of classes - 1")
		}
	case o.config.Shares:
		switch tenant.(type) {
		case nil, string, int, int64, uint64: // by far the most; reflection costs as much as an acquire
		default:
			// Go cannot compare some, and one that is not itself (a NaN) could never be found
			// again.
			if !reflect.ValueOf(tenant).Comparable() || !equal(tenant, tenant) {
				panic("farad: a tenant is a comparable value that equals itself")
			}
		}
	}
}

func equal(a, b any) bool { return a == b }

// Weigh returns the weight of a tenant, for Push. It calls Config.Weight. So it is called without
// the lock that guards the Order, of which it reads only what never changes.
func (o *Order) Weigh(tenant any) int {
	if o.config.Weight == nil {
		return 1
	}
	return max(1, min(o.config.Weight(tenant), MaxWeight))
}

// RefusesLate reports whether Push looks at deadlines. It is called without the lock that guards
// the Order, so it may be out of date when it returns.
func (o *Order) RefusesLate() bool { return o.late.Load() }

// Len returns how many requests wait.
func (o *Order) Len() int { return o.size }

// A By is who asks, and until when.
type By struct {
	Tenant   any
	Weight   int   // as Weigh has said
	Deadline int64 // 0: none

	// Permits is how many there are in all, held or free, if the request is to have given its own
	// back by the deadline. It is 0 if it is enough to have got them by then.
	Permits int64
}

// Push queues w, for w.N ≥ 1 permits, and returns its ticket and [waiter.Pending]. Or it returns
// nil and why w may not wait: [waiter.QueueFull] or [waiter.WouldExpire]. by.Weight is what Weigh
// has said of the tenant. If not Timed, now and the deadline are not used. staged reports whether
// the request that was popped last still waits: it counts as one that waits. The requests that Push
// sheds it adds to wake.
func (o *Order) Push(w *waiter.Waiter, by By, now int64, staged bool, wake *waiter.WakeList) (*Ticket, waiter.Outcome) {
	o.date(now)
	by.Tenant = o.key(by.Tenant)
	l := o.policy.find(by.Tenant)
	if l != nil && o.config.Shed == ShedAdaptiveLIFO {
		if o.adapt(l, now, wake); l.size == 0 {
			l = nil
		}
	}
	if o.size == 0 && !staged {
		o.rate.idle()
	}
	if outcome := o.refuse(l, by, w.N, now, staged); outcome != waiter.Pending {
		return nil, outcome
	}
	l = o.policy.add(l, by.Tenant, by.Weight)
	t := o.spare.take()
	if t == nil {
		t = &Ticket{}
	}
	l.tenant = by.Tenant
	t.w, t.lane, t.n, t.seq, t.at = w, l, charge(w.N), o.seq, now
	o.seq++
	o.size++
	o.permits += t.n
	o.policy.pushed(t)
	if l.push(t); l.head() == t {
		o.policy.changed(l)
	}
	return t, waiter.Pending
}

// Stage notes that a request for n permits found nothing that waits, and is next without having
// been pushed. held reports whether no permit has been free since the last request was served.
func (o *Order) Stage(tenant any, n, now int64, held bool) {
	o.last = o.key(tenant)
	if o.Timed() {
		o.rate.staged(now, charge(n), held)
	}
}

// Divided reports whether tenants or classes have lanes of their own.
func (o *Order) Divided() bool { return o.config.Shares || o.config.Classes > 0 }

// key returns whose lane a request joins.
func (o *Order) key(tenant any) any {
	if o.Divided() {
		return tenant
	}
	return nil // all are one
}

// Pop takes out the request that comes next and returns its waiter, or nil if nothing waits. The
// requests that it sheds instead it adds to wake.
func (o *Order) Pop(now int64, wake *waiter.WakeList) *waiter.Waiter {
	o.date(now)
	l := o.policy.next()
	for l != nil && o.settle(l, now, wake) { // Each turn has shed requests, or has made a lane newest-first.
		first := o.policy.next()
		if first == l {
			break
		}
		l = first
	}
	if l == nil {
		return nil
	}
	t := l.head()
	w := t.w
	if o.Timed() {
		o.rate.popped(now, t.n, o.size)
	}
	o.last = l.tenant
	o.policy.popped(l)
	o.take(t)
	return w
}

// Remove takes w out, whose ticket is t, and reports whether it still waited.
func (o *Order) Remove(t *Ticket, w *waiter.Waiter) bool {
	if t.w != w {
		return false
	}
	o.take(t)
	return true
}

// Reject ends the requests for more than largest permits with [waiter.TooLarge].
func (o *Order) Reject(largest int64, wake *waiter.WakeList) { o.end(largest, waiter.TooLarge, wake) }

// Drain ends all requests.
func (o *Order) Drain(outcome waiter.Outcome, wake *waiter.WakeList) { o.end(0, outcome, wake) }

func (o *Order) end(largest int64, outcome waiter.Outcome, wake *waiter.WakeList) {
	for _, l := range o.policy.all() {
		for t := l.front; t != nil; {
			w, next := t.w, t.next
			if w.N > largest {
				o.take(t)
				wake.Add(w, outcome)
			}
			t = next
		}
	}
}

// Delay returns how long a request for n permits would have waited if it had come at the time that
// Push or Pop was told last. It is 0 while too little has been measured, and if not Timed.
func (o *Order) Delay(tenant any, weight int, n int64) time.Duration {
	ns := o.predict(o.policy.find(tenant), tenant, weight, n, o.rate.now)
	return time.Duration(min(ns, math.MaxInt64/2))
}

// take unlinks t, which waits, and forgets it.
func (o *Order) take(t *Ticket) {
	l := t.lane
	head := l.head() == t
	l.unlink(t)
	o.size--
	o.permits -= t.n
	*t = Ticket{}
	o.spare.put(t, o.size)
	switch {
	case l.size == 0:
		o.policy.emptied(l)
	case head:
		o.policy.changed(l)
	}
	if o.size == 0 {
		o.seq = 0
		o.policy.idle()
	}
}

// shed ends the request of t, which waits.
func (o *Order) shed(t *Ticket, wake *waiter.WakeList) {
	w := t.w
	o.take(t)
	wake.Add(w, waiter.Shed)
}
