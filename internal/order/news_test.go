package order

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A group that takes over from a line that owes has the weight and the cap of the path, not those
// that its line had when it was asked for last. Otherwise a request might wait for ever.
func TestADebtThatAGroupTakesOverHasNoOldCap(t *testing.T) {
	o := grove(DebitCost)
	var wake waiting.WakeList
	require.True(t, o.Take(claimOf(-1, "b"), 2, 0)) // or debts would be forgotten
	require.True(t, o.Take(claimOf(2, "a"), 1, 0))
	require.True(t, o.Return("a", 1, 1000, 0))
	require.True(t, o.ledger.lineOf("a").owes)
	c := claimOf(5, "a/1", "a") // a may hold more from now on
	var w waiting.Waiter
	w.N = 3
	w.Arm(nil)
	o.Amend(c, &wake)
	_, outcome := o.PushCapped(&w, c, 0, &wake)
	require.Equal(t, waiting.Pending, outcome)
	require.True(t, o.Return("b", 2, 1, 0))
	got, _ := o.PopFit(9, 0, &wake)
	require.Same(t, &w, got)
	require.Empty(t, unsound(o))
}

// Who holds while the virtual time goes half around owes nothing.
func TestNobodyOwesGrants(t *testing.T) {
	o := grove(DebitGrants)
	require.True(t, o.Take(claimOf(-1, "a"), 1, 0))
	require.True(t, o.Take(claimOf(-1, "keeps"), 1, 0))
	for range 9 {
		require.True(t, o.Take(claimOf(-1, "b"), 1<<40, 0))
		require.True(t, o.Return("b", 1<<40, -1, 0))
	}
	require.True(t, o.Return("a", 1, -1, 0))
	require.Nil(t, o.ledger.lineOf("a"))
}

// The line of a tenant within its own group has its weight.
func TestAnOwnLineFollowsTheWeight(t *testing.T) {
	o := grove(DebitGrants)
	var wake waiting.WakeList
	require.True(t, o.Take(claimOf(-1, "a"), 1, 0))
	require.True(t, o.Take(claimOf(-1, "a/1", "a"), 1, 0))
	c := claimOf(-1, "a")
	c.Weight, c.Path[0].Weight = 4, 4
	o.Amend(c, &wake)
	require.EqualValues(t, 4, o.ledger.group("a").share.weight)
	require.EqualValues(t, 4, o.ledger.lineOf("a").share.weight)
}

// Without a wait, too, a request brings the weight of its tenant along.
func TestTakeBringsTheWeight(t *testing.T) {
	o := New(Config{Shares: true, Accounts: true, Debit: DebitCost})
	take := func(weight int, most int64) {
		c := &Claim{By: By{Tenant: "a", Weight: weight}, Most: most}
		require.True(t, o.Take(c, 1, 0))
	}
	take(1, 2)
	take(8, 5)
	require.EqualValues(t, 8, o.ledger.lineOf("a").share.weight)
	require.EqualValues(t, 5, o.ledger.lineOf("a").account.most)
}

// A tenant that only owes moves when others come to be within it, and its debt goes along. So the
// caps that are asked for are those that hold.
func TestADebtGoesAlong(t *testing.T) {
	begin := func() *Order {
		o := grove(DebitCost)
		require.True(t, o.Take(claimOf(2, "other", "old"), 1, 0))
		require.True(t, o.Take(claimOf(2, "m", "old"), 1, 0))
		require.True(t, o.Return("m", 1, 1000, 0))
		require.True(t, o.ledger.lineOf("m").owes)
		require.True(t, o.Take(claimOf(-1, "keeps", "new"), 1, 0))
		return o
	}
	o := begin()
	require.True(t, o.Take(claimOf(-1, "x", "m", "new"), 3, 0))
	old := o.ledger.group("old").account
	require.LessOrEqual(t, old.held, old.most)
	require.Empty(t, unsound(o))
	o = begin()
	owed := o.ledger.lineOf("m").share.start - o.ledger.group("old").account.group.now
	var wake waiting.WakeList
	w := waiting.Waiter{N: 3}
	w.Arm(nil)
	c := claimOf(-1, "x", "m", "new")
	o.Amend(c, &wake)
	_, outcome := o.PushCapped(&w, c, 0, &wake)
	require.Equal(t, waiting.Pending, outcome)
	require.Equal(t, owed, o.ledger.group("m").share.start-o.ledger.group("new").account.group.now)
	got, _ := o.PopFit(9, 0, &wake)
	require.Same(t, &w, got)
	require.Equal(t, "new", o.ledger.group("m").account.parent.tenant)
	require.Empty(t, unsound(o))
}

// A request brings news along that end all that is within its parent. So the parent's group is new
// for the request itself.
func TestNewsThatEndAGroup(t *testing.T) {
	o := grove(DebitGrants)
	var wake waiting.WakeList
	require.True(t, o.Take(claimOf(-1, "b"), 1, 0))
	push := func(n, most int64, path ...any) *waiting.Waiter {
		w := &waiting.Waiter{N: n}
		w.Arm(nil)
		c := claimOf(-1, path...)
		c.Path[1].Most = most
		o.Amend(c, &wake)
		_, outcome := o.PushCapped(w, c, 0, &wake)
		require.Equal(t, waiting.Pending, outcome)
		require.Empty(t, unsound(o))
		return w
	}
	large := push(3, -1, "a/1", "a")
	small := push(1, 2, "a/2", "a")
	wake.Wake()
	require.Equal(t, waiting.StatusComplete, large.Status())
	require.EqualValues(t, 2, o.ledger.group("a").account.most)
	w, tenant := o.PopFit(1, 0, &wake)
	require.Same(t, small, w)
	require.Equal(t, "a/2", tenant)
}

// So it is if all debts are forgotten then, with those of the groups further up.
func TestNewsThatEndEverything(t *testing.T) {
	o := grove(DebitCost)
	var wake waiting.WakeList
	tenants := []any{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, tenant := range tenants {
		require.True(t, o.Take(claimOf(-1, tenant), 1, 0))
	}
	require.True(t, o.Take(claimOf(-1, "a/1", "a", "top"), 1, 0))
	for _, tenant := range tenants {
		require.True(t, o.Return(tenant, 1, 1_000_000, 0))
	}
	w := waiting.Waiter{N: 9}
	w.Arm(nil)
	_, outcome := o.PushCapped(&w, claimOf(-1, "a/2", "a", "top"), 0, &wake)
	require.Equal(t, waiting.Pending, outcome)
	require.True(t, o.Return("a/1", 1, 1_000_000, 0))
	require.Greater(t, len(o.ledger.debts.lanes), few, "they owe")
	c := claimOf(-1, "a/3", "a", "top")
	c.Path[1].Most, c.Path[2].Most = 5, 7
	o.Amend(c, &wake)
	require.Zero(t, o.Len())
	require.Nil(t, o.ledger.inUse.first)
	require.Empty(t, unsound(o))
}
