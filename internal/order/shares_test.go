package order

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A claim is a request of a tenant whose overtakers are counted.
type claim struct {
	w       waiting.Waiter
	ticket  *Ticket
	tenant  int
	own     int64 // permits of the tenant that waited when it came, with its own
	weight  int64 // of the tenant, the least since it came
	changes int64 // of its weight since
	others  map[int]*overtaker
}

// An overtaker is another tenant, as seen by a claim.
type overtaker struct {
	waited bool  // when the claim came
	got    int64 // permits since
	first  int64 // those of the first request that was popped since, if it waited
	weight int64 // the largest it was popped with
}

// Bounds runs an Order with shares, and checks for each request that the permits of each other
// tenant which overtake it are at most
//
//	own × w/w' + m + (2 + 2 × changes) × w/2^20
//
// where own are those that its tenant waits for when it comes, w the other tenant's weight and w'
// its own, and m the other tenant's first request that is popped, or 0 if that tenant did not wait
// when it came. The last term is for rounding, where changes are those of its own weight. All of it
// in whole numbers.
type bounds struct {
	t       testing.TB
	order   *Order
	weights map[int]int
	lanes   map[int]int64 // the weights of the tenants that wait, as the Order knows them
	waiting []*claim
	virtual uint64
	tight   float64 // the largest part of a bound that was reached
}

func newBounds(t testing.TB) *bounds {
	b := &bounds{t: t, weights: map[int]int{}, lanes: map[int]int64{}}
	b.order = New(Config{Shares: true, Weight: func(tenant any) int { return b.weights[tenant.(int)] }})
	return b
}

// newAccountBounds is newBounds of an Order with accounts, which keeps the same bounds.
func newAccountBounds(t testing.TB) *bounds {
	b := newBounds(t)
	b.order = New(Config{Shares: true, Accounts: true, Weight: b.order.config.Weight})
	b.order.ledger.most = -1
	return b
}

func (b *bounds) shares() *shares {
	if b.order.ledger != nil {
		return &b.order.ledger.shares
	}
	return b.order.policy.(*shares)
}

func (b *bounds) of(tenant int) (own []*claim) {
	for _, c := range b.waiting {
		if c.tenant == tenant {
			own = append(own, c)
		}
	}
	return own
}

func (b *bounds) push(tenant int, n int64) *claim {
	c := &claim{tenant: tenant, own: n, others: map[int]*overtaker{}}
	c.w.N = n
	for _, other := range b.waiting {
		if other.tenant == tenant {
			c.own += other.w.N
		} else if c.others[other.tenant] == nil {
			c.others[other.tenant] = &overtaker{waited: true}
		}
	}
	c.weight = int64(b.order.Weigh(tenant))
	for _, own := range b.of(tenant) {
		if b.lanes[tenant] != c.weight {
			own.weight = min(own.weight, c.weight)
			own.changes++
		}
	}
	b.lanes[tenant] = c.weight
	var wake waiting.WakeList
	by := &By{Tenant: tenant, Weight: int(c.weight)}
	if b.order.ledger != nil {
		b.order.amendBy(by, -1, &wake)
	}
	ticket, outcome := b.order.Push(&c.w, by, 0, true, &wake)
	require.Equal(b.t, waiting.Pending, outcome)
	c.ticket = ticket
	b.waiting = append(b.waiting, c)
	return c
}

func (b *bounds) drop(c *claim) {
	for i, other := range b.waiting {
		if other == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			break
		}
	}
	if len(b.waiting) == 0 {
		b.virtual = 0
	}
}

func (b *bounds) remove(c *claim) {
	require.True(b.t, b.order.Remove(c.ticket, &c.w))
	b.drop(c)
}

func (b *bounds) pop() *claim {
	var wake waiting.WakeList
	w := b.order.Pop(0, &wake)
	var c *claim
	for _, other := range b.waiting {
		if &other.w == w {
			c = other
		}
	}
	require.True(b.t, c != nil)
	b.drop(c)
	for _, other := range b.waiting {
		if other.tenant != c.tenant {
			b.overtaken(other, c)
		}
	}
	if len(b.waiting) > 0 {
		require.GreaterOrEqual(b.t, b.shares().now, b.virtual, "the virtual time falls")
		b.virtual = b.shares().now
	}
	return c
}

