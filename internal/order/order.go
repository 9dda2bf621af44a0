package order

import (
	"math"
	"reflect"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
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

	// Accounts keeps an account for each tenant that waits or holds permits, and Debit is what the
	// shares divide. They are for Shares. See ledger.
	Accounts bool
	Debit    Debit

	Queue
}

// A policy says which lane comes next.
type policy interface {
	find(tenant any) *lane // nil if nothing of the tenant waits
	// join puts t at the back of the tenant's lane. l is find(tenant).
	join(l *lane, t *Ticket, tenant any, weight int)
	next() *lane // the lane whose head comes next, nil if nothing waits
	// leave takes t out of its lane. A lane that is empty then must not be used again. If t is
	// served, it is the head.
	leave(t *Ticket, served bool)
	changed(l *lane) // l, which is not empty, has another head
	idle()           // nothing waits any more
	all() []*lane    // a copy, in an order that depends on the calls alone
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
//  3. The last request of all is never shed. So Pop returns nil only if nothing waits, or all that
//     wait are at their caps. (FuzzAgainstModel)
//  4. An Order in which nothing waits holds no more memory than a new one, 64 spare tickets and
//     lanes, and the tenants of these, that were next and asked for last.
//     (TestAMillionTenantsLeaveNothingBehind)
//
// Those of the policies are at shares and classes.
type Order struct {
	config Config     // never changes but for Queue
	late   xsync.Bool // config.RefuseLate; written by Set, read without the lock
	timed  bool       // config.timed()
	policy policy
	ledger *ledger // the policy, if it is one

	_ cpu.CacheLinePad // what is above is read by who does not hold the lock

	size    int   // requests that wait
	permits int64 // and for how much
	seq     uint64
	last    any     // the tenant of the request that was popped last
	spare   *Ticket // a list, by next, of tickets that are not in use
	spares  int     // how many

	rate    rate
	undated bool // requests wait whose time counts from the next call
}

// minSpares is how many tickets are kept for later. There are at most as many more as are in use,
// so a line that was long gives its memory back as it gets shorter.
const minSpares = 64

// New returns an empty Order. It panics if the config contradicts itself.
func New(c Config) *Order {
	o := &Order{config: c, timed: c.timed()}
	o.late.Store(c.RefuseLate)
	switch {
	case c.Classes < 0 || c.Classes > MaxClasses || c.Classes > 0 && c.Shares:
		panic("farad: an order has either shares or priorities, of 1 to 256 classes")
	case c.Accounts && !c.Shares:
		panic("farad: accounts are of shares")
	case c.Accounts:
		o.ledger = &ledger{debit: c.Debit}
		o.policy = o.ledger
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
	if _, ok := tenant.(string); ok && o.config.Shares { // by far the most
		return
	}
	switch {
	case o.config.Classes > 0:
		if class, ok := tenant.(int); !ok || class < 0 || class >= o.config.Classes {
			panic("farad: the class of a request is an int from 0 to the number of classes - 1")
		}
	case o.config.Shares:
		switch kind := reflect.ValueOf(tenant).Kind(); {
		case kind == reflect.Pointer, kind == reflect.String, kind <= reflect.Uintptr:
		default:
			if !findable(tenant, tenant) {
				panic("farad: a tenant is a comparable value that equals itself")
			}
		}
	}
}

// findable reports whether a tenant, which is a and b, could be found again. Go cannot compare some
// values, and panics. A NaN is not itself. Reflection would tell, and allocate.
func findable(a, b any) (ok bool) {
	defer func() { _ = recover() }()
	return a == b
}

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

// A By is who asks, and until when. Its five words go by pointer: the compiler keeps only four in
// registers, and copies of more stall the processor.
type By struct {
	Tenant   any
	Weight   int   // as Weigh has said
	Deadline int64 // 0: none

	// Permits is how many there are in all, held or free, if the request is to have given its own
	// back by the deadline. It is 0 if it is enough to have got them by then.
	Permits int64
}

// Push queues w, for w.N ≥ 1 permits, and returns its ticket and [waiting.Pending]. Or it returns
// nil and why w may not wait: [waiting.QueueFull] or [waiting.WouldExpire]. by.Weight is what Weigh
// has said of the tenant. If not Timed, now and the deadline are not used. staged reports whether
// the request that was popped last still waits: it counts as one that waits. The requests that Push
// sheds it adds to wake.
func (o *Order) Push(
	w *waiting.Waiter, by *By, now int64, staged bool, wake *waiting.WakeList,
) (*Ticket, waiting.Outcome) {
	tenant := o.key(by.Tenant)
	l := o.policy.find(tenant)
	if o.Timed() {
		o.date(now)
		if l != nil && o.config.Shed == ShedAdaptiveLIFO {
			if o.adapt(l, now, wake); l.size == 0 {
				l = nil
			}
		}
		if o.size == 0 && !staged {
			o.rate.idle()
		}
		if outcome := o.refuse(l, by, w.N, now, staged); outcome != waiting.Pending {
			return nil, outcome
		}
	}
	t := o.ticket()
	t.w, t.n, t.seq, t.at = w, charge(w.N), o.seq, now
	o.seq++
	o.size++
	o.permits += t.n
	o.policy.join(l, t, tenant, by.Weight)
	return t, waiting.Pending
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
func (o *Order) Pop(now int64, wake *waiting.WakeList) *waiting.Waiter {
	l := o.policy.next()
	if l == nil {
		return nil
	}
	if o.Timed() {
		o.date(now)
		for o.settle(l, now, wake) { // Each turn has shed requests, or has made a lane newest-first.
			first := o.policy.next() // The last request of all is never shed.
			if first == l {
				break
			}
			l = first
		}
	}
	return o.pop(l, now)
}

// pop takes out the head of l, to be served.
func (o *Order) pop(l *lane, now int64) *waiting.Waiter {
	t := l.head()
	if o.Timed() {
		o.rate.popped(now, t.n, o.size)
	}
	w := t.w
	o.last = l.tenant
	o.take(t, true)
	return w
}

// Remove takes w out, whose ticket is t, and reports whether it still waited.
func (o *Order) Remove(t *Ticket, w *waiting.Waiter) bool {
	if t.w != w {
		return false
	}
	o.take(t, false)
	return true
}

// Reject ends the requests for more than largest permits with [waiting.TooLarge].
func (o *Order) Reject(largest int64, wake *waiting.WakeList) { o.end(largest, waiting.TooLarge, wake) }

// Drain ends all requests.
func (o *Order) Drain(outcome waiting.Outcome, wake *waiting.WakeList) { o.end(0, outcome, wake) }

func (o *Order) end(largest int64, outcome waiting.Outcome, wake *waiting.WakeList) {
	for _, l := range o.policy.all() {
		o.endIn(l, largest, outcome, wake)
	}
}

// endIn ends the requests of l for more than largest.
func (o *Order) endIn(l *lane, largest int64, outcome waiting.Outcome, wake *waiting.WakeList) {
	for t := l.front; t != nil; {
		w, next := t.w, t.next
		if w.N > largest {
			o.take(t, false)
			wake.Add(w, outcome)
		}
		t = next
	}
}

// Delay returns how long a request for n permits would have waited if it had come at the time of
// the last Push or Pop. It is 0 while too little has been measured, and if not Timed.
func (o *Order) Delay(tenant any, weight int, n int64) time.Duration {
	ns := o.predict(o.policy.find(tenant), tenant, weight, n, o.rate.now)
	return time.Duration(min(ns, math.MaxInt64/2))
}

// take unlinks t, which waits, and forgets it.
func (o *Order) take(t *Ticket, served bool) {
	o.policy.leave(t, served)
	o.size--
	o.permits -= t.n
	o.put(t)
	if o.size == 0 {
		o.seq = 0
		o.policy.idle()
	}
}

// ticket returns a spare ticket, or a new one.
func (o *Order) ticket() *Ticket {
	t := o.spare
	if t == nil {
		return &Ticket{}
	}
	o.spare, t.next = t.next, nil
	o.spares--
	return t
}

// put keeps t, which waits no longer.
func (o *Order) put(t *Ticket) {
	*t = Ticket{next: o.spare}
	o.spare = t
	o.spares++
	for range 2 { // The bound falls by one with each call, and the call adds one.
		if o.spares > minSpares+o.size {
			o.ticket()
		}
	}
}

// shed ends the request of t, which waits.
func (o *Order) shed(t *Ticket, wake *waiting.WakeList) {
	w := t.w
	o.take(t, false)
	wake.Add(w, waiting.Shed)
}
