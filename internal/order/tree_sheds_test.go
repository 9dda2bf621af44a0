package order

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A thicket is an Order with a random tree of accounts, a queue that sheds and refuses, and
// requests and costs that may be huge. It has no model: it is sound after each call.
type thicket struct {
	t       *testing.T
	rng     *rand.Rand
	order   *Order
	wake    waiting.WakeList
	now     int64
	size    int64
	free    int64
	huge    bool
	parents [12]int // a larger number; from 12 on: none
	weights [12]int
	most    [12]int64
	waiting map[*waiting.Waiter]*branch
	held    []*branch
}

// A branch is a request.
type branch struct {
	waiting.Waiter
	ticket *Ticket
	tenant int
}

func newThicket(t *testing.T, seed uint64) *thicket {
	rng := rand.New(rand.NewPCG(seed, 77))
	debit := Debit(rng.IntN(3))
	q := Queue{Shed: Shed(rng.IntN(3)), Target: 5, Interval: 40 * time.Nanosecond}
	if rng.IntN(3) == 0 {
		q.MaxWaitingPerTenant = 3
	}
	q.RefuseLate = rng.IntN(3) == 0
	k := &thicket{
		t: t, rng: rng, order: New(Config{Shares: true, Accounts: true, Debit: debit, Queue: q}),
		now: 1, size: 10, waiting: map[*waiting.Waiter]*branch{},
	}
	if k.huge = debit != DebitGrants && rng.IntN(2) == 0; k.huge {
		k.size = 1 << 44
	}
	k.free = k.size
	for i := range k.parents {
		k.parents[i], k.weights[i], k.most[i] = i+1+rng.IntN(5), 1+rng.IntN(4), -1
		if rng.IntN(3) == 0 {
			k.most[i] = k.size/2 + rng.Int64N(k.size/2)
		}
	}
	return k
}

// claim returns who asks, and the least cap of its path.
func (k *thicket) claim(tenant int) (c *Claim, least int64) {
	c = &Claim{By: By{
		Tenant: tenant, Weight: k.weights[tenant], Deadline: k.now + k.rng.Int64N(1000), Permits: k.size,
	}, Most: k.most[tenant]}
	least = -1
	for i := tenant; i < len(k.parents); i = k.parents[i] {
		c.Path = append(c.Path, Level{i, k.weights[i], k.most[i]})
		if most := k.most[i]; most >= 0 && (least < 0 || most < least) {
			least = most
		}
	}
	return c, least
}

func (k *thicket) ask(tenant int) {
	c, least := k.claim(tenant)
	b := &branch{tenant: tenant}
	if b.N = 1 + k.rng.Int64N(3); k.huge && k.rng.IntN(2) == 0 {
		b.N = 1 + k.rng.Int64N(k.size/2)
	}
	if least >= 0 && b.N > least {
		return
	}
	k.order.Amend(c, &k.wake)
	if b.N <= k.free && k.order.Take(c, b.N, k.now) {
		k.free -= b.N
		k.held = append(k.held, b)
		return
	}
	b.Arm(nil)
	ticket, outcome := k.order.PushCapped(&b.Waiter, c, k.now, &k.wake)
	if outcome != waiting.Pending {
		k.order.DelayOf(c, b.N)
		return
	}
	b.ticket = ticket
	k.waiting[&b.Waiter] = b
}

func (k *thicket) giveBack(i int, cost int64) {
	b := k.held[i]
	k.held[i] = k.held[len(k.held)-1]
	k.held = k.held[:len(k.held)-1]
	require.True(k.t, k.order.Return(b.tenant, b.N, cost, k.now))
	k.free += b.N
}

// giveUp removes the request that came first, so that a seed says all.
func (k *thicket) giveUp() {
	var first *branch
	for _, b := range k.waiting {
		if first == nil || b.ticket.seq < first.ticket.seq {
			first = b
		}
	}
	if first != nil {
		require.True(k.t, k.order.Remove(first.ticket, &first.Waiter))
		delete(k.waiting, &first.Waiter)
	}
}

// serve grants what can be granted, and forgets what was shed.
func (k *thicket) serve() {
	for {
		w, tenant := k.order.PopFit(k.free, k.now, &k.wake)
		if w == nil {
			break
		}
		b := k.waiting[w]
		require.True(k.t, b != nil, "it has left before")
		require.Equal(k.t, b.tenant, tenant)
		delete(k.waiting, w)
		k.held = append(k.held, b)
		k.free -= w.N
	}
	k.wake.Wake()
	for w := range k.waiting {
		if w.Status() != waiting.StatusWaiting {
			delete(k.waiting, w)
		}
	}
	require.Len(k.t, k.waiting, k.order.Len())
	require.Empty(k.t, unsound(k.order))
}

func (k *thicket) step() {
	k.now += k.rng.Int64N(20)
	tenant := k.rng.IntN(len(k.parents))
	switch op := k.rng.IntN(20); {
	case op < 10:
		k.ask(tenant)
	case op < 15 && len(k.held) > 0:
		cost := k.rng.Int64N(100) - 10
		if k.huge {
			cost = k.rng.Int64()
		}
		k.giveBack(k.rng.IntN(len(k.held)), cost)
	case op == 15:
		k.giveUp()
	case op == 16:
		k.weights[tenant] = 1 + k.rng.IntN(MaxWeight)
	case op == 17:
		k.most[tenant] = k.rng.Int64N(k.size+1) - 1
	case op == 18:
		k.parents[tenant] = tenant + 1 + k.rng.IntN(5)
	case op == 19:
		c, _ := k.claim(tenant)
		k.order.Amend(c, &k.wake)
		k.order.DelayOf(c, 1)
	}
	k.serve()
}

// Whatever is shed, refused or given up in a tree, whatever it costs, and whichever tenant moves:
// nothing is lost, and when all caps are gone and all is given back nothing is left.
func TestTreesThatShedAreSound(t *testing.T) {
	seeds := uint64(60)
	if locktest.Stress() {
		seeds = 2000
	}
	for seed := range seeds {
		k := newThicket(t, seed)
		for range 300 {
			k.step()
		}
		for i := range k.most {
			k.most[i] = -1
		}
		for i := range k.most {
			c, _ := k.claim(i)
			k.order.Amend(c, &k.wake)
		}
		for k.serve(); len(k.held) > 0; k.serve() {
			k.giveBack(0, 1)
		}
		require.Zero(t, k.order.Len(), "seed %d: lost", seed)
		require.Nil(t, k.order.ledger.inUse.first)
	}
}
