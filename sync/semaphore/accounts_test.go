package semaphore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The promises that all semaphores make.
func TestAccountsContract(t *testing.T) {
	for name, opts := range accounts {
		t.Run(name, func(t *testing.T) { semtest.Run(t, kind(opts...)) })
	}
}

// ofOne is a semaphore whose requests are those of one tenant.
type ofOne struct {
	*semaphore.Semaphore
	semaphore.Tenant
}

func (s ofOne) Acquire(ctx context.Context, n int64) error { return s.Tenant.Acquire(ctx, n) }

func (s ofOne) AcquireTimeout(d time.Duration, n int64) error { return s.Tenant.AcquireTimeout(d, n) }

func (s ofOne) TryAcquire(n int64) bool { return s.Tenant.TryAcquire(n) }

func (s ofOne) Release(n int64) { s.Tenant.Release(n) }

// They hold for a tenant that is within others, and for one that others are within.
func TestTreeContract(t *testing.T) {
	for _, tenant := range []string{"user", "organisation"} {
		t.Run(tenant, func(t *testing.T) {
			semtest.Run(t, semtest.Kind{
				New: func(n int64) semtest.Semaphore {
					s := semaphore.New(n, semaphore.WithShares(nil), semaphore.WithParent(within))
					return ofOne{s, s.As(tenant)}
				},
				Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) { s.(ofOne).Tenant.Bind(f, n) },
			})
		})
	}
}

// capped returns a semaphore of n permits, and the caps of its tenants, which are numbers.
func capped(n int64) (*semaphore.Semaphore, *[3]atomic.Int64) {
	caps := new([3]atomic.Int64)
	for i := range caps {
		caps[i].Store(-1)
	}
	return semaphore.New(n, semaphore.WithShares(nil), semaphore.WithMaxInUse(func(tenant any) int64 {
		if i, ok := tenant.(int); ok {
			return caps[i].Load()
		}
		return -1
	})), caps
}

// wait has a tenant wait for n permits.
func wait(t *testing.T, s *semaphore.Semaphore, tenant any, n int64) <-chan error {
	t.Helper()
	before := s.Waiting()
	done := make(chan error, 1)
	go func() { done <- s.As(tenant).Acquire(bg, n) }()
	locktest.Eventually(t, "nobody waits", func() bool { return s.Waiting() > before })
	return done
}

// A cap holds on every path, and holds up nobody.
func TestNoPathPassesACap(t *testing.T) {
	s, caps := capped(5)
	caps[1].Store(2)
	one, two := s.As(1), s.As(2)
	require.True(t, one.TryAcquire(1))
	require.NoError(t, one.AcquireTimeout(time.Hour, 1))
	require.False(t, one.TryAcquire(1))
	require.ErrorIs(t, one.AcquireTimeout(time.Nanosecond, 1), context.DeadlineExceeded)
	var f waiter.Future
	one.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	blocked := wait(t, s, 1, 1)
	require.True(t, two.TryAcquire(1), "who is at the cap holds nobody up")
	require.NoError(t, two.Acquire(bg, 1))
	require.True(t, s.TryAcquire(1), "the tenant nil has no cap")
	two.Release(2)
	s.Release(1)
	require.False(t, f.Poll(nil))
	one.Release(1)
	require.True(t, f.Poll(nil))
	locktest.RequireBlocked(t, blocked)
	f.Release()
	require.NoError(t, locktest.Receive(t, blocked))
	one.Release(2)
	requireIdle(t, s)
}

// A request that its tenant's cap can never allow ends at once, and says so.
func TestLargerThanTheCap(t *testing.T) {
	s, caps := capped(5)
	caps[1].Store(2)
	err := s.As(1).Acquire(bg, 3)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	require.Equal(t, "semaphore: a request for 3 permits exceeds what the tenant may hold, 2", err.Error())
	err = s.As(1).AcquireTimeout(time.Hour, 6)
	require.Equal(t, "semaphore: a request for 6 permits exceeds the size, 5", err.Error())
	caps[1].Store(0)
	require.ErrorIs(t, s.As(1).Acquire(bg, 1), semaphore.ErrTooLarge, "a cap of nothing")
	require.NoError(t, s.As(1).Acquire(bg, 0))
	require.False(t, s.As(1).TryAcquire(1))
	var f waiter.Future
	s.As(1).Bind(&f, 1)
	require.True(t, f.Poll(nil))
	require.Equal(t, "semaphore: a request for 1 permits exceeds what the tenant may hold, 0", f.Err().Error())
	f.Release()
	requireIdle(t, s)
}

