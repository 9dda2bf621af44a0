package semaphore

import (
	"context"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// WithShares divides the permits among the tenants that wait, by weight. Without it a tenant that
// sends a thousand requests gets a thousand turns. [Semaphore.As] names the tenant of a request:
// any comparable value, which need not be registered. weight returns the weight of a tenant: twice
// the weight is twice the permits. If weight is nil all weigh 1. What is below 1 counts as 1, and
// what is above 1<<20 as that. weight is called without a lock, when a request has to wait; if it
// panics nobody waits. Requests that name no tenant are those of the tenant nil.
//
// Order: self-clocked fair queueing (Golestani 1994). A request for n permits counts n times. Among
// the requests of one tenant the order is first-in-first-out. While only one tenant waits it gets
// everything. A tenant that did not wait has saved nothing up.
//
// Bound: let k be the permits of the requests of a tenant of weight v up to and including one that
// begins to wait. Until that one is served, another tenant of weight w gets at most k·w/v + m
// permits, where m is the most that one of its requests is for. The one request that is next
// already, of whatever tenant, comes first in any case.
//
// Cost: without contention that of a semaphore without the option. A request that waits costs
// O(log t) where t tenants wait, and a call of weight. The steady state allocates nothing. A tenant
// that does not wait takes no memory.
//
// The option excludes WithPriorities, WithCapacitor and WithWaitingArray.
func WithShares(weight func(tenant any) int) Option {
	return func(o *options) { o.ordered, o.order.Shares, o.order.Weight = true, true, weight }
}

// WithMaxInUse lets a tenant of WithShares hold at most as many permits as maxInUse returns of it;
// a negative number is no cap. A request for more than its cap ends with ErrTooLarge. A release
// names the tenant whose permits it gives back: [Tenant.Release].
//
// maxInUse is called without a lock, at each request. After a change of what it returns, the next
// request of the tenant, or [Tenant.Update], has those that wait follow. Permits that are held stay
// held.
//
// Order: that of WithShares, among the requests that their tenants' caps allow. The request of a
// tenant that is at its cap does not hold others up. It waits until its tenant has given back
// enough, and then like a request of a tenant that did not wait before: it has saved nothing up.
//
// Bound: that of WithShares, from when the cap allows the request, and the requests of its tenant
// ahead of it. No request is next already, so there is no exception.
//
// Cost: each acquire and each release takes a mutex, and a tenant that holds permits takes memory,
// 300 bytes. So do up to 64 that have gone, whose values stay reachable. An acquire or a release
// without contention costs a few times what it costs without the option. The steady state allocates
// nothing.
func WithMaxInUse(maxInUse func(tenant any) int64) Option {
	if maxInUse == nil {
		panic("semaphore: WithMaxInUse(nil)")
	}
	return func(o *options) { o.ordered, o.accounts, o.maxInUse = true, true, maxInUse }
}

// A Debit is what WithShares divides.
type Debit = order.Debit

// The debits.
const (
	// DebitGrants divides how many permits are granted.
	DebitGrants = order.DebitGrants
	// DebitTime divides for how long permits are held: two permits for a second count as one for
	// two.
	DebitTime = order.DebitTime
	// DebitCost divides what [Tenant.ReleaseCost] reports, in any unit. A Release without a cost
	// counts as the average of the tenant.
	DebitCost = order.DebitCost
)

// WithDebit says what WithShares divides, which is DebitGrants otherwise. A release names the
// tenant whose permits it gives back: [Tenant.Release].
//
// Order: that of WithShares, where a request counts as what it costs. That is known at the release.
// So a grant is charged what its tenant's permits cost on average, and the release pays the
// difference, or gets it back. A tenant that has used more than its share, and goes, still owes
// when it comes back soon. When nothing waits and nothing is held, nobody owes anything.
//
// Bound: while two tenants wait, what they have used, divided by their weights, differs by at most
// what their permits that are held at a time cost, divided by these.
//
// Cost: that of WithMaxInUse. With DebitTime acquires and releases read the clock.
func WithDebit(d Debit) Option {
	if d > DebitCost {
		panic("semaphore: WithDebit of no debit")
	}
	return func(o *options) { o.ordered, o.accounts, o.order.Debit = true, true, d }
}

// WithParent puts tenants of WithShares within others, as users are within an organisation. parent
// returns the tenant that a tenant is within, nil if there is none. The permits are divided among
// the tenants that are within none. What one of them gets is divided among those within it, and so
// on. Weights, caps and debits are those of each: what is granted, held and used within a tenant is
// granted to it, held and used by it, too. All that the functions of WithShares and WithMaxInUse
// say of it holds for it as for any other tenant. The requests that a tenant makes itself are those
// of one more tenant within it, of the same weight. A Release names the tenant that has acquired.
//
// parent is called without a lock, at each request, for its tenant and for each that it is within,
// and so are the other functions. A tenant that changes its parent moves once nothing of it waits,
// is held, or is still owed by WithDebit. An acquire panics if a tenant is within itself, or within
// more than seven others.
//
// Order: that of WithShares among those within the same tenant. The next request of a tenant is the
// one that comes next of those within it. A tenant whose cap does not allow its next request does
// not hold others up, but those within it wait.
//
// Bound: that of WithShares at each level, among those within the same tenant, where k counts the
// permits of all requests that come to be next within a tenant until the one in question is served.
// So from one level to the next the bounds are multiplied: docs/design/sharing.md.
//
// Cost: that of WithMaxInUse, at each level. A tenant that others are within takes no memory while
// nothing within it waits, is held or is owed. The steady state allocates nothing, unless parent
// does: Go allocates a string or a struct that becomes an any.
func WithParent(parent func(tenant any) any) Option {
	if parent == nil {
		panic("semaphore: WithParent(nil)")
	}
	return func(o *options) { o.ordered, o.accounts, o.parent = true, true, parent }
}

// WithPriorities serves the more urgent of classes first. The tenant of [Semaphore.As] is then
// the class, an int from 0, which is the most urgent, to classes-1. Requests that name none
// are of class 0.
//
// Order: strict, with ageing. A request that has waited while aging permits were granted counts as
// one of the next more urgent class, and so on. Requests that count as the same class are served
// first-in-first-out.
//
// Bound: requests that come later get at most c·aging + m - 1 permits before a request of class c,
// where m is the most that one of them is for. The one request that is next already comes first in
// any case. So nobody starves, and a small aging comes near to first-in-first-out.
//
// Cost: as with WithShares, but O(classes).
//
// WithPriorities panics unless classes and aging are positive, and if there are more than 256
// classes. It excludes WithShares, WithCapacitor and WithWaitingArray.
func WithPriorities(classes, aging int) Option {
	if classes <= 0 || aging <= 0 || classes > order.MaxClasses {
		panic("semaphore: WithPriorities(" + strconv.Itoa(classes) + ", " + strconv.Itoa(aging) +
			"): both must be positive, and there are at most 256 classes")
	}
	return func(o *options) { o.ordered, o.order.Classes, o.order.Aging = true, classes, aging }
}

// A Queue is what happens to requests when the line is long. The zero Queue lets any number wait,
// for any time. A request that it refuses or sheds ends with a [*Refusal].
//
// With WithShares or WithPriorities each tenant or class has a line of its own, which Shed looks
// at. Otherwise there is one. The request that is next is never shed, and neither is the last one
// that waits.
type Queue struct {
	// MaxWaiting is how many requests may wait in all, and MaxWaitingPerTenant how many of one
	// tenant or class: with WithParent those within the tenant do not count. A further one ends
	// with ErrQueueFull. 0 is any number.
	MaxWaiting, MaxWaitingPerTenant int

	// RefuseLate refuses a request that cannot be served and done before its deadline, if permits
	// are granted as fast and held as long as lately. It ends at once with ErrWouldExpire. Both
	// times are averages over the last 32 grants, or as many as wait. The deadline is that of the
	// context. A timeout is for the wait alone: the request has to be served by then, and need not
	// be done. A future has no deadline. Caps of WithMaxInUse are not foreseen: a tenant at its cap
	// may wait for longer. While fewer than two requests wait in line nothing is refused, so that
	// the rate is measured anew.
	RefuseLate bool

	// Shed is how requests that have waited for too long are ended, with ErrShed.
	Shed Shed

	// Target is how long a request may wait while too many come, and Interval how long that has to
	// last until any is shed. 0 is 5 ms and 100 ms.
	Target, Interval time.Duration
}

// A Shed is a way to end requests that have waited for too long.
type Shed = order.Shed

// The ways to shed.
const (
	// ShedNone sheds nothing.
	ShedNone = order.ShedNone
	// ShedCoDel sheds the oldest request of a line when those that were served had waited for more
	// than Target throughout an Interval, and more and more often until it helps (Nichols and
	// Jacobson 2012, RFC 8289). Short bursts pass. The order stays first-in-first-out. The last
	// request of a line is not shed: against many tenants of one request each, set MaxWaiting.
	ShedCoDel = order.ShedCoDel
	// ShedAdaptiveLIFO serves a line newest first once it has not been empty for an Interval, and
	// then sheds requests that have waited for more than Target. Until then it sheds those that
	// have waited for more than an Interval (Maurer, "Fail at Scale", 2015). The last request of a
	// line may wait for an Interval in any case, so a tenant whose share is one request in that
	// time gets its share. Under LIFO no bound on overtaking holds: only these limits and its own
	// deadline end a wait.
	ShedAdaptiveLIFO = order.ShedAdaptiveLIFO
)

// WithQueue says what happens when the line is long. [Semaphore.SetQueue] changes it at run time.
//
// Cost: a request that waits costs what it does with WithShares of one tenant. If q sets more than
// Target and Interval a request that waits reads the clock twice.
//
// WithQueue panics if a number of q is negative, or if MaxWaitingPerTenant is set and there are
// neither shares nor priorities. It excludes WithMaxWaiting, WithCapacitor and WithWaitingArray.
func WithQueue(q Queue) Option {
	q.config().Check()
	return func(o *options) { o.ordered, o.queue, o.order.Queue = true, true, q.config() }
}

func (q Queue) config() order.Queue {
	return order.Queue{
		MaxWaiting: q.MaxWaiting, MaxWaitingPerTenant: q.MaxWaitingPerTenant, RefuseLate: q.RefuseLate,
		Shed: q.Shed, Target: q.Target, Interval: q.Interval,
	}
}

// SetQueue changes what happens when the line is long. Requests that wait stay, also those over a
// new maximum. It panics where WithQueue does, and if the semaphore was made without WithQueue,
// WithShares and WithPriorities.
func (s *Semaphore) SetQueue(q Queue) {
	p, ok := s.p.(interface{ set(q order.Queue) })
	if !ok {
		panic("semaphore: SetQueue without WithQueue, WithShares or WithPriorities")
	}
	p.set(q.config())
}

// A Tenant is a semaphore for the requests of one tenant: see WithShares and WithPriorities. It is
// small, to be made for each request and passed by value. Its methods are those of the semaphore,
// and promise the same. A semaphore without shares and priorities ignores the tenant.
type Tenant struct {
	s      *Semaphore
	tenant any
}

// As returns s for the requests of a tenant. It panics if the tenant cannot be compared, or is no
// class of WithPriorities.
func (s *Semaphore) As(tenant any) Tenant {
	switch p := s.p.(type) {
	case *ordered:
		p.order.Check(tenant)
	case *accounts:
		p.order.Check(tenant)
	}
	return Tenant{s, tenant}
}

// Acquire is [Semaphore.Acquire].
func (t Tenant) Acquire(ctx context.Context, n int64) error {
	s := t.s
	p, ok := s.p.(*ordered)
	if !ok {
		return t.acquireElse(ctx, n)
	}
	if n <= 0 || ctx == nil {
		return s.acquireNothing(ctx, n)
	}
	mayEnd := xsync.MayEnd(ctx)
	if mayEnd {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if s.permits().TryAcquire(n) {
		if mayEnd && (xsync.MayPanic(ctx) || ctx.Err() != nil) {
			return s.permits().Keep(ctx, n)
		}
		return nil
	}
	if s.mayBeObserved() {
		return s.acquireObserved(ctx, n, 0, t.tenant)
	}
	var l waiting.Limit
	if mayEnd {
		l = waiting.UntilDone(ctx)
	}
	var by order.By
	p.ask(&by, l, true, t.tenant)
	k, line, err := s.permits().BeginBy(l, n, &by)
	if k != nil {
		k.Sleeper().SleepInline()
		err = line.End(l, k)
	}
	if err == nil {
		return nil
	}
	return p.explain(err, &by, n)
}

// acquireElse is Acquire where the tenant makes no difference, or has an account.
//
//go:noinline
func (t Tenant) acquireElse(ctx context.Context, n int64) error {
	a := t.s.accounts()
	switch {
	case a == nil:
		return t.s.Acquire(ctx, n)
	case n <= 0 || ctx == nil:
		return t.s.acquireNothing(ctx, n)
	case ctx.Err() != nil:
		return ctx.Err()
	case t.s.mayBeObserved():
		return a.acquireObserved(ctx, 0, t.tenant, n)
	}
	var x stay
	p, err := a.begin(ctx, &x, 0, t.tenant, n)
	if p != nil {
		p.Sleeper().SleepInline()
		err = x.end(p, n)
	}
	return err
}

// AcquireTimeout is [Semaphore.AcquireTimeout].
func (t Tenant) AcquireTimeout(d time.Duration, n int64) error {
	s := t.s
	p, ok := s.p.(*ordered)
	if !ok {
		return t.acquireTimeoutElse(d, n)
	}
	switch {
	case d <= 0 && n >= 0:
		return context.DeadlineExceeded
	case n <= 0:
		return s.acquireNothing(context.Background(), n)
	case s.permits().TryAcquire(n):
		return nil
	case s.mayBeObserved():
		return s.acquireObserved(context.Background(), n, d, t.tenant)
	}
	l := waiting.After(d)
	var by order.By
	p.ask(&by, l, false, t.tenant)
	return p.acquire(l, &by, n)
}

//go:noinline
func (t Tenant) acquireTimeoutElse(d time.Duration, n int64) error {
	a := t.s.accounts()
	switch {
	case a == nil:
		return t.s.AcquireTimeout(d, n)
	case d <= 0 && n >= 0:
		return context.DeadlineExceeded
	case n <= 0:
		return t.s.acquireNothing(context.Background(), n)
	case t.s.mayBeObserved():
		return a.acquireObserved(context.Background(), d, t.tenant, n)
	}
	return a.acquire(context.Background(), d, t.tenant, n)
}

// AcquirePermit is [Semaphore.AcquirePermit].
func (t Tenant) AcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	if err := t.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return t.s.permitOf(t.tenant, n), nil
}

// TryAcquire is [Semaphore.TryAcquire]. Without WithMaxInUse, WithDebit and WithParent the tenant
// makes no difference.
func (t Tenant) TryAcquire(n int64) bool {
	if n > 0 && t.s.permits().TryAcquire(n) {
		return true
	}
	return t.tryElse(n)
}

//go:noinline
func (t Tenant) tryElse(n int64) bool {
	if a := t.s.accounts(); a != nil && n > 0 {
		return a.tryAs(t.tenant, n)
	}
	return t.s.TryAcquire(n)
}

// Release is [Semaphore.Release] of permits that the tenant has acquired. With WithMaxInUse,
// WithDebit or WithParent it panics if the tenant holds fewer, and the Release of the semaphore
// gives back those of the tenant nil. Otherwise the two are the same.
func (t Tenant) Release(n int64) {
	if a := t.s.accounts(); a != nil && n > 0 {
		cedeIf(a.releaseAs(t.tenant, n, -1))
		return
	}
	t.s.Release(n)
}

// ReleaseCost is Release of permits that have cost so much, which is what shares divide with
// [DebitCost]. Otherwise it is Release. ReleaseCost panics if the cost is negative.
func (t Tenant) ReleaseCost(n, cost int64) {
	if cost < 0 {
		panic("semaphore: negative cost")
	}
	if a := t.s.accounts(); a != nil && n > 0 {
		cedeIf(a.releaseAs(t.tenant, n, cost))
		return
	}
	t.s.Release(n)
}

// Update has the requests of the tenant that wait, and those within it, follow what the functions
// of WithMaxInUse and WithShares say of it now, and ends those for more than its cap with
// ErrTooLarge. A program calls it when it has changed what they say. Without WithMaxInUse,
// WithDebit and WithParent it does nothing: the next request brings its weight along.
func (t Tenant) Update() {
	if a := t.s.accounts(); a != nil {
		a.update(t.tenant)
	}
}

// Bind is [Semaphore.Bind] with a request of the tenant.
func (t Tenant) Bind(f *waiter.Future, n int64) {
	switch t.s.p.(type) {
	case *ordered, *accounts:
		if n >= 0 {
			t.s.bindPolicy(f, n).Request.(tenantRequest).as(t.tenant)
			return
		}
	}
	t.s.Bind(f, n)
}

// A Refusal is the error of a request that a [Queue] has refused or shed. errors.Is finds the
// reason: ErrQueueFull, ErrShed or ErrWouldExpire. A Refusal is allocated.
type Refusal struct {
	Err error // one of the three

	// RetryAfter is for how long a request of the same tenant would have waited, at the rate at
	// which permits were granted lately: there is no use in coming back earlier. For how long it
	// would have held its permits, and for how long its cap would have held it up, is not in it. It
	// is 0 if that is not known.
	RetryAfter time.Duration
}

// Error says why, and when to come back.
func (r *Refusal) Error() string {
	if r.RetryAfter <= 0 {
		return r.Err.Error()
	}
	return r.Err.Error() + "; retry after " + r.RetryAfter.String()
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }
