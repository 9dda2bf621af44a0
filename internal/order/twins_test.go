package order

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// Twins are two Orders with accounts that are asked for the same. One of them forgets after each
// call what only saves work: its spares, and whom it has found last. So the other one must not
// behave differently. Equal tenants are other values each time, and there are more of them than
// spares.
type twins struct {
	t       *testing.T
	rng     *rand.Rand
	orders  [2]*Order
	wake    waiting.WakeList
	now     int64
	free    int64
	flat    bool
	dear    int64 // what a request costs at most
	parents []int // a larger number; from len on: none
	weights []int
	most    []int64
	waiting map[*waiting.Waiter]*pair
	held    []*pair
}

// A pair is a request to both.
type pair struct {
	w       [2]waiting.Waiter
	tickets [2]*Ticket
	tenant  int
}

func shedding(rng *rand.Rand) Queue {
	return Queue{
		Shed: Shed(rng.IntN(3)), Target: 50, Interval: 400 * time.Nanosecond, MaxWaitingPerTenant: rng.IntN(4),
	}
}

func newTwins(t *testing.T, seed uint64) *twins {
	rng := rand.New(rand.NewPCG(seed, 78))
	c := Config{Shares: true, Accounts: true, Debit: Debit(rng.IntN(3))}
	if rng.IntN(3) == 0 {
		c.Queue = shedding(rng)
	}
	n := 1 + rng.IntN([]int{12, 600}[rng.IntN(2)])
	k := &twins{
		t: t, rng: rng, orders: [2]*Order{New(c), New(c)}, now: 1, free: []int64{4, 400}[rng.IntN(2)],
		parents: make([]int, n), weights: make([]int, n), most: make([]int64, n),
		waiting: map[*waiting.Waiter]*pair{}, flat: rng.IntN(5) == 0, dear: 10 << rng.IntN(16),
	}
	for i := range k.parents {
		k.parents[i], k.weights[i], k.most[i] = k.parentOf(i), 1+rng.IntN(4), -1
		if rng.IntN(4) == 0 {
			k.most[i] = 1 + rng.Int64N(20)
		}
	}
	return k
}

// parentOf chooses a parent: most have one of a few, and some have a neighbour.
func (k *twins) parentOf(i int) int {
	n := len(k.parents)
	if k.rng.IntN(8) == 0 {
		return i + 1 + k.rng.IntN(n)
	}
	return max(i+1, n-n/10-k.rng.IntN(n/10+1))
}

// tenant returns a value that is equal to others, and not the same; the first one is nobody.
func (k *twins) tenant(i int) any {
	if i == 0 {
		return nil
	}
	return 1000 + i
}

// claim returns who asks, and the least cap of its path.
func (k *twins) claim(tenant int) (c *Claim, least int64) {
	x := k.tenant(tenant)
	c = &Claim{By: By{Tenant: x, Weight: k.weights[tenant]}, Most: k.most[tenant]}
	least = -1
	if k.flat {
		return c, c.Most
	}
	for i := tenant; i < len(k.parents) && len(c.Path) < 8; i = k.parents[i] {
		c.Path = append(c.Path, Level{x, k.weights[i], k.most[i]})
		if most := k.most[i]; most >= 0 && (least < 0 || most < least) {
			least = most
		}
		x = k.tenant(k.parents[i])
	}
	return c, least
}

// forget has the second one forget what it need not know.
func (k *twins) forget() {
	g := k.orders[1].ledger
	for a := g.spare[0].first; a != nil; a = a.next {
		g.unname(a)
	}
	g.asked, g.answer, g.granted, g.known = new(int), nil, nil, false
}

func (k *twins) amend(o *Order, c *Claim) {
	o.Amend(c, &k.wake)
	k.forget() // A push that follows is in the same step of a semaphore.
}

func (k *twins) ask(tenant int, n int64) {
	if _, least := k.claim(tenant); least >= 0 && n > least {
		return
	}
	p := &pair{tenant: tenant}
	p.w[0].N, p.w[1].N = n, n
	var took [2]bool
	var outcomes [2]waiting.Outcome
	news, free := k.rng.IntN(3) > 0, n <= k.free
	for i, o := range k.orders {
		c, _ := k.claim(tenant)
		if news {
			k.amend(o, c)
		}
		took[i] = free && o.Take(c, n, k.now)
		if took[i] {
			continue
		}
		if !news {
			k.amend(o, c)
		}
		w := &p.w[i]
		w.Arm(nil)
		p.tickets[i], outcomes[i] = o.PushCapped(w, c, k.now, &k.wake)
		if outcomes[i] != waiting.Pending {
			o.DelayOf(c, n)
		}
	}
	require.Equal(k.t, took[1], took[0])
	require.Equal(k.t, outcomes[1], outcomes[0])
	switch {
	case took[0]:
		k.free -= n
		k.held = append(k.held, p)
	case outcomes[0] == waiting.Pending:
		k.waiting[&p.w[0]] = p
	}
}

func (k *twins) giveBack(i int, cost int64) {
	p := k.held[i]
	k.held[i] = k.held[len(k.held)-1]
	k.held = k.held[:len(k.held)-1]
	for _, o := range k.orders {
		require.True(k.t, o.Return(k.tenant(p.tenant), p.w[0].N, cost, k.now))
	}
	k.free += p.w[0].N
}

func (k *twins) giveUp() {
	var first *pair
	for _, p := range k.waiting {
		if first == nil || p.tickets[0].seq < first.tickets[0].seq {
			first = p
		}
	}
	if first != nil {
		for i, o := range k.orders {
			require.True(k.t, o.Remove(first.tickets[i], &first.w[i]))
		}
		delete(k.waiting, &first.w[0])
	}
}