// A cap changes while requests wait: those that fit are served, those that never will end.
func TestACapChanges(t *testing.T) {
	s, caps := capped(5)
	caps[1].Store(1)
	one := s.As(1)
	require.NoError(t, one.Acquire(bg, 1))
	second, third := wait(t, s, 1, 1), wait(t, s, 1, 1)
	caps[1].Store(2)
	locktest.RequireBlocked(t, second)
	one.Update()
	require.NoError(t, locktest.Receive(t, second))
	locktest.RequireBlocked(t, third)
	s.As(2).Update() // has nothing
	caps[1].Store(1)
	one.Update() // The holders keep two.
	one.Release(1)
	locktest.RequireBlocked(t, third)
	one.Release(1)
	require.NoError(t, locktest.Receive(t, third))

	fourth := wait(t, s, 1, 1)
	caps[1].Store(5)
	fifth := make(chan error, 1)
	go func() { fifth <- one.Acquire(bg, 4) }() // brings the news along
	require.NoError(t, locktest.Receive(t, fourth))
	require.Equal(t, 1, s.Waiting())
	caps[1].Store(3)
	one.Update()
	require.ErrorIs(t, locktest.Receive(t, fifth), semaphore.ErrTooLarge)
	one.Release(2)
	requireIdle(t, s)
}

// Permits go back to whom they are of. What a tenant does not hold it cannot release.
func TestReleasesAreOfTenants(t *testing.T) {
	for name, opts := range accounts {
		t.Run(name, func(t *testing.T) {
			s := semaphore.New(5, opts...)
			require.NoError(t, s.As("a").Acquire(bg, 2))
			require.True(t, s.TryAcquire(1))
			const held = "semaphore: released %d, but %d are held (size 5)"
			for _, c := range []struct {
				tenant  any
				n, held int64
			}{{"a", 3, 2}, {"b", 1, 0}, {nil, 2, 1}} {
				require.PanicsWithValue(t, fmt.Sprintf(held, c.n, c.held), func() { s.As(c.tenant).Release(c.n) })
			}
			require.PanicsWithValue(t, fmt.Sprintf(held, 2, 1), func() { s.Release(2) })
			require.PanicsWithValue(t, "semaphore: release of a negative number of permits", func() { s.As("a").Release(-1) })
			require.PanicsWithValue(t, "semaphore: negative cost", func() { s.As("a").ReleaseCost(1, -1) })
			require.EqualValues(t, 2, s.Available())
			s.As("a").Release(0)
			s.As("a").ReleaseCost(2, 7)
			s.As(nil).Release(1)
			requireIdle(t, s)
		})
	}
}

// A handle knows whose permits it has.
func TestHandlesAreOfTenants(t *testing.T) {
	s := semaphore.New(5, accounts["time"]...)
	p, err := s.As("a").AcquirePermit(bg, 3)
	require.NoError(t, err)
	q, err := s.As("b").AcquirePermit(bg, 1)
	require.NoError(t, err)
	r, ok := s.TryAcquirePermit(1)
	require.True(t, ok)
	for _, other := range []*semaphore.Permit{q, r} {
		require.PanicsWithValue(t, "semaphore: merge of permits of different tenants", func() { p.Merge(other) })
		require.PanicsWithValue(t, "semaphore: merge of permits of different tenants", func() { other.Merge(p) })
	}
	part := p.Split(1)
	again, err := func() (*semaphore.Permit, error) { part.Release(); return s.As("a").AcquirePermit(bg, 1) }()
	require.NoError(t, err)
	p.Merge(again)
	require.EqualValues(t, 3, p.N())
	p.Release()
	p.Release()
	q.Release()
	r.Release()
	requireIdle(t, s)
	_, err = s.As("a").AcquirePermit(bg, 6)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
}

