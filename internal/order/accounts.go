package order

import (
	"math/bits"

	"github.com/farad-go/farad/waiter"
)

// A Debit is what shares divide.
type Debit uint8

// The debits.
const (
	// DebitGrants divides how many permits are granted.
	DebitGrants Debit = iota
	// DebitTime divides for how long they are held: the product of permits and nanoseconds.
	DebitTime
	// DebitCost divides what releases report.
	DebitCost
)

// A ledger is shares with an account for each tenant that waits or holds permits. So a tenant may
// have a cap, and may pay at the release for what it has used.
//
// The user of an Order with accounts does not stage requests. It calls Take for a request that
// comes, and Push if that fails; PopFit until it returns nil whenever anything has changed; and
// Return for each release.
//
// Invariants, besides those of shares that do not speak of starts:
//
//  1. The heap of those that are ready has exactly the lanes that are not empty and whose head the
//     tenant's cap allows. So a tenant at its cap holds up nobody.
//     (FuzzAccounts, TestACapHoldsUpNobody)
//  2. A tenant never gets so much that it holds more than its cap. (FuzzAccounts)
//  3. A lane that becomes ready starts at the virtual time, if it would start before. So who waited
//     for its cap has saved nothing up, like one that did not wait. (FuzzAccounts)
//  4. The start of a lane that is ready moves by what its tenant has used, divided by its weight:
//     by an estimate at the grant, and by the rest at the release, which may be negative. With
//     DebitGrants the estimate is right. (TestDebitsAreExact)
//  5. An account is kept while its tenant waits, holds permits, or its start is after the virtual
//     time, and no longer. When nothing waits and nothing is held all are forgotten.
//     (FuzzAccounts, TestAccountsLeaveNothingBehind)
//  6. All tags, and with debits all starts, lie within 1<<62 of the virtual time, so they may wrap
//     around. (TestHugeCostsAreBounded)
type ledger struct {
	shares // the heap has the lanes that are ready, and weights is theirs
	debit  Debit
	debts  heap // the lanes of tenants that neither wait nor hold, and start after the virtual time

	clock, most int64  // the time of the call, and the cap of its tenant
	held        int64  // by all
	looked      uint64 // the virtual time when keepNear looked
	mean        int64  // what a permit costs on average
	first, last *lane  // all accounts, in the order in which they began
	spare       *lane  // a list, by account.next, of lanes that are not in use
	spares      int
}

// An account is what a ledger has of a tenant, besides the share of its lane.
type account struct {
	most    int64 // how many permits it may hold; negative: any number
	held    int64 // how many it does
	charged int64 // for those, as estimated
	used    int64 // by those, since the last release: permits times nanoseconds
	at      int64 // until when that counts
	mean    int64 // what a permit costs on average

	prev, next *lane
}

// maxCost bounds what is charged at once, and how far a start may be from the virtual time.
const maxCost = maxCharge * unit

// times returns what n permits cost if one costs so much.
func times(n, cost int64) int64 {
	if hi, lo := bits.Mul64(uint64(n), uint64(cost)); hi == 0 && lo < maxCost {
		return int64(lo)
	}
	return maxCost
}

// cost returns what n permits are charged for when they are granted.
func (g *ledger) cost(a *account, n int64) int64 {
	if g.debit == DebitGrants {
		return charge(n) * unit
	}
	return max(1, times(n, a.mean))
}

// find implements policy, and so do the others.
func (g *ledger) find(tenant any) *lane {
	if l := g.tenants.find(tenant); l != nil && l.size > 0 {
		return l
	}
	return nil
}

// open returns the lane of a tenant, which waits from now on or holds: l, or a new one if l is nil.
func (g *ledger) open(l *lane, tenant any, weight int) *lane {
	switch {
	case l == nil:
		if l = g.spare; l == nil {
			l = &lane{account: &account{}}
		} else {
			g.spare = l.account.next
			g.spares--
		}
		l.tenant, l.share.weight, l.share.start = tenant, int64(weight), g.now
		*l.account = account{most: g.most, mean: g.mean, at: g.clock, prev: g.last}
		if g.last != nil {
			g.last.account.next = l
		} else {
			g.first = l
		}
		g.last = l
		g.tenants.add(l)
	case l.size == 0:
		g.unready(l) // from the debts
	}
	return l
}

// amend sets the weight and the cap of l.
func (g *ledger) amend(l *lane, weight int, most int64) {
	x := &l.share
	if x.weight == int64(weight) && l.account.most == most {
		return
	}
	ready := x.place > 0 && l.size > 0
	g.unready(l)
	if x.weight != int64(weight) && x.rest > 0 { // a part of the old weight
		x.start++
		x.rest = 0
	}
	x.weight, l.account.most = int64(weight), most
	g.place(l, ready)
}

// unready takes l out of the heap that it is in, if it is in one.
func (g *ledger) unready(l *lane) {
	switch {
	case l.share.place == 0:
	case l.size == 0:
		g.debts.drop(l)
	default:
		g.heap.drop(l)
		g.weights -= l.share.weight
	}
}

