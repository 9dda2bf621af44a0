package order

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A till is a sim whose Order has accounts, so that nothing is staged.
type till struct {
	*sim
	next map[any]func(j *job) int64 // makes a request of a tenant
	caps map[any]int64

	used    map[any]float64 // what was used by those that are back
	holding map[any]float64 // what those that are held will have used
	most    map[any]float64 // the most of that, and of what they were charged
	dearest map[any]float64 // the most that a request was or would be charged
	held    map[any]int64
	waited  map[any]time.Duration // the longest
}

func newTill(t testing.TB, permits int64, c Config) *till {
	c.Shares, c.Accounts = true, true
	return &till{
		sim: newSim(t, permits, c), next: map[any]func(*job) int64{}, caps: map[any]int64{},
		used: map[any]float64{}, holding: map[any]float64{}, most: map[any]float64{},
		dearest: map[any]float64{}, held: map[any]int64{}, waited: map[any]time.Duration{},
	}
}

// uses returns what shares divide of j.
func (k *till) uses(j *job) float64 {
	if k.order.config.Debit == DebitCost {
		return float64(j.cost)
	}
	return float64(j.w.N) * float64(j.hold)
}

// clients has so many clients of a tenant ask again and again.
func (k *till) clients(tenant any, n int, next func(j *job) (permits int64)) {
	k.next[tenant] = next
	for range n {
		k.ask(tenant)
	}
}

func (k *till) ask(tenant any) {
	j := &job{tenant: tenant, arrived: k.now}
	j.w.N = k.next[tenant](j)
	by, most := &By{Tenant: tenant, Weight: k.order.Weigh(tenant)}, int64(-1)
	if c, ok := k.caps[tenant]; ok {
		most = c
	}
	if j.w.N <= k.free && k.order.takeBy(by, most, j.w.N, k.now) {
		k.grant(j)
		return
	}
	j.w.Arm(nil)
	k.jobs[&j.w] = j
	var wake waiting.WakeList
	_, outcome := k.order.pushBy(&j.w, by, most, k.now, &wake)
	require.Equal(k.t, waiting.Pending, outcome)
	k.serve()
}

func (k *till) serve() {
	var wake waiting.WakeList
	for {
		w, _ := k.order.PopFit(k.free, k.now, &wake)
		if w == nil {
			return
		}
		j := k.jobs[w]
		delete(k.jobs, w)
		k.grant(j)
	}
}

func (k *till) grant(j *job) {
	tenant, n := j.tenant, j.w.N
	k.free -= n
	k.held[tenant] += n
	k.waited[tenant] = max(k.waited[tenant], time.Duration(k.now-j.arrived))
	k.holding[tenant] += k.uses(j)
	a := k.order.ledger.lineOf(tenant).account
	k.most[tenant] = max(k.most[tenant], k.holding[tenant], float64(a.charged))
	k.dearest[tenant] = max(k.dearest[tenant], float64(a.mean*k.size))
	k.after(j.hold, func() {
		require.True(k.t, k.order.Return(tenant, n, j.cost, k.now))
		k.free += n
		k.held[tenant] -= n
		k.used[tenant] += k.uses(j)
		k.holding[tenant] -= k.uses(j)
		if l := k.order.ledger.lineOf(tenant); l != nil {
			k.dearest[tenant] = max(k.dearest[tenant], float64(l.account.mean*k.size))
		}
		k.serve()
		k.ask(tenant)
	})
}

// share returns which part of all use was a tenant's.
func (k *till) share(tenant any) float64 {
	all := 0.0
	for _, used := range k.used {
		all += used
	}
	return k.used[tenant] / all
}