func TestAccountsAreOfShares(t *testing.T) {
	require.Panics(t, func() { semaphore.New(1, semaphore.WithMaxInUse(anyNumber)) })
	time := semaphore.WithDebit(semaphore.DebitTime)
	require.Panics(t, func() { semaphore.New(1, semaphore.WithPriorities(2, 1), time) })
	require.Panics(t, func() { semaphore.WithMaxInUse(nil) })
	require.Panics(t, func() { semaphore.WithDebit(semaphore.DebitCost + 1) })
	require.Panics(t, func() { semaphore.New(1, accounts["caps"]...).As([]int{}) })
	// Where there are no accounts, tenants are no more than names.
	s := semaphore.New(1)
	require.NoError(t, s.As("a").Acquire(bg, 1))
	s.As("b").Update()
	s.As("b").ReleaseCost(1, 5)
	requireIdle(t, s)
}

// A line is as long with accounts as without, and what it refuses knows when to come back.
func TestAccountsHaveQueues(t *testing.T) {
	s := semaphore.New(1, append(accounts["caps"], semaphore.WithQueue(semaphore.Queue{MaxWaiting: 1}))...)
	require.NoError(t, s.As("a").Acquire(bg, 1))
	waits := wait(t, s, "b", 1)
	require.ErrorIs(t, s.As("c").Acquire(bg, 1), semaphore.ErrQueueFull)
	s.SetQueue(semaphore.Queue{})
	more := wait(t, s, "c", 1)
	s.As("a").Release(1)
	require.NoError(t, locktest.Receive(t, waits))
	s.As("b").Release(1)
	require.NoError(t, locktest.Receive(t, more))
	s.As("c").Release(1)
	requireIdle(t, s)
	require.Panics(t, func() { s.SetQueue(semaphore.Queue{MaxWaiting: -1}) })
}

// acquireSomehow acquires by one of three ways, by turns.
func acquireSomehow(ctx context.Context, tenant semaphore.Tenant, round int, n int64) error {
	switch round % 3 {
	case 0:
		return tenant.Acquire(ctx, n)
	case 1:
		return tenant.AcquireTimeout(time.Duration(round)*time.Microsecond, n)
	default:
		var f waiter.Future
		tenant.Bind(&f, n)
		if !f.Poll(nil) {
			f.Release()
			return waiter.ErrPending
		}
		return f.Take()
	}
}

// Tenants use permits from many goroutines, caps change, and in the end all is back.
func TestAccountsUnderStress(t *testing.T) {
	for _, debit := range []semaphore.Debit{semaphore.DebitGrants, semaphore.DebitTime, semaphore.DebitCost} {
		var most atomic.Int64
		most.Store(3)
		s := semaphore.New(4, semaphore.WithShares(nil), semaphore.WithDebit(debit),
			semaphore.WithMaxInUse(func(any) int64 { return most.Load() }))
		rounds := 300
		if locktest.Stress() {
			rounds = 20_000
		}
		var wg sync.WaitGroup
		var held [3]atomic.Int64
		for i := range 12 {
			wg.Go(func() {
				tenant := s.As(i % 3)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				for round := range rounds {
					n := int64(1 + (i+round)%3)
					if acquireSomehow(ctx, tenant, round, n) != nil {
						continue
					}
					if got := held[i%3].Add(n); got > 4 {
						t.Errorf("tenant %d holds %d", i%3, got)
					}
					held[i%3].Add(-n)
					tenant.ReleaseCost(n, int64(round))
				}
			})
		}
		wg.Go(func() {
			for i := range rounds {
				most.Store(int64(3 + i%2))
				s.As(i % 3).Update()
			}
		})
		wg.Wait()
		requireIdle(t, s)
	}
}

// A semaphore keeps no more tenants that have gone than it says.
func TestFewTenantsStayReachable(t *testing.T) {
	locktest.SkipUnderRace(t)
	s := semaphore.New(100, semaphore.WithShares(nil), semaphore.WithMaxInUse(anyNumber))
	var all []weak.Pointer[[16]int]
	for i := range 10 {
		came := len(all)
		for range 10 * (i + 1) {
			tenant := new([16]int)
			require.True(t, s.As(tenant).TryAcquire(1))
			all = append(all, weak.Make(tenant))
		}
		for _, p := range all[came:] {
			s.As(p.Value()).Release(1)
		}
	}
	runtime.GC()
	reachable := 0
	for _, p := range all {
		if p.Value() != nil {
			reachable++
		}
	}
	t.Logf("%d of %d", reachable, len(all))
	require.LessOrEqual(t, reachable, 64+2) // those that were asked for last, too
	requireIdle(t, s)
}
