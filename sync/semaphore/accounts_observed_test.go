//go:build !interleave

package semaphore_test

import (
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A semaphore with accounts that is observed promises all that others do.
func TestObservedAccountsContract(t *testing.T) {
	k := kind(accounts["caps"]...)
	var all []*semaphore.Semaphore
	k.New = func(n int64) semtest.Semaphore {
		s := semaphore.New(n, accounts["caps"]...)
		records.Watch(s, t.Name(), observed.Holders)
		all = append(all, s)
		return s
	}
	semtest.Run(t, k)
	requireNothingHeld(t, t.Name())
	for _, s := range all {
		records.Unwatch(s)
	}
}

// Who holds and who waits is seen with its tenant, on every path, and is gone when it is over.
func TestObservedTenantsOfAccounts(t *testing.T) {
	s := semaphore.New(3, accounts["caps"]...)
	records.Watch(s, t.Name(), observed.Holders)
	defer records.Unwatch(s)
	read := func() (l records.Lock) {
		locks, _ := records.Read()
		for _, l := range locks {
			if l.Name == t.Name() {
				return l
			}
		}
		require.Fail(t, "not observed")
		return l
	}
	require.NoError(t, s.As("a").Acquire(bg, 1))
	require.True(t, s.As("b").TryAcquire(1))
	p, err := s.As("c").AcquirePermit(bg, 1)
	require.NoError(t, err)
	require.False(t, s.As("d").TryAcquire(1))
	require.ErrorIs(t, s.As("d").Acquire(bg, 4), semaphore.ErrTooLarge)
	var f waiter.Future
	s.As("e").Bind(&f, 1)
	require.False(t, f.Poll(nil))
	waits := wait(t, s, "f", 1)
	var tenants, waiting []string
	for _, h := range read().Holders {
		tenants = append(tenants, h.Tenant)
	}
	for _, w := range read().Waiters {
		waiting = append(waiting, w.Tenant)
	}
	slices.Sort(tenants)
	slices.Sort(waiting)
	require.Equal(t, []string{"a", "b", "c"}, tenants)
	require.Equal(t, []string{"e", "f"}, waiting)

	require.Panics(t, func() { s.As("a").Release(2) })
	s.As("a").Release(1)
	require.True(t, f.Poll(nil))
	p.Release()
	p.Release()
	require.NoError(t, locktest.Receive(t, waits))
	f.Release()
	s.As("b").Release(1)
	s.As("f").Release(1)
	require.EqualValues(t, 3, s.Available())
	require.Empty(t, read().Holders)
	require.Empty(t, read().Waiters)
}