// Two tenants of equal weight, one of which holds its permits ten times as long, share the time
// half and half. If grants are divided, they share it by how long they hold.
func TestSharesOfTime(t *testing.T) {
	for name, debit := range map[string]Debit{"grants": DebitGrants, "time": DebitTime} {
		for _, random := range []bool{false, true} {
			k := newTill(t, 4, Config{Debit: debit})
			for tenant, hold := range map[any]time.Duration{"short": time.Millisecond, "long": 10 * time.Millisecond} {
				k.next[tenant] = func(j *job) int64 {
					if j.hold = hold; random {
						j.hold = k.exp(hold)
					}
					return 1
				}
			}
			for range 20 {
				k.ask("short")
				k.ask("long")
			}
			k.run(20 * time.Second)
			t.Logf("by %s: share of time %.3f, at random %t, longest wait %v and %v",
				name, k.share("short"), random, k.waited["short"], k.waited["long"])
			if debit == DebitGrants {
				require.InDelta(t, 1.0/11, k.share("short"), 0.02)
			} else {
				require.InDelta(t, 0.5, k.share("short"), 0.02)
			}
		}
	}
}

// Weights divide what is reported, whatever requests are for and however long they hold.
func TestSharesOfCosts(t *testing.T) {
	weights := map[any]int{"a": 1, "b": 2, "c": 4}
	k := newTill(t, 16, Config{Debit: DebitCost, Weight: func(tenant any) int { return weights[tenant] }})
	for i, tenant := range []string{"a", "b", "c"} {
		k.clients(tenant, 50, func(j *job) int64 {
			j.hold, j.cost = k.exp(time.Millisecond), k.rng.Int64N(int64(1000*(1+5*i)))
			return 1 + k.rng.Int64N(4)
		})
	}
	k.run(20 * time.Second)
	for tenant, weight := range weights {
		t.Logf("%s: %.4f", tenant, k.share(tenant))
		require.InEpsilon(t, float64(weight)/7, k.share(tenant), 0.03)
	}
}

// While two tenants wait, what they have used, divided by their weights, differs by at most what
// the permits that they hold at a time cost, or are charged, and what one request more is charged.
func TestDebitsDifferByWhatIsHeld(t *testing.T) {
	tight := 0.0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		weights := []int{1 + rng.IntN(9), 1 + rng.IntN(9), 1 + rng.IntN(9)}
		c := Config{Debit: DebitTime + Debit(seed%2), Weight: func(tenant any) int { return weights[tenant.(int)] }}
		k := newTill(t, 1+rng.Int64N(16), c)
		for i := range weights {
			hold, most := time.Duration(1+rng.IntN(20))*time.Millisecond, 1+rng.Int64N(k.size)
			k.next[i] = func(j *job) int64 {
				j.hold, j.cost = k.exp(hold), rng.Int64N(100)
				return 1 + rng.Int64N(most)
			}
		}
		for range 40 { // They wait all the time: each has more clients than there are permits.
			for i := range weights {
				k.ask(i)
			}
		}
		place := func(i int) float64 {
			x := &k.order.ledger.lineOf(i).share
			return float64(int64(x.start)) + float64(x.rest)/float64(x.weight)
		}
		// What was owed at the start is part of it: all began at once.
		for range 3000 {
			k.run(time.Millisecond)
			for i := range weights {
				for j := range i {
					diff := math.Abs(place(i) - place(j))
					most := func(i int) float64 { return (k.most[i] + k.dearest[i]) / float64(weights[i]) }
					bound := most(i) + most(j)
					require.LessOrEqual(t, diff, bound+1, "seed %d", seed)
					tight = max(tight, diff/(bound+1))
				}
			}
		}
		require.Empty(t, unsound(k.order))
	}
	t.Logf("up to %.3f of a bound", tight)
	require.Greater(t, tight, 0.6, "the schedules do not try hard")
}

// What is used is charged in the end to the last nanosecond, in whatever order permits come back.
func TestDebitsAreExact(t *testing.T) {
	o := New(Config{Shares: true, Accounts: true, Debit: DebitTime})
	by := &By{Tenant: "one", Weight: 3}
	require.True(t, o.takeBy(&By{Tenant: "other", Weight: 1}, -1, 1, 0)) // or all would be forgotten
	for _, n := range []int64{1, 2, 4} {
		require.True(t, o.takeBy(by, -1, n, 10*n)) // at 10, 20, 40
	}
	require.False(t, o.Return("one", 8, -1, 100), "it holds seven")
	for i, n := range []int64{4, 1, 2} {
		require.True(t, o.Return("one", n, -1, int64(100+i)))
	}
	l := o.ledger.lineOf("one")
	require.True(t, l != nil, "it owes")
	used := int64(1*(101-10) + 2*(102-20) + 4*(100-40))
	// Each of four grants may have rounded its start up by a unit, which is three for this weight.
	paid := int64(l.share.start)*3 + l.share.rest
	require.GreaterOrEqual(t, paid, used)
	require.LessOrEqual(t, paid, used+4*3)
}

