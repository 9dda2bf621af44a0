package semaphore

import (
	"context"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/text"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// An accounts is the policy of [WithMaxInUse], [WithDebit] and [WithParent]: WithShares with an
// account for each tenant that waits or holds permits. The permits are its own, and the engine of
// the semaphore has none. So the fast paths of the semaphore always fail, and cost what they cost
// without accounts.
//
// All that happens is one step under mu. So the rules are those of the order.
//
// Invariants, each with a test that fails without it:
//
//  1. When mu is free, what is free plus what the tenants hold is the size.
//     (TestModelAccounts, TestAccountsContract)
//  2. When mu is free, and nobody is about to serve, no request waits that the order would serve
//     next and for which enough is free. A request that comes is granted at once only if no other
//     one is ready. (TestModelAccounts, TestModelAccountHistories)
//  3. What was granted to a request that has been given up goes back to its tenant's account.
//     (TestModelAccounts)
//  4. What a request or an Update says of a tenant was asked after the last Update of all began. So
//     none sets a weight or a cap that was changed before. (TestModelAccounts/a_cap_grows)
type accounts struct {
	s        *Semaphore
	order    *order.Order           // guarded by mu, but for Check, Weigh and RefusesLate
	maxInUse func(tenant any) int64 // nil: nobody has a cap
	parent   func(tenant any) any   // nil: tenants are flat

	mu         xsync.Mutex
	size, free int64 // guarded by mu; free is negative while more are held
	closed     bool  // guarded by mu

	updates xsync.Int64 // how many there were; written under mu

	// Whether requests wait, as of the last look: a hint, for who would take mu twice.
	waits xsync.Bool // written under mu
}

func newAccounts(s *Semaphore, n int64, o *options) *accounts {
	if !o.order.Shares {
		panic("semaphore: WithMaxInUse, WithDebit or WithParent without WithShares")
	}
	o.order.Accounts = true
	n = min(n, MaxPermits)
	return &accounts{s: s, order: newOrder(o), maxInUse: o.maxInUse, parent: o.parent, size: n, free: n}
}

// accounts returns the policy of s if it keeps accounts, nil otherwise.
func (s *Semaphore) accounts() *accounts {
	a, _ := s.p.(*accounts)
	return a
}

// An asker is who asks for permits.
type asker struct {
	order.Claim
	least int64 // the least of the caps on its path; negative: there is none
	work  bool  // the deadline is that of the work, too
	seen  int64 // what updates was before
	path  *path // what Claim.Path is a part of; nil: tenants are flat
}

// maxDepth is how many tenants a path has at most: a tenant, its parent, and so on.
const maxDepth = 8

type path [maxDepth]order.Level

var paths = xsync.Pool{New: func() any { return new(path) }}

// ask sets w, which is zero, to who asks. Its user calls done when it is not needed any more.
func (a *accounts) ask(w *asker, tenant any) {
	w.Tenant = tenant
	a.askAgain(w)
}

func (w *asker) done() {
	if w.path != nil {
		w.putPath()
	}
}

func (w *asker) putPath() {
	clear(w.path[:])
	paths.Put(w.path)
	w.path, w.Path = nil, nil
}

// askAgain asks the functions of the options.
func (a *accounts) askAgain(w *asker) {
	w.seen = a.updates.Load() // first: invariant 4
	w.Weight, w.Most = a.order.Weigh(w.Tenant), a.mostOf(w.Tenant)
	w.least = w.Most
	if a.parent != nil {
		a.askPath(w)
	}
}

func (a *accounts) mostOf(tenant any) int64 {
	if a.maxInUse == nil {
		return -1
	}
	return a.maxInUse(tenant)
}

// askPath asks for the tenants that w is within. It panics if there is no end of them.
func (a *accounts) askPath(w *asker) {
	if w.path == nil {
		w.path = paths.Get().(*path)
	}
	w.Path = append(w.path[:0], order.Level{Tenant: w.Tenant, Weight: w.Weight, Most: w.Most})
	for tenant := w.Tenant; tenant != nil; {
		tenant = a.parent(tenant)
		if tenant == nil {
			break
		}
		a.order.Check(tenant)
		if len(w.Path) == maxDepth {
			panic(endless(w.Path, tenant))
		}
		v := order.Level{Tenant: tenant, Weight: a.order.Weigh(tenant), Most: a.mostOf(tenant)}
		w.Path = append(w.Path, v)
		if v.Most >= 0 && (w.least < 0 || v.Most < w.least) {
			w.least = v.Most
		}
	}
	w.Path = w.Path[:len(w.Path)-again(w.Path)]
}

// again returns how many tenants there are in a path from the first one on that is there before. A
// path that ends has such tenants if parents change while it is asked for.
func again(path []order.Level) int {
	for i := 1; i < len(path); i++ {
		for _, v := range path[:i] {
			if v.Tenant == path[i].Tenant {
				return len(path) - i
			}
		}
	}
	return 0
}

// endless is the panic text for a path that does not end before its next tenant.
func endless(path []order.Level, next any) string {
	msg := "semaphore: the tenant " + text.Tenant(path[0].Tenant)
	for i, v := range path {
		switch {
		case v.Tenant != next:
		case i == 0:
			return msg + " is within itself"
		default:
			return msg + " is within " + text.Tenant(next) + ", which is within itself"
		}
	}
	return msg + " is within more than " + strconv.Itoa(maxDepth-1) + " others"
}

// lock takes mu when what w says is up to date.
func (a *accounts) lock(w *asker) {
	for !a.lockIf(w) {
		a.askAgain(w) // A turn is lost only to an Update.
	}
}

// lockIf takes mu if what w says is up to date.
func (a *accounts) lockIf(w *asker) bool {
	a.mu.Lock()
	if a.updates.Load() == w.seen {
		return true
	}
	a.mu.Unlock()
	return false
}

// nowLocked reads the clock if the order wants to know the time.
func (a *accounts) nowLocked() int64 {
	if !a.order.Clocked() {
		return 0
	}
	return xsync.Now()
}

// A grant is a request that has got its permits, and does not know it yet.
type grant struct {
	w      *waiting.Waiter
	tenant any
	n      int64
}

// grants are what one step has granted, and the requests that it has ended otherwise. If they are
// full, there may be more to grant.
type grants struct {
	list  [4]grant
	n     int
	ended waiting.WakeList
}

// serveLocked grants requests as far as the permits and g suffice. It reports whether own is one of
// them, which it does not add.
func (a *accounts) serveLocked(now int64, own *waiting.Waiter, g *grants) (mine bool) {
	for g.n < len(g.list) {
		w, tenant := a.order.PopFit(a.free, now, &g.ended)
		if w == nil {
			break
		}
		a.free -= w.N
		if w == own {
			mine = true
			continue
		}
		g.list[g.n] = grant{w, tenant, w.N}
		g.n++
	}
	if waits := a.order.Len() > 0; waits != a.waits.Load() {
		a.waits.Store(waits)
	}
	return mine
}

// deliver passes the requests their outcomes, and serves on while there may be more to grant. The
// caller holds no lock.
func (a *accounts) deliver(g *grants) {
	cedeIf(a.pass(g))
}

// cedeIf is small enough to be inlined. It is called as near to the user's code as can be: see
// SleepInline.
func cedeIf(cede bool) {
	if cede {
		xsync.Cede() // see HandOff of package waiter
	}
}

// pass is deliver whose caller calls cedeIf with what it returns.
func (a *accounts) pass(g *grants) (cede bool) {
	for {
		g.ended.Wake()
		full := g.n == len(g.list)
		for _, x := range g.list[:g.n] {
			cede = x.w.OfGoroutine() || cede
			if !x.w.Deliver(waiting.Granted) {
				waiting.GiveBack(accountLine{a: a, tenant: x.tenant}, x.n)
			}
		}
		if !full {
			return cede
		}
		g.n = 0
		a.mu.Lock()
		a.serveLocked(a.nowLocked(), nil, g)
		a.mu.Unlock()
	}
}

// takeLocked takes n permits if no request has to be served before, and returns
// [waiting.Granted]; or it returns why they will never be granted, or [waiting.Pending].
func (a *accounts) takeLocked(w *asker, n, now int64) waiting.Outcome {
	switch {
	case a.closed:
		return waiting.Closed
	case n > a.size, w.least >= 0 && n > w.least:
		return waiting.TooLarge
	case n > a.free || !a.order.Take(&w.Claim, n, now):
		return waiting.Pending
	}
	a.free -= n
	return waiting.Granted
}

func (a *accounts) take(w *asker, n int64) waiting.Outcome {
	a.lock(w)
	o := a.takeLocked(w, n, a.nowLocked())
	a.mu.Unlock()
	return o
}

// enqueueLocked queues w, which is armed, and returns its ticket and [waiting.Pending], or how the
// request has ended at once. Its caller has called lock. It unlocks mu.
func (a *accounts) enqueueLocked(w *waiting.Waiter, by *asker) (*order.Ticket, waiting.Outcome) {
	var g grants
	var ticket *order.Ticket
	now := a.nowLocked()
	if by.work {
		by.Permits = a.size
	}
	a.order.Amend(&by.Claim, &g.ended)
	o := a.takeLocked(by, w.N, now)
	if o == waiting.Pending {
		ticket, o = a.order.PushCapped(w, &by.Claim, now, &g.ended)
	}
	if a.serveLocked(now, w, &g) {
		o = waiting.Granted
	}
	a.mu.Unlock()
	a.deliver(&g)
	return ticket, o
}

// giveBack returns n permits of a tenant, which have cost so much; a negative cost is not known. It
// reports whether the tenant held them. The caller calls cedeIf.
func (a *accounts) giveBack(tenant any, n, cost int64) (ok, cede bool) {
	var g grants
	a.mu.Lock()
	now := a.nowLocked()
	if ok = a.order.Return(tenant, n, cost, now); ok {
		a.free += n
		a.serveLocked(now, nil, &g)
	}
	a.mu.Unlock()
	return ok, a.pass(&g)
}

// release is giveBack of permits that the tenant must hold. Its panic has the number of those that
// the tenant holds.
func (a *accounts) release(tenant any, n, cost int64) (cede bool) {
	ok, cede := a.giveBack(tenant, n, cost)
	if !ok {
		a.mu.Lock()
		held, size := a.order.Held(tenant), a.size
		a.mu.Unlock()
		panic(overReleased("released", n, size, size-held))
	}
	return cede
}

// releaseAs is release in a semaphore that may be observed.
func (a *accounts) releaseAs(tenant any, n, cost int64) (cede bool) {
	if a.s.e.IsObserved() {
		a.mu.Lock()
		ok := n <= a.order.Held(tenant)
		a.mu.Unlock()
		if ok {
			observed.Of(a.s).Released(observed.Request{N: n})
		}
	}
	return a.release(tenant, n, cost)
}

// An accountLine is the [waiting.Line] of one request.
type accountLine struct {
	a      *accounts
	tenant any
	ticket *order.Ticket // nil: it was not queued
}

// Unlink implements [waiting.Line].
func (l accountLine) Unlink(w *waiting.Waiter) bool {
	a := l.a
	var g grants
	a.mu.Lock()
	ok := l.ticket != nil && a.order.Remove(l.ticket, w)
	if ok { // those behind it may be for less
		a.serveLocked(a.nowLocked(), nil, &g)
	}
	a.mu.Unlock()
	a.deliver(&g)
	return ok
}

// GiveBack implements [waiting.Line].
func (l accountLine) GiveBack(n int64) bool {
	ok, cede := l.a.giveBack(l.tenant, n, -1)
	cedeIf(cede)
	return ok
}

// A stay is a wait that begin has begun.
type stay struct {
	line  accountLine
	limit waiting.Limit
}

// acquire takes n permits, n > 0, for a tenant, and waits for them until ctx is done or, if d > 0,
// for d. [Tenant.Acquire] does the same in its own body: see SleepInline.
func (a *accounts) acquire(ctx context.Context, d time.Duration, tenant any, n int64) error {
	var x stay
	p, err := a.begin(ctx, &x, d, tenant, n)
	if p != nil {
		p.Sleeper().SleepInline()
		err = x.end(p, n)
	}
	return err
}

// begin begins acquire. If it returns a parker, the caller sleeps, and calls end of x, which begin
// sets. Otherwise the request has ended with the error.
func (a *accounts) begin(ctx context.Context, x *stay, d time.Duration, tenant any, n int64) (*waiting.Parker, error) {
	var w asker
	a.ask(&w, tenant)
	o := waiting.Pending
	if !a.waits.Load() {
		o = a.take(&w, n)
	}
	switch o {
	case waiting.Granted:
		w.done()
		return nil, a.keep(ctx, d, tenant, n)
	case waiting.Pending: // or very likely
		return a.beginWait(x, waiting.Until(ctx, d), d <= 0, &w, n)
	default:
		w.done()
		return nil, a.explain(o.Err(), tenant, n)
	}
}

// keep returns nil, or gives back what was granted without a wait and returns the error of ctx.
func (a *accounts) keep(ctx context.Context, d time.Duration, tenant any, n int64) error {
	if d > 0 || !xsync.MayEnd(ctx) {
		return nil
	}
	return waiting.Keep(ctx, accountLine{a: a, tenant: tenant}, n)
}

// beginWait is begin after take has failed. work says that the limit is that of the work, too. It
// calls done of w.
func (a *accounts) beginWait(x *stay, l waiting.Limit, work bool, w *asker, n int64) (*waiting.Parker, error) {
	if a.order.RefusesLate() {
		w.Deadline, w.work = l.Deadline(), work
	}
	p := waiting.GetParker(l)
	for !a.lockIf(w) {
		p.Put() // The functions may panic.
		a.askAgain(w)
		p = waiting.GetParker(l)
	}
	p.N = n
	t, o := a.enqueueLocked(&p.Waiter, w)
	w.done() // Who sleeps keeps no path.
	x.line, x.limit = accountLine{a: a, tenant: w.Tenant, ticket: t}, l
	if o != waiting.Pending {
		return nil, a.explain(waiting.EndRequest(p, l, x.line, o), w.Tenant, n)
	}
	if l.MayEnd() {
		p.Start(l)
	}
	return p, nil
}

// end ends what begin has begun.
func (x *stay) end(p *waiting.Parker, n int64) error {
	if x.limit.MayEnd() {
		if _, err := waiting.EndWait(p, x.limit, x.line); err != nil {
			return err
		}
	} else {
		p.Sleeper().Sleep()
	}
	o := p.Outcome()
	p.Put()
	return x.line.a.explain(o.Err(), x.line.tenant, n)
}

// explain returns err, with when to come back if a queue has refused the request, or with the
// numbers if it is too large.
func (a *accounts) explain(err error, tenant any, n int64) error {
	if err == nil || err != ErrTooLarge && !isRefusal(err) { //nolint:errorlint // they are not wrapped
		return err
	}
	if size := a.Size(); err == ErrTooLarge && n > size { //nolint:errorlint // it is not wrapped
		return waiter.Oversized("semaphore", n, size)
	}
	var w asker
	a.ask(&w, tenant)
	defer w.done()
	if err == ErrTooLarge { //nolint:errorlint // it is not wrapped
		return &capped{n, w.Most, w.least}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Refusal{err, a.order.DelayOf(&w.Claim, n)}
}

// A capped is the [ErrTooLarge] of a request that a cap does not allow: that of its tenant, the
// least one on its path, or one that has changed since.
type capped struct{ n, most, least int64 }

func (c *capped) Error() string {
	text := "semaphore: a request for " + strconv.FormatInt(c.n, 10) + " permits exceeds what "
	most := c.most
	if most >= 0 && most == c.least {
		text += "the tenant may hold"
	} else {
		text += "the tenant, or one that it is within, may hold"
		most = c.least
	}
	if most >= 0 && c.n > most {
		text += ", " + strconv.FormatInt(most, 10)
	}
	return text
}

func (*capped) Unwrap() error { return ErrTooLarge }

// acquireObserved is acquire for a semaphore that may be observed.
func (a *accounts) acquireObserved(ctx context.Context, d time.Duration, tenant any, n int64) error {
	r := a.s.record()
	q := observed.Request{N: n, Tenant: tenantText(r, tenant)}
	var w asker
	a.ask(&w, tenant)
	switch o := a.take(&w, n); o {
	case waiting.Granted:
		w.done()
		return r.AtOnce(q, a.keep(ctx, d, tenant, n))
	case waiting.Pending:
		return observed.Await(r, q, waiting.Until(ctx, d), func(l waiting.Limit) error {
			var x stay
			p, err := a.beginWait(&x, l, d <= 0, &w, n)
			if p != nil {
				err = x.end(p, n)
			}
			return err
		})
	default:
		w.done()
		return r.AtOnce(q, a.explain(o.Err(), tenant, n))
	}
}

// try takes n permits, n > 0, for a tenant if it does not have to wait.
func (a *accounts) try(tenant any, n int64) bool {
	var w asker
	a.ask(&w, tenant)
	o := a.take(&w, n)
	if o == waiting.Pending && w.path != nil {
		o = a.takeAmended(&w, n)
	}
	w.done()
	return o == waiting.Granted
}

// takeAmended is take after what w says has been applied. In a tree that may be what take lacks.
func (a *accounts) takeAmended(w *asker, n int64) waiting.Outcome {
	var g grants
	a.lock(w)
	now := a.nowLocked()
	a.order.Amend(&w.Claim, &g.ended)
	o := a.takeLocked(w, n, now)
	a.serveLocked(now, nil, &g)
	a.mu.Unlock()
	a.deliver(&g)
	return o
}

// tryAs is try for a semaphore that may be observed.
func (a *accounts) tryAs(tenant any, n int64) bool {
	ok := a.try(tenant, n)
	if a.s.mayBeObserved() {
		r := a.s.record()
		r.Tried(observed.Request{N: n, Tenant: tenantText(r, tenant)}, ok)
	}
	return ok
}

// update has the requests of a tenant that wait follow what the functions of the options say now.
func (a *accounts) update(tenant any) {
	a.mu.Lock()
	a.updates.Add(1)
	a.mu.Unlock()
	var w asker
	a.ask(&w, tenant)
	var g grants
	a.lock(&w)
	a.order.Amend(&w.Claim, &g.ended)
	a.serveLocked(a.nowLocked(), nil, &g)
	a.mu.Unlock()
	w.done()
	a.deliver(&g)
}

func (a *accounts) set(q order.Queue) {
	q.Check()
	a.mu.Lock()
	a.order.Set(q)
	a.mu.Unlock()
}

// Acquire implements policy, and so do the others.
func (a *accounts) Acquire(ctx context.Context, n int64) error {
	if n == 0 {
		return a.isClosed()
	}
	return a.acquire(ctx, 0, nil, n)
}

func (a *accounts) AcquireTimeout(d time.Duration, n int64) error {
	return a.acquire(context.Background(), d, nil, n)
}

func (a *accounts) TryAcquire(n int64) bool {
	if n == 0 {
		return a.isClosed() == nil
	}
	return a.try(nil, n)
}

func (a *accounts) isClosed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	return nil
}

func (a *accounts) Release(n int64) {
	if n > 0 {
		cedeIf(a.release(nil, n, -1))
	}
}

func (a *accounts) Size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size
}

