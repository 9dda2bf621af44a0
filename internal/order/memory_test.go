package order

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// inUse returns how many bytes are in use after a collection.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Tenants that came once leave nothing behind, whether they came one after the other or all at
// once.
func TestAMillionTenantsLeaveNothingBehind(t *testing.T) {
	locktest.SkipUnderRace(t)
	n := 100_000
	if locktest.Stress() {
		n = 1_000_000
	}
	waiters := make([]waiting.Waiter, n)
	var wake waiting.WakeList
	o := New(Config{Shares: true})
	push := func(i int) *Ticket {
		waiters[i].N = 1
		ticket, _ := o.Push(&waiters[i], &By{Tenant: i, Weight: 1}, 0, false, &wake)
		return ticket
	}
	tickets := make([]*Ticket, n)
	before := inUse()
	for i := range n {
		push(i)
		o.Pop(0, &wake)
	}
	left := inUse() - before
	t.Logf("one after the other: %d bytes", left)
	require.LessOrEqual(t, left, int64(64<<10))

	for i := range n {
		push(i)
	}
	t.Logf("that wait: %d bytes each", (inUse()-before)/int64(n))
	for range n {
		require.True(t, o.Pop(0, &wake) != nil)
	}
	left = inUse() - before
	t.Logf("popped: %d bytes", left)
	require.LessOrEqual(t, left, int64(64<<10))

	for i := range n {
		tickets[i] = push(i)
	}
	for i, ticket := range slices.Backward(tickets) {
		require.True(t, o.Remove(ticket, &waiters[i]))
		tickets[i] = nil
	}
	left = inUse() - before
	t.Logf("removed: %d bytes", left)
	require.LessOrEqual(t, left, int64(64<<10))
	runtime.KeepAlive(o)
	runtime.KeepAlive(waiters)
	runtime.KeepAlive(tickets)
}

// What many tenants took comes back while a few still wait, and these are found.
func TestAFewThatStayKeepNoMemoryForMany(t *testing.T) {
	locktest.SkipUnderRace(t)
	const n, few = 100_000, 100
	waiters := make([]waiting.Waiter, n+3*few)
	var wake waiting.WakeList
	o := New(Config{Shares: true})
	next := 0
	push := func(tenant int) {
		waiters[next].N = 1
		o.Push(&waiters[next], &By{Tenant: tenant, Weight: 1}, 0, true, &wake)
		next++
	}
	before := inUse()
	for tenant := range n {
		push(tenant)
	}
	for o.Len() > few {
		require.True(t, o.Pop(0, &wake) != nil)
	}
	for range 2 {
		for tenant := n - few; tenant < n; tenant++ {
			push(tenant)
		}
	}
	require.Empty(t, unsound(o))
	require.Len(t, o.policy.all(), few, "tenants that wait are not found, and get second lanes")
	left := inUse() - before
	t.Logf("%d bytes", left)
	require.LessOrEqual(t, left, int64(192<<10))
	for range 3 * few {
		require.True(t, o.Pop(0, &wake) != nil)
	}
	require.Empty(t, o.policy.all())
	runtime.KeepAlive(waiters)
}

// No call holds up the others for long, whatever leaves: nothing is copied at once but a slice.
func TestNoCallCopiesTheTenants(t *testing.T) {
	ts := tenants{}
	lanes := make([]lane, 1000)
	for i := range lanes {
		lanes[i].tenant = i
		ts.add(&lanes[i])
	}
	for i := range 750 {
		ts.remove(&lanes[i])
	}
	require.Len(t, ts.old, 250)
	require.Empty(t, ts.lanes)
	for i := 750; i < 1000; i++ {
		require.Same(t, &lanes[i], ts.find(i))
		require.Len(t, ts.old, 999-i)
		require.Len(t, ts.lanes, i-749)
	}
	require.Nil(t, ts.old)
	for i := 750; i < 1000; i++ {
		require.Same(t, &lanes[i], ts.find(i))
		ts.remove(&lanes[i])
		require.Nil(t, ts.find(i))
	}
	require.LessOrEqual(t, ts.peak, minTenants)
}

// steady is a line of so many requests of so many tenants. It returns what pops one and pushes it
// again, for one tenant after the other.
func steady(c Config, lanes, requests int) func() {
	o := New(c)
	var wake waiting.WakeList
	now, next := int64(0), 0
	tenants := make([]any, lanes)
	for i := range tenants {
		tenants[i] = i
	}
	push := func(w *waiting.Waiter) {
		tenant := tenants[next%lanes]
		next++
		o.Push(w, &By{Tenant: tenant, Weight: o.Weigh(tenant)}, now, true, &wake)
	}
	for range requests {
		push(&waiting.Waiter{N: 1})
	}
	return func() {
		now += int64(time.Microsecond)
		push(o.Pop(now, &wake))
	}
}

// kinds are Orders for so many lanes each.
func kinds(lanes int) map[string]Config {
	all := map[string]Config{
		"line":   {},
		"queue":  {Queue: Queue{MaxWaiting: 1 << 30, RefuseLate: true}},
		"CoDel":  {Queue: Queue{Shed: ShedCoDel, Target: time.Hour}},
		"LIFO":   {Queue: Queue{Shed: ShedAdaptiveLIFO, Target: time.Hour}},
		"shares": {Shares: true},
	}
	if lanes <= MaxClasses {
		all["priorities"] = Config{Classes: lanes, Aging: 100}
	}
	return all
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, c := range kinds(100) {
		t.Run(name, func(t *testing.T) {
			for _, requests := range []int{1, 100, 1000} { // with one, lanes come and go
				turn := steady(c, 100, requests)
				for range 1000 {
					turn()
				}
				require.Zero(t, testing.AllocsPerRun(1000, turn))
			}
		})
	}
}
