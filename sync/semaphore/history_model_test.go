//go:build interleave

package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// What not every semaphore does in this order: a debt that is paid first, an over-release that is
// always noticed. And what found a defect of the engine's, without a bound.
var histories = []semtest.History{
	{Name: "resize down", Size: 2, Large: true, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Resize(1) }))},
	// Close was two steps: the holder saw it, and then its release granted the waiter in the slot.
	// It failed with the schedule a10.b11.c5.a11.c3.b16.
	{Name: slowest, Size: 1, Clients: semtest.Bodies(
		semtest.Does((*semtest.Client).DropWhileHolding), semtest.Locks(1), semtest.Does((*semtest.Client).Close))},
	{Name: "over-release", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Release(2) }))},
}

const slowest = "close/seen before it is done"

// Every history that the explorer can bring about is one that the sequential semaphore could have
// given.
func TestModelHistories(t *testing.T) {
	semtest.RunHistories(t, kind())
	semtest.CheckHistories(t, kind(), histories)
}

// The same with a waiting array of one bucket, where all sleepers share a line.
func TestModelArrayHistories(t *testing.T) {
	const inFlight = "documented: who has taken its tickets, and does not sleep yet, may be granted by a release after the resize"
	k := kind()
	k.Delegates = true
	k.New = func(n int64) semtest.Semaphore { return semaphore.New(n, semaphore.WithWaitingArray(twa.NewArray(1))) }
	semtest.RunHistories(
		t, k,
		semtest.Known{Test: "resize too large", Why: inFlight},
		semtest.Known{Test: "resize twice", Why: inFlight},
	)
}

// byTenants is a semaphore whose requests are those of several tenants: one for each number of
// permits.
type byTenants struct{ *semaphore.Semaphore }

func (s byTenants) Acquire(ctx context.Context, n int64) error {
	return s.As(int(n-1)).Acquire(ctx, n)
}

func (s byTenants) AcquireTimeout(d time.Duration, n int64) error {
	return s.As(int(n-1)).AcquireTimeout(d, n)
}

// The specification of a semaphore leaves open who is served first: it is that of every policy.
func TestModelOrderedHistories(t *testing.T) {
	for name, opt := range map[string]semaphore.Option{
		"shares": semaphore.WithShares(nil), "priorities": semaphore.WithPriorities(4, 1),
	} {
		if name != "shares" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			semtest.RunHistories(t, semtest.Kind{
				New: func(n int64) semtest.Semaphore { return byTenants{semaphore.New(n, opt)} },
				Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) {
					s.(byTenants).As(int(n-1)).Bind(f, n)
				},
				Delegates: true,
			})
		})
	}
}

// Of one tenant a semaphore with accounts is as strict as one without.
func TestModelAccountHistories(t *testing.T) {
	for name, opts := range accounts {
		if name == "cost" {
			continue // what it does otherwise is done by the order
		}
		t.Run(name, func(t *testing.T) {
			semtest.RunHistories(t, kind(opts...))
			semtest.CheckHistories(t, kind(opts...), histories)
		})
	}
}

// ofAccounts is byTenants with accounts: each gives back its own.
type ofAccounts struct{ byTenants }

func (s ofAccounts) TryAcquire(n int64) bool { return s.As(int(n - 1)).TryAcquire(n) }

func (s ofAccounts) Release(n int64) { s.As(int(n - 1)).Release(n) }

func ofTenants(opts []semaphore.Option) semtest.Kind {
	return semtest.Kind{
		New: func(n int64) semtest.Semaphore { return ofAccounts{byTenants{semaphore.New(n, opts...)}} },
		Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) {
			s.(ofAccounts).As(int(n-1)).Bind(f, n)
		},
		Delegates: true,
	}
}

func TestModelAccountsOfTenantsHistories(t *testing.T) {
	semtest.RunHistories(t, ofTenants(accounts["caps"]))
}

// So is a tree, of whose tenants one is within each other one.
func TestModelTreeHistories(t *testing.T) {
	semtest.RunHistories(t, ofTenants([]semaphore.Option{
		semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
			if i := tenant.(int); i > 0 {
				return i - 1
			}
			return nil
		}),
	}))
}
