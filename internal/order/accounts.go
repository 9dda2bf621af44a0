package order

import (
	"math/bits"
	"time"

	"github.com/farad-go/farad/internal/waiting"
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
	family // of the tenants that are within no other
	debit  Debit

	clock, most int64   // the time of the call, and the cap of its tenant
	path        []Level // that of its tenant, during a call
	asked       any     // the tenant that was looked for last
	answer      *lane   // and what was found
	granted     *lane   // the line that was granted something last, nil if that has ended

	// What above has said of the path of a tenant, from Amend to PushCapped, while no account
	// begins or ends.
	known   bool
	knownOf any
	knownIn *lane
	knownAt int

	largest int64    // no request that waits is for more
	held    int64    // by all
	mean    int64    // what a permit costs on average
	inUse   chain    // in the order in which they began
	spare   [2]chain // those of groups are apart
}

// A family are tenants that share with each other. Its heap has the lanes that are ready, and
// weights is theirs.
type family struct {
	shares
	debts  heap   // the lanes of tenants that neither wait nor hold, and start after the virtual time
	looked uint64 // the virtual time when keepNear looked
}

// An account is what a ledger has of a tenant.
type account struct {
	lane lane
	head *Ticket // of a lane that is ready: what comes first in it

	most    int64 // how many permits it may hold; negative: any number
	held    int64 // how many it does
	charged int64 // for those, as estimated
	used    int64 // by those, since the last release: permits times nanoseconds
	at      int64 // until when that counts
	mean    int64 // what a permit costs on average

	parent *lane  // the group that it is in, nil if it is in none
	group  *group // nil: it is the account of a line
	spare  bool   // it is not in use, and its tenant finds it, whose parent was parent

	prev, next *account
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
	if l := g.line(tenant); l != nil && l.size > 0 {
		return l
	}
	return nil
}

// open returns the lane of a tenant, which waits from now on or holds: l, or a new one if l is nil.
func (g *ledger) open(l *lane, tenant any, weight int) *lane {
	if l == nil {
		if in := g.within(); in != nil && in.tenant == tenant {
			l = g.begun(0, tenant, weight, -1, in) // The group has the cap.
		} else {
			l = g.begun(0, tenant, weight, g.most, in)
		}
	}
	if !l.active {
		g.activate(l)
	}
	return l
}

// activate notes that the tenant of l waits or holds from now on.
func (g *ledger) activate(l *lane) {
	for l != nil && !l.active {
		g.unready(l) // from the debts
		l.active = true
		if l = l.account.parent; l != nil {
			l.account.group.live++
		}
	}
}

// home returns the family that l is in.
func (g *ledger) home(l *lane) *family {
	if in := l.account.parent; in != nil {
		return &in.account.group.family
	}
	return &g.family
}

// first returns the request that comes next in l, nil if there is none. What is in a group that is
// ready is settled.
func (l *lane) first() *Ticket {
	switch gr := l.account.group; {
	case gr != nil:
		return gr.first()
	case l.size == 0:
		return nil
	default:
		return l.head()
	}
}

func (f *family) first() *Ticket {
	if l := f.next(); l != nil {
		return l.account.head
	}
	return nil
}

// amend sets the weight and the cap of l.
func (g *ledger) amend(l *lane, weight int, most int64) {
	x := &l.share
	if x.weight == int64(weight) && l.account.most == most {
		return
	}
	in, ready := l.account.parent, x.place > 0 && !l.owes
	g.unready(l)
	x.reweigh(weight)
	l.account.most = most
	g.place(l, ready)
	g.settle(in)
}

func (x *share) reweigh(weight int) {
	if x.weight != int64(weight) && x.rest > 0 { // a part of the old weight
		x.start++
		x.rest = 0
	}
	x.weight = int64(weight)
}

// unready takes l out of the heap that it is in, if it is in one.
func (g *ledger) unready(l *lane) {
	if l.share.place > 0 {
		g.drop(l)
	}
}

func (g *ledger) drop(l *lane) {
	f := g.home(l)
	if l.owes {
		l.owes = false
		f.debts.drop(l)
		return
	}
	f.heap.drop(l)
	f.weights -= l.share.weight
	l.account.head = nil
}