func (b *bounds) overtaken(c, by *claim) {
	o := c.others[by.tenant]
	if o == nil {
		o = &overtaker{}
		c.others[by.tenant] = o
	}
	if o.waited && o.got == 0 {
		o.first = by.w.N
	}
	o.got += by.w.N
	o.weight = max(o.weight, b.lanes[by.tenant])
	// Both sides times weight × 2^20.
	got := (o.got - o.first) * c.weight * unit
	bound := c.own*o.weight*unit + (2+2*c.changes)*o.weight*c.weight
	if got > bound {
		require.Fail(b.t, "overtaken too often", "by %d of tenant %d with weight %d, first %d; own %d, weight %d",
			o.got, by.tenant, o.weight, o.first, c.own, c.weight)
	}
	b.tight = max(b.tight, float64(got)/float64(bound))
}

func TestSharesOvertakingIsBounded(t *testing.T) {
	for name, make := range map[string]func(testing.TB) *bounds{"shares": newBounds, "accounts": newAccountBounds} {
		t.Run(name, func(t *testing.T) { testOvertakingIsBounded(t, make) })
	}
}

func testOvertakingIsBounded(t *testing.T, newBounds func(testing.TB) *bounds) {
	rounds := uint64(60)
	if locktest.Stress() {
		rounds = 400
	}
	tight := 0.0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := newBounds(t)
		tenants := 2 + rng.IntN(12)
		weights := [][]int{{1}, {1, 2, 3, 7}, {1, 1 << 20}, {5, 1 << 19, 1<<20 - 1}}[rng.IntN(4)]
		largest := []int64{1, 3, 9, 100}[rng.IntN(4)]
		fill, cancels, changes := 4+rng.IntN(60), rng.IntN(30), rng.IntN(2)*rng.IntN(20)
		for i := range tenants {
			b.weights[i] = weights[rng.IntN(len(weights))]
		}
		for range 600 {
			tenant := rng.IntN(tenants)
			switch {
			case rng.IntN(100) < cancels && len(b.waiting) > 0:
				// Often the largest: it may have let the virtual time go past the one behind it.
				victim := b.waiting[rng.IntN(len(b.waiting))]
				for _, c := range b.waiting {
					if rng.IntN(2) == 0 && c.w.N > victim.w.N {
						victim = c
					}
				}
				b.remove(victim)
			case rng.IntN(100) < changes:
				b.weights[tenant] = weights[rng.IntN(len(weights))]
			case rng.IntN(2*fill) >= len(b.waiting):
				n := 1 + rng.Int64N(largest)
				if tenant == 0 && rng.IntN(2) == 0 { // a flood of one, from time to time
					b.push(tenant, 1)
				}
				b.push(tenant, n)
			default:
				b.pop()
			}
		}
		require.Empty(t, unsound(b.order))
		for len(b.waiting) > 0 {
			b.pop()
		}
		tight = max(tight, b.tight)
	}
	t.Logf("up to %.3f of a bound", tight)
	require.Greater(t, tight, 0.95, "the schedules do not try hard")
}

// No smaller bound holds.
func TestSharesBoundIsReached(t *testing.T) {
	const helper, other, own = 0, 1, 2
	b := newBounds(t)
	b.weights = map[int]int{helper: 1, other: 2, own: 1}
	b.push(helper, 1)
	b.push(other, 2)
	for range 4 {
		b.push(other, 1)
	}
	require.Equal(t, helper, b.pop().tenant) // The virtual time is the other's tag now.
	c := b.push(own, 1)
	for len(b.of(own)) > 0 {
		b.pop()
	}
	require.Equal(t, int64(2+1*2), c.others[other].got)
}

// What a tenant did before it was idle counts neither for it nor against it.
func TestATenantThatComesBackStartsWhereOthersAre(t *testing.T) {
	for _, before := range []int{0, 1, 100} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			b := newBounds(t)
			const idle, busy = 0, 1
			b.weights = map[int]int{idle: 1, busy: 1}
			for range before {
				b.push(idle, 1)
			}
			for range 300 {
				b.push(busy, 1)
			}
			for len(b.of(idle)) > 0 { // It has as much as the other, or nothing.
				b.pop()
			}
			for range 50 { // The other goes on alone.
				b.pop()
			}
			for range 20 {
				b.push(idle, 1)
			}
			got := map[int]int{}
			for range 20 {
				got[b.pop().tenant]++
			}
			require.InDelta(t, 10, got[idle], 1)
		})
	}
}

