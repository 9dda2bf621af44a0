package order

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// A tenant that comes back gets its account, unless another one has it.
func TestATenantThatComesBackFindsItsAccount(t *testing.T) {
	o := grove(DebitGrants)
	use := func(tenant any) *account {
		require.True(t, o.Take(claimOf(-1, tenant), 1, 0))
		a := o.ledger.lineOf(tenant).account
		require.True(t, o.Return(tenant, 1, 1, 0))
		require.Nil(t, o.ledger.lineOf(tenant), "it neither waits nor holds")
		require.Zero(t, o.Held(tenant))
		require.Empty(t, unsound(o))
		return a
	}
	first := use("one")
	require.Same(t, first, use("one"))
	require.Len(t, o.ledger.tenants.lanes, 1)
	require.Same(t, first, use("another"))
	require.Len(t, o.ledger.tenants.lanes, 1, "who has lost its account")
	require.Same(t, first, use("one"))
	require.True(t, o.Take(claimOf(-1, "one"), 1, 0))
	second := use("another")
	require.True(t, o.Return("one", 1, 1, 0))
	require.Same(t, first, use("one"), "which is not the next that is used again")
	require.Same(t, second, use("another"))

	require.True(t, o.Take(claimOf(-1, "one/1", "one"), 1, 0))
	require.True(t, o.ledger.group("one") != nil, "others are within it now")
	require.Empty(t, unsound(o))
	use("one")
	require.True(t, o.Return("one/1", 1, 1, 0))
	require.Empty(t, unsound(o))
}

// Nor does it matter where it was before: its parent's group may be gone, or be another's.
func TestATenantThatComesBackIsWithinItsParent(t *testing.T) {
	o := grove(DebitGrants)
	within := func(parent any) any {
		require.True(t, o.Take(claimOf(-1, "user", parent), 1, 0))
		require.Empty(t, unsound(o))
		in := o.ledger.lineOf("user").account.parent.tenant
		require.True(t, o.Return("user", 1, 1, 0))
		return in
	}
	require.Equal(t, "a", within("a"))
	require.True(t, o.Take(claimOf(-1, "other", "b"), 1, 0)) // with the account of the group of a
	require.Equal(t, "a", within("a"))
	require.Equal(t, "b", within("b"))
	require.Equal(t, "a", within("a"))
}

// Those that have gone are not found any more when many have gone: their map would be kept.
func TestSparesKeepNoMapOfMany(t *testing.T) {
	const n = 1000
	o := grove(DebitGrants)
	for i := range n {
		require.True(t, o.Take(claimOf(-1, i), 1, 0))
	}
	gone := 0
	for ; o.ledger.tenants.old == nil; gone++ {
		require.True(t, o.Return(gone, 1, 1, 0)) // and no look for soundness, which would find all
	}
	require.Equal(t, minLanes, o.ledger.spare[0].n)
	for i := gone; i < n; i++ { // Those that are found move.
		require.EqualValues(t, 1, o.Held(i))
	}
	require.Nil(t, o.ledger.tenants.old, "those that have gone are in it")
	require.Len(t, o.ledger.tenants.lanes, n-gone)
	require.Empty(t, unsound(o))
}