// settle puts l, whose first request may be another one, where it belongs, and all that it is
// within, as far as the first request is another one there, too. What was granted was the first one
// at each level.
func (g *ledger) settle(l *lane) {
	for l != nil {
		in := l.account.parent
		g.place(l, false)
		if l = in; l != nil && l.isSettled() {
			return
		}
	}
}

// isSettled reports whether l is ready with the request that comes first in it.
func (l *lane) isSettled() bool {
	h := l.first()
	return l.share.place > 0 && h != nil && h.seq == l.share.seq
}

// place puts l where it belongs. stays says that it was ready until now.
func (g *ledger) place(l *lane, stays bool) {
	a, x := l.account, &l.share
	stays = stays || x.place > 0 && !l.owes
	switch h := l.first(); {
	case h == nil && a.held == 0 && (a.group == nil || a.group.live == 0):
		g.retire(l)
	case h == nil:
		g.unready(l)
		l.codel, l.newest = codel{}, false
	case a.most >= 0 && a.held+h.w.N > a.most:
		g.unready(l)
	default:
		f := g.home(l)
		if !stays {
			g.begin(f, x)
		}
		if x.place == 0 {
			f.weights += x.weight
		}
		g.price(l, h.n)
		a.head, x.seq = h, h.seq
		f.heap.fix(l)
	}
}

// begin lets a lane that was not ready start at the virtual time, if it would start before. With
// DebitGrants it always would, and nobody knows by how much: the virtual time may have wrapped.
func (g *ledger) begin(f *family, x *share) {
	if g.debit == DebitGrants || int64(x.start-f.now) < 0 {
		x.start, x.rest = f.now, 0
	}
}

// price sets the end and the tag of l if its next request is for n permits.
func (g *ledger) price(l *lane, n int64) {
	x := &l.share
	cost := x.rest + g.cost(l.account, n)
	if x.weight == 1 { // as in changed of shares
		x.end, x.over = x.start+uint64(cost), 0
	} else {
		x.end, x.over = x.start+uint64(cost/x.weight), cost%x.weight
	}
	x.tag = x.end
	if x.over > 0 {
		x.tag++
	}
}

// grant charges the tenant of l, and all that it is within, for n permits, for which they have
// their prices.
func (g *ledger) grant(l *lane, n int64) {
	g.held += n
	g.granted = l
	for ; l != nil; l = l.account.parent {
		a, x, f := l.account, &l.share, g.home(l)
		g.accrue(a)
		a.held += n
		if g.debit != DebitGrants {
			a.charged = min(a.charged+g.cost(a, charge(n)), maxCost)
		}
		if g.debit == DebitGrants && a.group == nil {
			f.serve(x)
		} else {
			if int64(x.tag-f.now) > 0 {
				f.now = x.tag
			}
			x.start, x.rest = x.end, x.over
			g.keepNear(f, a.parent)
		}
		for len(f.debts.lanes) > 0 && int64(f.debts.lanes[0].share.tag-f.now) <= 0 {
			g.forgive(f)
		}
	}
}

// forgive forgets a debt of a family.
func (g *ledger) forgive(f *family) {
	l := f.debts.lanes[0]
	f.debts.drop(l)
	g.forget(l)
}