// A tenant at its cap leaves the rest to others, and none of it lies idle.
func TestACapHoldsUpNobody(t *testing.T) {
	k := newTill(t, 10, Config{})
	k.caps["capped"] = 2
	next := func(j *job) int64 {
		j.hold = k.exp(time.Millisecond)
		require.LessOrEqual(t, k.held["capped"], int64(2))
		return 1
	}
	k.clients("capped", 100, next)
	k.clients("other", 20, next)
	k.clients("third", 20, next)
	k.run(20 * time.Second)
	all := 0.0
	for _, tenant := range []string{"capped", "other", "third"} {
		t.Logf("%s: %.4f", tenant, k.share(tenant))
		all += k.used[tenant]
	}
	require.InEpsilon(t, float64(10*20*time.Second), all, 0.01)
	// When one of its permits is back it waits for its turn among three: it never has quite two.
	require.InDelta(t, 0.18, k.share("capped"), 0.01)
	require.InDelta(t, 0.41, k.share("other"), 0.01)
}

// A tenant whose cap grows has saved nothing up while it waited for it.
func TestACapThatGrowsIsNoCredit(t *testing.T) {
	k := newTill(t, 10, Config{})
	k.caps["capped"] = 1
	next := func(j *job) int64 { j.hold = time.Millisecond; return 1 }
	k.clients("capped", 100, next)
	k.clients("other", 100, next)
	k.run(time.Second)
	before := k.used["capped"]
	k.caps["capped"] = -1
	var wake waiting.WakeList
	k.order.amendBy(&By{Tenant: "capped", Weight: 1}, -1, &wake)
	k.run(100 * time.Millisecond)
	require.InDelta(t, 500, (k.used["capped"]-before)/float64(time.Millisecond), 20)
}

// A tenant that has used more than its share cannot leave it behind by going away for a moment.
func TestADebtIsKept(t *testing.T) {
	k := newTill(t, 2, Config{Debit: DebitCost})
	k.clients("steady", 4, func(j *job) int64 { j.hold, j.cost = time.Millisecond, 1; return 1 })
	k.next["dear"] = func(j *job) int64 { j.hold, j.cost = time.Millisecond, 1000; return 1 }
	k.ask("dear")
	k.run(10 * time.Second)
	// It is charged what others cost until it has paid once, and then a thousand each time.
	t.Logf("share of costs: %.3f", k.share("dear"))
	require.InDelta(t, 0.5, k.share("dear"), 0.03)
}

// Accounts take no memory in the steady state, and leave nothing behind.
func TestAccountsLeaveNothingBehind(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, debit := range debits {
		o := New(Config{Shares: true, Accounts: true, Debit: debit})
		leavesNothingBehind(t, name, o, 64<<10, func(i int, now int64) bool {
			return o.takeBy(&By{Tenant: i, Weight: 1}, -1, 1, now)
		})
	}
}

// leavesNothingBehind has 50,000 tenants, each by itself and then all at once, take a permit and
// return it. After that o must have forgotten them, but for so many bytes.
func leavesNothingBehind(t *testing.T, name string, o *Order, most int64, take func(i int, now int64) bool) {
	t.Helper()
	const n = 50_000
	now, before := int64(0), inUse()
	for round := range 2 {
		for i := range n {
			now += 1000
			require.True(t, take(i, now))
			if round == 0 {
				o.Return(i, 1, int64(i%1000), now)
			}
		}
	}
	t.Logf("%s: %d bytes each that holds", name, (inUse()-before)/n)
	for i := range n {
		now += 1000
		require.True(t, o.Return(i, 1, int64(i%1000), now))
	}
	left := inUse() - before
	t.Logf("%s: %d bytes are left", name, left)
	require.LessOrEqual(t, left, most)
	require.Nil(t, o.ledger.inUse.first)
	runtime.KeepAlive(o)
}

func TestAccountsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, debit := range debits {
		o := New(Config{Shares: true, Accounts: true, Debit: debit})
		tenants := []any{"a", "b", "c", "d"}
		waiters := make([]waiting.Waiter, 8)
		now := int64(0)
		var wake waiting.WakeList
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for i := range waiters {
				now += int64(i)
				w, by := &waiters[i], &By{Tenant: tenants[i%4], Weight: 1 + i%4}
				w.N = 1
				if i == 0 {
					o.takeBy(by, 4, 1, now)
					continue
				}
				o.pushBy(w, by, 4, now, &wake)
			}
			for i := 1; i < len(waiters); i++ {
				w, tenant := o.PopFit(1, now, &wake)
				if w == nil {
					t.Fatal("nothing comes")
				}
				o.Return(tenant, 1, int64(i), now)
			}
			o.Return("a", 1, 1, now)
		}), name)
	}
}

// However large permits and costs are, tags stay near enough to the virtual time to be compared.
func TestHugeCostsAreBounded(t *testing.T) {
	for _, debit := range debits {
		o := New(Config{Shares: true, Accounts: true, Debit: debit})
		g := o.ledger
		dear, other := &By{Tenant: "dear", Weight: 1}, &By{Tenant: "other", Weight: MaxWeight}
		require.True(t, o.takeBy(other, -1, 1, 0)) // so that nothing is forgotten
		now := int64(0)
		for round := range 108 { // Then the virtual time has gone three quarters round, by grants.
			require.True(t, o.takeBy(dear, -1, 1<<58, now))
			require.True(t, o.takeBy(dear, -1, 1, now))
			now += math.MaxInt64 / 8
			require.True(t, o.Return("dear", 1<<58, math.MaxInt64, now))
			require.True(t, o.Return("dear", 1, math.MaxInt64, now))
			l := g.lineOf("dear")
			require.True(t, l != nil || debit == DebitGrants || round > 0, "its debt is forgotten")
			if l != nil {
				ahead := int64(l.share.start - g.now)
				require.LessOrEqual(t, ahead, int64(maxCost))
				require.GreaterOrEqual(t, ahead, int64(0))
			}
			behind := int64(g.now - g.lineOf("other").share.start)
			require.True(t, debit == DebitGrants || behind >= 0 && behind <= 4*maxCost, "%d", behind)
		}
		// Who owes that much still comes after who owes nothing.
		var wake waiting.WakeList
		var w [2]waiting.Waiter
		for i, by := range []*By{dear, other} {
			w[i].N = 1
			_, outcome := o.pushBy(&w[i], by, -1, now, &wake)
			require.Equal(t, waiting.Pending, outcome)
		}
		first, _ := o.PopFit(1, now, &wake)
		require.Same(t, &w[1], first)
		require.Empty(t, unsound(o))
		require.True(t, o.Return("other", 1, 1, now))
		ahead := int64(g.lineOf("other").share.start - g.now)
		require.True(t, ahead < 1<<30 && ahead > -1<<30, "%d", ahead)
		second, _ := o.PopFit(1, now, &wake)
		require.Same(t, &w[0], second)
	}
}

// Not more than eight debts are forgotten one by one when all is idle, and all are in any case.
func TestDebtsAreForgottenWhenAllIsIdle(t *testing.T) {
	for _, n := range []int{1, few, few + 1, 10 * few} {
		o := New(Config{Shares: true, Accounts: true, Debit: DebitCost})
		for i := range n {
			require.True(t, o.takeBy(&By{Tenant: i, Weight: 1}, -1, 1, 0))
		}
		for i := range n {
			require.True(t, o.ledger.inUse.first != nil)
			require.True(t, o.Return(i, 1, 1_000_000, 0))
		}
		require.Empty(t, unsound(o))
		require.Nil(t, o.ledger.inUse.first)
		require.Zero(t, o.ledger.now)
		require.LessOrEqual(t, o.ledger.spare[0].n, minLanes)
		require.True(t, o.takeBy(&By{Tenant: 0, Weight: 1}, -1, 1, 0))
		require.True(t, o.Return(0, 1, 1, 0))
	}
}