// place puts l where it belongs. stays says that it was ready until now.
func (g *ledger) place(l *lane, stays bool) {
	a, x := l.account, &l.share
	stays = stays || x.place > 0
	switch h := l.head(); {
	case l.size == 0 && a.held > 0:
		l.codel, l.newest = codel{}, false
	case l.size == 0:
		g.retire(l)
	case a.most >= 0 && a.held+h.w.N > a.most:
		g.unready(l)
	default:
		if !stays {
			g.begin(x)
		}
		if x.place == 0 {
			g.weights += x.weight
		}
		g.price(l, h.n)
		x.seq = h.seq
		g.heap.fix(l)
	}
}

// begin lets a lane that was not ready start at the virtual time, if it would start before. With
// DebitGrants it always would, and nobody knows by how much: the virtual time may have wrapped.
func (g *ledger) begin(x *share) {
	if g.debit == DebitGrants || int64(x.start-g.now) < 0 {
		x.start, x.rest = g.now, 0
	}
}

// price sets the end and the tag of l if its next request is for n permits.
func (g *ledger) price(l *lane, n int64) {
	x := &l.share
	cost := x.rest + g.cost(l.account, n)
	x.end, x.over = x.start+uint64(cost/x.weight), cost%x.weight
	x.tag = x.end
	if x.over > 0 {
		x.tag++
	}
}

// grant charges the tenant of l for n permits, for which l has its price.
func (g *ledger) grant(l *lane, n int64) {
	a, x := l.account, &l.share
	g.accrue(a)
	a.held += n
	g.held += n
	if g.debit == DebitGrants {
		g.serve(x)
	} else {
		a.charged = min(a.charged+g.cost(a, charge(n)), maxCost)
		if int64(x.tag-g.now) > 0 {
			g.now = x.tag
		}
		x.start, x.rest = x.end, x.over
		g.keepNear()
	}
	for len(g.debts.lanes) > 0 && int64(g.debts.lanes[0].share.tag-g.now) <= 0 {
		old := g.debts.lanes[0]
		g.debts.drop(old)
		g.forget(old)
	}
}

// keepNear keeps starts from getting so far behind the virtual time that they would seem to be
// ahead of it. It looks at all accounts once in 1<<60 units of that: 36 years by time.
func (g *ledger) keepNear() {
	if g.now-g.looked < maxCost {
		return
	}
	g.looked = g.now
	for l := g.first; l != nil; l = l.account.next {
		if x := &l.share; x.place == 0 && int64(x.start-g.now) < -maxCost {
			x.start, x.rest = g.now-maxCost, 0
		}
	}
}

// accrue counts the time for which permits were held.
func (g *ledger) accrue(a *account) {
	if g.debit == DebitTime {
		a.used = min(a.used+times(a.held, max(0, g.clock-a.at)), maxCost)
		a.at = g.clock
	}
}

// giveBack takes n permits from the tenant of l, which have cost so much. It reports whether that
// tenant held them.
func (g *ledger) giveBack(l *lane, n, cost int64, reported bool) bool {
	a := l.account
	if n > a.held {
		return false
	}
	if g.debit != DebitGrants {
		g.accrue(a)
		hi, lo := bits.Mul64(uint64(a.charged), uint64(n))
		paid, _ := bits.Div64(hi, lo, uint64(a.held))
		switch {
		case g.debit == DebitTime:
			cost, a.used = a.used, 0
		case !reported:
			cost = int64(paid)
		}
		cost = min(cost, maxCost)
		a.charged -= int64(paid)
		g.debitTo(&l.share, cost-int64(paid))
		if g.debit == DebitTime || reported {
			average(&a.mean, cost/n, 8)
			average(&g.mean, cost/n, 32)
		}
	}
	a.held -= n
	g.held -= n
	g.place(l, false)
	return true
}

// debitTo moves the start of a lane by a cost, which may be negative.
func (g *ledger) debitTo(x *share, cost int64) {
	cost += x.rest
	by, rest := cost/x.weight, cost%x.weight
	if rest < 0 {
		by--
		rest += x.weight
	}
	x.start, x.rest = x.start+uint64(by), rest
	if ahead := int64(x.start - g.now); ahead > maxCost || ahead < -maxCost {
		x.start, x.rest = g.now+uint64(max(-maxCost, min(ahead, maxCost))), 0
	}
}

// average moves a mean by a part of what it is off. The first sample is the mean.
func average(mean *int64, sample, part int64) {
	if *mean == 0 {
		*mean = sample
	} else {
		*mean += (sample - *mean) / part
	}
}

// retire keeps l, whose tenant neither waits nor holds, until the virtual time has reached its
// start.
func (g *ledger) retire(l *lane) {
	x := &l.share
	l.codel, l.newest = codel{}, false
	x.tag, x.seq = x.start, 0
	if x.rest > 0 {
		x.tag++
	}
	if int64(x.tag-g.now) <= 0 {
		g.forget(l)
		return
	}
	g.debts.fix(l)
}