func (a *accounts) Available() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.free
}

func (a *accounts) held() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size - a.free
}

func (a *accounts) Waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.order.Len()
}

func (a *accounts) Resize(n int64) {
	n = min(n, MaxPermits)
	var g grants
	a.mu.Lock()
	a.free += n - a.size
	if n < a.size {
		a.order.Reject(n, &g.ended)
	}
	a.size = n
	a.serveLocked(a.nowLocked(), nil, &g)
	a.mu.Unlock()
	a.deliver(&g)
}

func (a *accounts) Close() {
	var g grants
	a.mu.Lock()
	a.closed = true
	a.order.Drain(waiting.Closed, &g.ended)
	a.mu.Unlock()
	a.deliver(&g)
}

// An accountRequest is a request of a future.
type accountRequest struct{ accountLine }

func (a *accounts) request(f *waiting.Future) waiting.Request {
	r := waiting.Reuse[accountRequest](f)
	*r = accountRequest{accountLine{a: a}}
	return r
}

// Start implements [waiting.Request].
func (r *accountRequest) Start(w *waiting.Waiter, waker waiting.Waker) (o waiting.Outcome) {
	if w.N == 0 {
		if r.a.isClosed() != nil {
			return waiting.Closed
		}
		return waiting.Granted
	}
	var by asker
	r.a.ask(&by, r.tenant) // It may panic, and then w does not wait.
	if o = r.a.take(&by, w.N); o == waiting.Pending {
		r.a.lock(&by) // It may panic, too.
		w.Arm(waker)
		r.ticket, o = r.a.enqueueLocked(w, &by)
	}
	by.done()
	return o
}

func (r *accountRequest) whose() any { return r.tenant }

func (r *accountRequest) as(tenant any) { r.tenant = tenant }

func (r *accountRequest) explain(err error, n int64) error { return r.a.explain(err, r.tenant, n) }