// What is predicted for a tenant at its cap is what it would be if it were ready, beside others.
func TestPredictionsOfATenantAtItsCap(t *testing.T) {
	g := &ledger{most: 1}
	ready, capped := g.open(nil, "ready", 3), g.open(nil, "capped", 2)
	for _, l := range []*lane{ready, capped} {
		var w waiting.Waiter
		w.N = 1
		if l == capped {
			l.account.held = 1
		}
		g.join(l, &Ticket{w: &w, n: 1}, l.tenant, 0)
	}
	require.InDelta(t, 2*5.0/2, g.needed(capped, "capped", 2, 1, 100), 1e-9)
	require.InDelta(t, 2*3.0/3, g.needed(ready, "ready", 3, 1, 100), 1e-9)
	require.InDelta(t, 1*(3.0+1), g.needed(nil, "new", 1, 1, 100), 1e-9)
	require.InDelta(t, 4, g.needed(nil, "new", 1, 1, 3), 1e-9)
}

func TestCostsDoNotOverflow(t *testing.T) {
	require.EqualValues(t, 6, times(2, 3))
	require.EqualValues(t, int64(maxCost-1<<20), times(1<<20, maxCost>>20-1))
	for _, n := range []int64{1 << 30, 1 << 32, 1 << 59, math.MaxInt64} { // the product of 1<<32 is 0 modulo 1<<64
		require.EqualValues(t, int64(maxCost), times(n, n))
	}
}

// A Queue sees the lanes of accounts as it sees all others.
func TestAccountsHaveLines(t *testing.T) {
	o := New(Config{Shares: true, Accounts: true, Queue: Queue{MaxWaitingPerTenant: 2}})
	var wake waiting.WakeList
	var w [8]waiting.Waiter
	push := func(i int, tenant any, now int64) waiting.Outcome {
		w[i].N = 1
		w[i].Arm(nil)
		_, outcome := o.pushBy(&w[i], &By{Tenant: tenant, Weight: 1}, -1, now, &wake)
		return outcome
	}
	require.False(t, o.takeBy(&By{Tenant: "a", Weight: 1}, 0, 1, 0), "a cap of nothing")
	require.True(t, o.takeBy(&By{Tenant: "a", Weight: 1}, -1, 1, 0))
	require.Equal(t, waiting.Pending, push(0, "a", 0))
	require.Equal(t, waiting.Pending, push(1, "a", 0))
	require.Equal(t, waiting.QueueFull, push(2, "a", 0))
	require.Equal(t, waiting.Pending, push(2, "b", 0))
	o.Drain(waiting.Closed, &wake)
	require.EqualValues(t, 1, o.Held("a"))

	// A lane that was served newest first is forgotten when it is empty, though its tenant holds.
	for _, holds := range []bool{true, false} {
		o = New(Config{Shares: true, Accounts: true, Queue: Queue{Shed: ShedAdaptiveLIFO, Target: 90, Interval: 100}})
		if holds {
			require.True(t, o.takeBy(&By{Tenant: "a", Weight: 1}, -1, 1, 0))
		}
		pop := func(now int64) *waiting.Waiter {
			first, tenant := o.PopFit(1, now, &wake)
			require.Equal(t, "a", tenant)
			require.True(t, o.Return(tenant, 1, -1, now))
			return first
		}
		push(0, "a", 0)
		push(1, "a", 95)
		push(2, "a", 96)
		require.Same(t, &w[2], pop(100), "the newest")
		require.Same(t, &w[1], pop(100))
		require.Zero(t, o.Len(), "the oldest is shed")
		push(3, "a", 100)
		push(4, "a", 101)
		require.Same(t, &w[3], pop(102), "the oldest")
		require.Same(t, &w[4], pop(102))
		require.Empty(t, unsound(o))
	}
}