// keepNear keeps the starts in the family of a group from getting so far behind its virtual time
// that they would seem to be ahead of it. It looks at all accounts once in 1<<60 units of that: 36
// years by time.
func (g *ledger) keepNear(f *family, in *lane) {
	if f.now-f.looked < maxCost {
		return
	}
	f.looked = f.now
	for a := g.inUse.first; a != nil; a = a.next {
		x := &a.lane.share
		if a.parent == in && x.place == 0 && int64(x.start-f.now) < -maxCost {
			x.start, x.rest = f.now-maxCost, 0
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
	if n > l.account.held {
		return false
	}
	g.held -= n
	for line := l; l != nil; {
		a := l.account
		if g.debit != DebitGrants {
			cost := g.repay(l, n, cost, reported)
			if l == line && (g.debit == DebitTime || reported) {
				average(&g.mean, cost/n, 32)
			}
		}
		a.held -= n
		in := a.parent
		if g.debit != DebitGrants || !l.isSettled() {
			g.place(l, false)
		}
		l = in
	}
	return true
}

// repay debits what n permits have cost, instead of what they were charged, and returns it.
func (g *ledger) repay(l *lane, n, cost int64, reported bool) int64 {
	a := l.account
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
	g.home(l).debitTo(&l.share, cost-int64(paid))
	if g.debit == DebitTime || reported {
		average(&a.mean, cost/n, 8)
	}
	return cost
}

// debitTo moves the start of a lane by a cost, which may be negative.
func (f *family) debitTo(x *share, cost int64) {
	cost += x.rest
	by, rest := cost/x.weight, cost%x.weight
	if rest < 0 {
		by--
		rest += x.weight
	}
	x.start, x.rest = x.start+uint64(by), rest
	if ahead := int64(x.start - f.now); ahead > maxCost || ahead < -maxCost {
		x.start, x.rest = f.now+uint64(max(-maxCost, min(ahead, maxCost))), 0
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
// start. Who is within it owes nothing any more.
func (g *ledger) retire(l *lane) {
	a, x := l.account, &l.share
	g.unready(l)
	l.codel, l.newest = codel{}, false
	if a.group != nil {
		a.group.close(g)
	}
	if l.active && a.parent != nil {
		a.parent.account.group.live--
	}
	l.active = false
	x.tag, x.seq = x.start, 0
	if x.rest > 0 {
		x.tag++
	}
	f := g.home(l)
	// With DebitGrants no start is after the virtual time, though it may seem so: see begin.
	if g.debit == DebitGrants || int64(x.tag-f.now) <= 0 {
		g.forget(l)
		return
	}
	l.owes = true
	f.debts.fix(l)
}

func (g *ledger) join(l *lane, t *Ticket, tenant any, weight int) {
	if l == nil {
		l = g.open(g.line(tenant), tenant, weight)
	}
	g.largest = max(g.largest, t.w.N)
	l.push(t)
	if l.head() == t {
		g.settle(l)
	}
}

func (g *ledger) next() *lane {
	if t := g.first(); t != nil {
		return t.lane
	}
	return nil
}

func (g *ledger) changed(l *lane) { g.settle(l) }

func (g *ledger) leave(t *Ticket, served bool) {
	l := t.lane
	if served {
		g.grant(l, t.w.N)
	}
	head := l.head() == t
	l.unlink(t)
	if head || l.size == 0 {
		g.settle(l)
	}
}

// idle forgets all debts when nothing waits any more and nothing is held.
func (g *ledger) idle() {
	g.largest = 0
	if g.held > 0 {
		return
	}
	if len(g.debts.lanes) > few { // at once: the caller holds a lock
		g.forgetNames()
		*g = ledger{debit: g.debit, mean: g.mean, spare: g.spare, family: family{shares: shares{heap: g.heap}}}
	}
	for len(g.debts.lanes) > 0 {
		g.forgive(&g.family)
	}
	g.now, g.looked = 0, 0
}

// needed is that of shares at each level, of which a lane that is not ready has no part yet.
func (g *ledger) needed(l *lane, tenant any, weight int, n, total float64) float64 {
	need, w := l.ahead()+n, int64(weight)
	if l == nil {
		l = g.line(tenant)
	}
	in, i := g.above(l)
	if l == nil && i > 0 { // What does not exist yet will be alone in it.
		w = int64(g.path[i-1].Weight)
	}
	for {
		f := &g.family
		if in != nil {
			f = &in.account.group.family
		}
		weights := f.weights + w
		if l != nil && l.share.place > 0 && !l.owes {
			weights -= l.share.weight
		}
		need *= float64(weights) / float64(w)
		if in == nil {
			return min(need, total+n)
		}
		l, w, in = in, in.share.weight, in.account.parent
	}
}

func (g *ledger) all() (all []*lane) {
	for a := g.inUse.first; a != nil; a = a.next {
		if a.lane.size > 0 {
			all = append(all, &a.lane)
		}
	}
	return all
}

// A Claim is who asks an Order with accounts.
type Claim struct {
	By
	Most int64 // how many permits the tenant may hold; negative: any number

	// Path is the tenant and those that it is within, the nearest first, and none of them twice. It
	// is empty if tenants are flat. The Order keeps none of it after a call.
	Path []Level
}

// Amend sets the weights and the caps of a tenant that waits or holds permits, and of those that it
// is within. The requests that wait for more than such a cap it ends with [waiting.TooLarge].
func (o *Order) Amend(c *Claim, wake *waiting.WakeList) {
	g := o.ledger
	l := g.line(c.Tenant)
	if len(c.Path) == 0 {
		o.amend(l, c.Weight, c.Most, wake)
		return
	}
	g.path, g.known = c.Path, false
	in, i := g.above(l)
	g.path = nil
	if l != nil && i > 0 || in == nil {
		o.amend(l, c.Weight, c.Most, wake)
	}
	for walks := true; i < len(c.Path); i++ {
		v := &c.Path[i]
		if walks = walks && in != nil && in.tenant == v.Tenant; !walks {
			in = g.group(v.Tenant)
		}
		next := (*lane)(nil)
		if in != nil {
			next = in.account.parent
		}
		if o.amend(in, v.Weight, v.Most, wake) {
			walks = false // What is above may have ended with the requests.
		}
		in = next
	}
}

// amend reports whether it has ended requests, maybe.
func (o *Order) amend(l *lane, weight int, most int64, wake *waiting.WakeList) bool {
	if l == nil {
		return false
	}
	if gr := l.account.group; gr != nil && gr.own != nil && l.share.weight != int64(weight) {
		o.ledger.amend(gr.own, weight, -1) // invariant 5 of group
	}
	smaller := most >= 0 && (l.account.most < 0 || most < l.account.most)
	o.ledger.amend(l, weight, most)
	switch {
	case !smaller || most >= o.ledger.largest: // If a cap flaps, not each request looks at all.
		return false
	case l.account.group == nil:
		o.endIn(l, most, waiting.TooLarge, wake)
	default:
		for _, line := range o.policy.all() {
			if line.isWithin(l) {
				o.endIn(line, most, waiting.TooLarge, wake)
			}
		}
	}
	return true
}

// Take takes n permits for a tenant, if no other request is ready, none of its own waits, and its
// cap and those of the tenants that it is within allow that. The permits are free.
func (o *Order) Take(c *Claim, n, now int64) bool {
	g := o.ledger
	if len(g.heap.lanes) > 0 {
		return false
	}
	l, held := g.line(c.Tenant), int64(0)
	if l != nil {
		held = l.account.held
	}
	if l != nil && l.size > 0 || c.Most >= 0 && held+n > c.Most {
		return false
	}
	g.clock, g.most = now, c.Most
	if len(c.Path) > 0 {
		g.path, g.known = c.Path, false
		if !g.allow(l, n) {
			g.path = nil
			return false
		}
	}
	l = g.open(l, c.Tenant, c.Weight)
	g.path = nil
	l.share.reweigh(c.Weight) // It is in no heap.
	if in := l.account.parent; in == nil || in.tenant != l.tenant {
		l.account.most = c.Most
	}
	for x := l; x != nil; x = x.account.parent {
		g.begin(g.home(x), &x.share)
		g.price(x, charge(n))
	}
	g.grant(l, n)
	return true
}

// PushCapped is Push of a request that is for at most the caps that c has.
func (o *Order) PushCapped(w *waiting.Waiter, c *Claim, now int64, wake *waiting.WakeList) (*Ticket, waiting.Outcome) {
	g := o.ledger
	g.clock, g.most = now, c.Most
	if len(c.Path) > 0 {
		g.path = c.Path
		if g.forbid(g.line(c.Tenant), w.N) {
			g.path = nil
			return nil, waiting.TooLarge
		}
	}
	t, outcome := o.Push(w, &c.By, now, false, wake)
	g.path, g.known = nil, false
	return t, outcome
}

// DelayOf is Delay of a request of c.
func (o *Order) DelayOf(c *Claim, n int64) time.Duration {
	o.ledger.path, o.ledger.known = c.Path, false
	d := o.Delay(c.Tenant, c.Weight, n)
	o.ledger.path = nil
	return d
}

// Clocked reports whether any of the times that an Order with accounts gets are used.
func (o *Order) Clocked() bool { return o.timed || o.config.Debit == DebitTime }

// PopFit is Pop of a request for at most free permits, and returns its tenant, too. It returns nil
// if what comes next is for more.
func (o *Order) PopFit(free, now int64, wake *waiting.WakeList) (w *waiting.Waiter, tenant any) {
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
	l := g.granted
	if l == nil || !same(l.tenant, tenant) {
		l = g.line(tenant)
	}
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
	if l := o.ledger.line(tenant); l != nil {
		return l.account.held
	}
	return 0
}