func (k *twins) serve() {
	for {
		w, tenant := k.orders[0].PopFit(k.free, k.now, &k.wake)
		w2, tenant2 := k.orders[1].PopFit(k.free, k.now, &k.wake)
		k.forget()
		require.Equal(k.t, tenant2, tenant)
		if w == nil {
			break
		}
		p := k.waiting[w]
		require.True(k.t, p != nil, "it has left before")
		require.Same(k.t, &p.w[1], w2)
		delete(k.waiting, w)
		k.held = append(k.held, p)
		k.free -= w.N
	}
	k.wake.Wake()
	for w, p := range k.waiting {
		require.Equal(k.t, p.w[1].Status(), w.Status())
		if w.Status() != waiting.StatusWaiting {
			delete(k.waiting, w)
		}
	}
	require.Len(k.t, k.waiting, k.orders[0].Len())
}

// check compares the accounts. It looks nobody up, which would change where the maps have it.
func (k *twins) check() {
	g, h := k.orders[0].ledger, k.orders[1].ledger
	require.Equal(k.t, h.now, g.now)
	nodes := 0
	other := h.inUse.first
	for a := g.inUse.first; a != nil; a, other = a.next, other.next {
		require.True(k.t, other != nil, "an account more")
		require.Equal(k.t, seen(other), seen(a))
		node := g.tenants.lanes[a.lane.tenant]
		if node == nil {
			node = g.tenants.old[a.lane.tenant]
		}
		require.True(k.t, node != nil, "a tenant is not found")
		if node == &a.lane {
			nodes++
		} else {
			require.Same(k.t, &a.lane, node.account.group.own)
		}
	}
	require.True(k.t, other == nil, "an account less")
	for a := g.spare[0].first; a != nil; a = a.next {
		if a.spare {
			nodes++
			require.Same(k.t, &a.lane, g.tenants.lanes[a.lane.tenant])
		}
	}
	require.Equal(k.t, nodes, len(g.tenants.lanes)+len(g.tenants.old))
	require.Empty(k.t, unsound(k.orders[1]))
}

// seen returns what tells an account from one of the other Order.
func seen(a *account) (x struct {
	tenant, parent any
	group          bool
	share          share
	size           int
	codel          codel
	active, owes   bool
	numbers        [6]int64
},
) {
	l := &a.lane
	if a.parent != nil {
		x.parent = a.parent.tenant
	}
	x.tenant, x.group, x.share, x.size, x.codel = l.tenant, a.group != nil, l.share, l.size, l.codel
	x.active, x.owes = l.active, l.owes
	x.numbers = [...]int64{a.most, a.held, a.charged, a.used, a.at, a.mean}
	return x
}

func (k *twins) step(fill int) {
	k.now += k.rng.Int64N(20)
	tenant := k.rng.IntN(len(k.parents))
	switch op := k.rng.IntN(32); {
	case op < 24 && k.rng.IntN(10) < fill:
		k.ask(tenant, 1+k.rng.Int64N(3))
	case op < 24 && len(k.held) > 0:
		k.giveBack(k.rng.IntN(len(k.held)), k.rng.Int64N(k.dear)-5)
	case op == 24:
		k.giveUp()
	case op == 25:
		k.weights[tenant] = 1 + k.rng.IntN(9)
	case op == 26:
		k.most[tenant] = k.rng.Int64N([]int64{4, 30}[k.rng.IntN(2)]) - 1
	case op == 27:
		k.parents[tenant] = k.parentOf(tenant)
	case op == 28:
		for _, o := range k.orders {
			c, _ := k.claim(tenant)
			k.amend(o, c)
			o.DelayOf(c, 1)
		}
	case op == 29:
		for _, o := range k.orders {
			require.False(k.t, o.Return(k.tenant(len(k.parents)), 1, -1, k.now))
			o.Held(k.tenant(tenant))
		}
	case op == 30 && k.rng.IntN(8) == 0:
		q, n := shedding(k.rng), 1+k.rng.Int64N(3)
		for _, o := range k.orders {
			o.Set(q)
			o.Reject(n, &k.wake)
		}
	case op == 31: // Somebody comes to be within one that owes, and has moved.
		for _, l := range k.orders[0].ledger.debts.lanes {
			if number, ok := l.tenant.(int); ok && number-1000 < len(k.parents) {
				owes := number - 1000
				tenant = k.rng.IntN(owes)
				k.parents[tenant], k.parents[owes] = owes, k.parentOf(owes)
				k.ask(tenant, 1)
				break
			}
		}
	}
	k.serve()
}

// end gives all back that is held, while everybody may hold what it wants.
func (k *twins) end() {
	for i := range k.most {
		k.most[i] = -1
	}
	for i := range k.most {
		for _, o := range k.orders {
			c, _ := k.claim(i)
			k.amend(o, c)
		}
	}
	for k.serve(); len(k.held) > 0; k.serve() {
		k.giveBack(0, 1000*k.rng.Int64N(k.dear)) // Most owe in the end.
	}
	k.check()
	for _, o := range k.orders {
		require.Zero(k.t, o.Len(), "lost")
		require.Nil(k.t, o.ledger.inUse.first)
	}
}

// What a ledger knows besides its accounts only saves work.
func TestSparesChangeNothing(t *testing.T) {
	seeds := uint64(60)
	if locktest.Stress() {
		seeds = 2000
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			k := newTwins(t, seed)
			every := 1 + k.rng.IntN(40)
			for _, fill := range []int{9, 5, 1, 5, 2, 9, 0, 3, 9} {
				for i := range 400 {
					k.step(fill)
					if i%every == 0 {
						k.check()
					}
				}
				if fill == 9 {
					k.end()
				}
			}
			require.Empty(t, unsound(k.orders[0]))
		})
	}
}