// While two tenants wait, what they get by their weights differs by at most their largest requests
// (Golestani 1994).
func TestSharesDifferByARequestAtMost(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 4))
		b := newBounds(t)
		weights := []int64{1 + rng.Int64N(9), 1 + rng.Int64N(9), 1 + rng.Int64N(9)}
		largest := []int64{1 + rng.Int64N(20), 1 + rng.Int64N(20), 1 + rng.Int64N(20)}
		for i, w := range weights {
			b.weights[i] = int(w)
			for range 10 {
				b.push(i, 1+rng.Int64N(largest[i]))
			}
		}
		low, high, diff := int64(0), int64(0), int64(0) // of tenants 0 and 1, times both weights
		for range 1000 {
			c := b.pop()
			b.push(c.tenant, 1+rng.Int64N(largest[c.tenant]))
			switch c.tenant {
			case 0:
				diff += c.w.N * weights[1]
			case 1:
				diff -= c.w.N * weights[0]
			}
			low, high = min(low, diff), max(high, diff)
		}
		require.LessOrEqual(t, high-low, largest[0]*weights[1]+largest[1]*weights[0])
	}
}

func TestTwoTenantsShareHalfAndHalf(t *testing.T) {
	s := newSim(t, 4, Config{Shares: true})
	held := map[any]time.Duration{}
	for i, clients := range []int{1000, 10} {
		tenant := []string{"many", "few"}[i]
		for range clients {
			s.after(s.exp(time.Millisecond), func() {
				s.loop(tenant, one, func() time.Duration { return s.exp(time.Millisecond) }, func(j *job) {
					held[j.tenant] += j.hold
				})
			})
		}
	}
	s.run(10 * time.Second)
	share := float64(held["few"]) / float64(held["few"]+held["many"])
	t.Logf("the one with few requests: %.4f", share)
	require.InDelta(t, 0.5, share, 0.02)
}

func one() int64 { return 1 }

func TestWeightsAreKept(t *testing.T) {
	weights := map[any]int{"a": 1, "b": 2, "c": 4}
	s := newSim(t, 16, Config{Shares: true, Weight: func(tenant any) int { return weights[tenant] }})
	held, all := map[any]float64{}, 0.0
	for _, tenant := range []string{"a", "b", "c"} {
		for range 100 {
			s.loop(tenant, func() int64 { return 1 + s.rng.Int64N(8) },
				func() time.Duration { return s.exp(time.Millisecond) },
				func(j *job) {
					held[j.tenant] += float64(j.w.N) * float64(j.hold)
					all += float64(j.w.N) * float64(j.hold)
				})
		}
	}
	s.run(20 * time.Second)
	for tenant, weight := range weights {
		t.Logf("%s: %.4f", tenant, held[tenant]/all)
		require.InEpsilon(t, float64(weight)/7, held[tenant]/all, 0.03)
	}
}

// A tenant is a value. It does not matter where it lies, nor how many others wait.
func TestEqualTenantsAreOne(t *testing.T) {
	for _, others := range []int{0, few - 1, few, 3 * few} {
		o := New(Config{Shares: true})
		var wake waiting.WakeList
		waiters := make([]waiting.Waiter, others+4)
		for i := range waiters {
			var tenant any = i
			if i >= others {
				tenant = []any{strings.Clone("one"), strings.Clone("one"), [2]int{1, 2}, [2]int{1, 2}}[i-others]
			}
			waiters[i].N = 1
			o.Push(&waiters[i], &By{Tenant: tenant, Weight: 1}, 0, true, &wake)
		}
		require.Len(t, o.policy.all(), others+2)
	}
}

// A new weight counts from where the lane stands. Only a part of a unit is rounded up.
func TestANewWeightMovesNoLane(t *testing.T) {
	for _, c := range []struct{ weight, moves int }{{1, 0}, {3, 1}} {
		o := New(Config{Shares: true})
		var wake waiting.WakeList
		waiters := make([]waiting.Waiter, 3)
		for i := range waiters {
			waiters[i].N = 1
		}
		o.Push(&waiters[0], &By{Tenant: "one", Weight: c.weight}, 0, true, &wake)
		o.Push(&waiters[1], &By{Tenant: "one", Weight: c.weight}, 0, true, &wake)
		o.Pop(0, &wake)
		l := o.policy.find("one")
		start := l.share.start
		require.EqualValues(t, unit/c.weight, start)
		o.Push(&waiters[2], &By{Tenant: "one", Weight: 2}, 0, true, &wake)
		require.EqualValues(t, c.moves, l.share.start-start, "weight %d", c.weight)
	}
}