// forget ends the account of l, which is in no heap.
func (g *ledger) forget(l *lane) {
	a := l.account
	if a.prev != nil {
		a.prev.account.next = a.next
	} else {
		g.first = a.next
	}
	if a.next != nil {
		a.next.account.prev = a.prev
	} else {
		g.last = a.prev
	}
	g.tenants.remove(l)
	*a = account{}
	*l = lane{account: a}
	if g.spares < minLanes {
		a.next, g.spare = g.spare, l
		g.spares++
	}
}

func (g *ledger) join(l *lane, t *Ticket, tenant any, weight int) {
	if l == nil {
		l = g.open(g.tenants.find(tenant), tenant, weight)
	}
	l.push(t)
	if l.head() == t {
		g.place(l, false)
	}
}

func (g *ledger) changed(l *lane) { g.place(l, false) }

func (g *ledger) leave(t *Ticket, served bool) {
	l := t.lane
	if served {
		g.grant(l, t.w.N)
	}
	head := l.head() == t
	if l.size == 1 {
		g.unready(l)
	}
	l.unlink(t)
	if head || l.size == 0 {
		g.place(l, false)
	}
}

// idle forgets all debts when nothing waits any more and nothing is held.
func (g *ledger) idle() {
	if g.held > 0 {
		return
	}
	if len(g.debts.lanes) > few { // at once: the caller holds a lock
		*g = ledger{debit: g.debit, mean: g.mean, spare: g.spare, spares: g.spares, shares: shares{heap: g.heap}}
	}
	for len(g.debts.lanes) > 0 {
		l := g.debts.lanes[0]
		g.debts.drop(l)
		g.forget(l)
	}
	g.now, g.looked = 0, 0
}

// needed is that of shares, of which a lane that is not ready has no part yet.
func (g *ledger) needed(l *lane, tenant any, weight int, n, total float64) float64 {
	if l != nil && l.share.place == 0 {
		return g.shares.needed(nil, tenant, weight, l.ahead()+n, total)
	}
	return g.shares.needed(l, tenant, weight, n, total)
}

func (g *ledger) all() (all []*lane) {
	for l := g.first; l != nil; l = l.account.next {
		if l.size > 0 {
			all = append(all, l)
		}
	}
	return all
}

// Amend sets the weight and the cap of a tenant that waits or holds permits. The requests that wait
// for more than its cap it ends with [waiter.TooLarge].
func (o *Order) Amend(by *By, most int64, wake *waiter.WakeList) {
	l := o.ledger.tenants.find(by.Tenant)
	if l == nil {
		return
	}
	smaller := most >= 0 && (l.account.most < 0 || most < l.account.most)
	o.ledger.amend(l, by.Weight, most)
	if smaller {
		o.endIn(l, most, waiter.TooLarge, wake)
	}
}

// Take takes n permits for a tenant, if no other request is ready, none of its own waits, and its
// cap allows that. The permits are free.
func (o *Order) Take(by *By, most, n, now int64) bool {
	g := o.ledger
	g.clock, g.most = now, most
	l, held := g.tenants.find(by.Tenant), int64(0)
	if l != nil {
		held = l.account.held
	}
	if len(g.heap.lanes) > 0 || l != nil && l.size > 0 || most >= 0 && held+n > most {
		return false
	}
	l = g.open(l, by.Tenant, by.Weight)
	g.begin(&l.share)
	g.price(l, charge(n))
	g.grant(l, n)
	return true
}

// PushCapped is Push of a request of a tenant that may hold so many permits, at least those of the
// request.
func (o *Order) PushCapped(
	w *waiter.Waiter, by *By, most, now int64, wake *waiter.WakeList,
) (*Ticket, waiter.Outcome) {
	o.ledger.clock, o.ledger.most = now, most
	return o.Push(w, by, now, false, wake)
}

// Clocked reports whether any of the times that an Order with accounts gets are used.
func (o *Order) Clocked() bool { return o.timed || o.config.Debit == DebitTime }

// PopFit is Pop of a request for at most free permits, and returns its tenant, too. It returns nil
// if what comes next is for more.
func (o *Order) PopFit(free, now int64, wake *waiter.WakeList) (w *waiter.Waiter, tenant any) {
	o.ledger.clock = now
	for {
		l := o.policy.next()
		if l == nil || l.head().w.N > free {
			return nil, nil
		}
		if o.Timed() {
			o.date(now)
			if o.settle(l, now, wake) && o.policy.next() != l {
				continue // Each turn has shed requests, or has made a lane newest-first.
			}
			if l.head().w.N > free { // after some were shed
				return nil, nil
			}
		}
		tenant = l.tenant
		return o.pop(l, now), tenant
	}
}

// Return takes n permits from a tenant. With DebitCost they have cost so much, or as much as was
// estimated if cost is negative. Return reports whether the tenant held them.
func (o *Order) Return(tenant any, n, cost, now int64) bool {
	g := o.ledger
	g.clock = now
	l := g.tenants.find(tenant)
	if l == nil || !g.giveBack(l, n, max(cost, 0), cost >= 0) {
		return false
	}
	if o.size == 0 {
		g.idle()
	}
	return true
}

// Held returns how many permits a tenant holds.
func (o *Order) Held(tenant any) int64 {
	if l := o.ledger.tenants.find(tenant); l != nil {
		return l.account.held
	}
	return 0
}
