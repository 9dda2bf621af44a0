package semaphore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// byPath has the tenant "a/b" be within "a".
func byPath(tenant any) any {
	path, _ := tenant.(string)
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return nil
}

// Organisations take turns, and within each its users do, however many these are.
func TestTreesTakeTurns(t *testing.T) {
	s := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithParent(byPath))
	require.True(t, s.TryAcquire(1))
	names := []string{"a/1", "a/1", "a/2", "a/2", "a", "b/1", "b/1", "c", "c"}
	fs := make([]waiter.Future, len(names))
	for i, name := range names {
		s.As(name).Bind(&fs[i], 1)
		require.False(t, fs[i].Poll(nil))
	}
	s.Release(1)
	var got []string
	for range names {
		for i, name := range names {
			if fs[i].Complete() && fs[i].Err() == nil && name != "" {
				got = append(got, name)
				names[i] = ""
				fs[i].Release()
				break
			}
		}
	}
	require.Equal(t, []string{"a/1", "b/1", "c", "a/2", "b/1", "c", "a", "a/1", "a/2"}, got)
	requireIdle(t, s)
}

// Weights count among those within the same tenant. As wanted in shares of permits: 3 to 1 between
// organisations, and so 2 to 1 to 1 between users.
func TestWeightsOfATree(t *testing.T) {
	weights := map[any]int{"a": 3, "a/1": 2}
	weight := func(tenant any) int { return weights[tenant] }
	s := semaphore.New(1, semaphore.WithParent(byPath), semaphore.WithShares(weight))
	require.True(t, s.TryAcquire(1))
	names, got := []string{"a/1", "a/2", "b/1"}, map[string]int{}
	fs := make([]waiter.Future, 60*len(names))
	for i := range fs {
		s.As(names[i%3]).Bind(&fs[i], 1)
		require.False(t, fs[i].Poll(nil))
	}
	s.Release(1)
	for range 60 {
		for i := range fs {
			if fs[i].Complete() && fs[i].Err() == nil {
				got[names[i%3]]++
				fs[i].Release()
				break
			}
		}
	}
	require.InDelta(t, 30, got["a/1"], 2)
	require.InDelta(t, 15, got["a/2"], 2)
	require.InDelta(t, 15, got["b/1"], 2)
	for i := range fs {
		fs[i].Release()
	}
	requireIdle(t, s)
}

// cappedTree returns a semaphore of 5 permits whose organisation "a" may hold so many.
func cappedTree(most *atomic.Int64) *semaphore.Semaphore {
	return semaphore.New(5, semaphore.WithShares(nil), semaphore.WithParent(byPath),
		semaphore.WithMaxInUse(func(tenant any) int64 {
			if tenant == "a" {
				return most.Load()
			}
			return -1
		}))
}

// What an organisation may hold its users, and itself, hold together, on every path. It may change.
func TestACapOfAnOrganisation(t *testing.T) {
	var most atomic.Int64
	most.Store(2)
	s := cappedTree(&most)
	one, two, own, other := s.As("a/1"), s.As("a/2"), s.As("a"), s.As("b/1")
	require.True(t, one.TryAcquire(1))
	require.NoError(t, two.Acquire(bg, 1))
	require.False(t, one.TryAcquire(1))
	require.False(t, own.TryAcquire(1))
	require.ErrorIs(t, two.AcquireTimeout(time.Nanosecond, 1), context.DeadlineExceeded)
	waits := wait(t, s, "a/2", 1)
	require.NoError(t, other.Acquire(bg, 3), "who is at the cap holds nobody up")
	other.Release(3)
	locktest.RequireBlocked(t, waits)
	one.Release(1)
	require.NoError(t, locktest.Receive(t, waits))

	waits = wait(t, s, "a", 1)
	most.Store(3)
	locktest.RequireBlocked(t, waits)
	own.Update()
	require.NoError(t, locktest.Receive(t, waits))
	require.PanicsWithValue(t, "semaphore: released 2, but 1 are held (size 5)", func() { own.Release(2) })
	large := wait(t, s, "a/1", 3)
	most.Store(2)
	own.Update()
	err := locktest.Receive(t, large)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	const text = "semaphore: a request for 3 permits exceeds what the tenant, or one that it is within, may hold"
	require.Equal(t, text+", 2", err.Error())
	require.Equal(t, text+", 2", one.Acquire(bg, 3).Error())
	require.Equal(t, "semaphore: a request for 3 permits exceeds what the tenant may hold, 2", own.Acquire(bg, 3).Error())
	require.Equal(t, "semaphore: a request for 6 permits exceeds the size, 5", one.Acquire(bg, 6).Error())
	two.Release(2)
	own.Release(1)
	requireIdle(t, s)
}

// Time, or costs, are divided among organisations first.
func TestDebitsOfATree(t *testing.T) {
	byCost := semaphore.WithDebit(semaphore.DebitCost)
	s := semaphore.New(1, semaphore.WithShares(nil), byCost, semaphore.WithParent(byPath))
	require.True(t, s.TryAcquire(1)) // or debts would be forgotten
	var fs [3]waiter.Future
	names := []string{"a/1", "a/2", "b"}
	got, spent := [3]int{}, [3]int64{}
	begin := func(i int) {
		s.As(names[i]).Bind(&fs[i], 1)
		require.False(t, fs[i].Poll(nil))
	}
	for i := range names {
		begin(i)
	}
	s.Release(1)
	for range 1000 {
		for i := range names {
			if fs[i].Complete() {
				require.NoError(t, fs[i].Take())
				got[i]++
				begin(i)
				cost := int64(1 + 9*i) // 1, 10, 19
				spent[i] += cost
				s.As(names[i]).ReleaseCost(1, cost)
				break
			}
		}
	}
	t.Logf("grants %v, costs %v", got, spent)
	all := float64(spent[0] + spent[1] + spent[2])
	require.InDelta(t, 0.25, float64(spent[0])/all, 0.02)
	require.InDelta(t, 0.25, float64(spent[1])/all, 0.02)
	require.InDelta(t, 0.5, float64(spent[2])/all, 0.02)
	for i := range fs {
		fs[i].Release()
	}
	requireIdle(t, s)
}

// A program whose tenants have no end learns so at once, and nothing is left behind.
func TestParentsWithoutEnd(t *testing.T) {
	s := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
		switch tenant := tenant.(type) {
		case int:
			return tenant + 1
		case string:
			return map[string]any{"a": "b", "b": "c", "c": "b", "list": []int{}, "ok": 1.0}[tenant]
		default:
			return nil
		}
	}))
	require.PanicsWithValue(t, "semaphore: the tenant a is within c, which is within itself", func() { s.As("a").TryAcquire(1) })
	require.PanicsWithValue(t, "semaphore: the tenant 3 is within more than 7 others", func() { _ = s.As(3).Acquire(bg, 1) })
	require.PanicsWithValue(t, "farad: a tenant is a comparable value that equals itself", func() { s.As("list").TryAcquire(1) })
	var f waiter.Future
	s.As("b").Bind(&f, 1)
	require.Panics(t, func() { f.Poll(nil) })
	f.Release()
	require.NoError(t, s.As("ok").Acquire(bg, 1))
	require.PanicsWithValue(t, "semaphore: the tenant b is within itself", func() { s.As("b").Update() })
	s.As("ok").Release(1)
	requireIdle(t, s)
	require.Panics(t, func() { semaphore.WithParent(nil) })
	require.Panics(t, func() { semaphore.New(1, semaphore.WithParent(byPath)) })
}

// A permit is of who acquired it, also where users move to another organisation meanwhile.
func TestAUserMoves(t *testing.T) {
	var parent atomic.Value
	parent.Store("a")
	var most atomic.Int64
	most.Store(2)
	s := semaphore.New(5, semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
		if tenant == "user" {
			return parent.Load()
		}
		return nil
	}), semaphore.WithMaxInUse(func(tenant any) int64 {
		if tenant == "a" {
			return most.Load()
		}
		return -1
	}))
	user := s.As("user")
	require.NoError(t, user.Acquire(bg, 2))
	parent.Store("b")
	waits := wait(t, s, "user", 1)
	locktest.RequireBlocked(t, waits)
	const text = "semaphore: a request for 3 permits exceeds what the tenant, or one that it is within, may hold"
	require.Equal(t, text, user.Acquire(bg, 3).Error(), "it has not moved yet")
	user.Release(1)
	require.NoError(t, locktest.Receive(t, waits))
	user.Release(2)
	require.NoError(t, user.Acquire(bg, 5))
	user.Release(5)
	requireIdle(t, s)
}

// Tenants of all levels use permits from many goroutines, caps and parents change, and in the end
// all is back.
func TestTreeUnderStress(t *testing.T) {
	for _, debit := range []semaphore.Debit{semaphore.DebitGrants, semaphore.DebitTime, semaphore.DebitCost} {
		var most, moved atomic.Int64
		most.Store(3)
		s := semaphore.New(4, semaphore.WithShares(nil), semaphore.WithDebit(debit),
			semaphore.WithParent(func(tenant any) any {
				switch i := tenant.(int); {
				case i == 3 && moved.Load()%2 == 1:
					return 8
				case i < 6:
					return 6 + i/3
				case i < 8:
					return 8
				default:
					return nil
				}
			}),
			semaphore.WithMaxInUse(func(tenant any) int64 {
				if tenant == 8 {
					return -1
				}
				return most.Load()
			}))
		rounds := 300
		if locktest.Stress() {
			rounds = 20_000
		}
		var wg sync.WaitGroup
		var held atomic.Int64
		for i := range 16 {
			wg.Go(func() {
				tenant := s.As(i % 9)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				for round := range rounds {
					n := int64(1 + (i+round)%3)
					if err := acquireSomehow(ctx, tenant, round, n); err != nil {
						if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, waiter.ErrPending) {
							t.Error(err)
						}
						continue
					}
					if got := held.Add(n); got > 4 {
						t.Errorf("%d are held", got)
					}
					held.Add(-n)
					tenant.ReleaseCost(n, int64(round))
				}
			})
		}
		wg.Go(func() {
			for i := range rounds {
				most.Store(int64(3 + i%2))
				moved.Add(1)
				s.As(i % 9).Update()
			}
		})
		wg.Wait()
		requireIdle(t, s)
	}
}

// A tenant may be a struct, and still the steady state allocates nothing.
func TestTenantsThatAreStructsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	type user struct{ organisation, name string }
	var organisation any = "acme"
	for name, opts := range map[string][]semaphore.Option{
		"shares": {semaphore.WithShares(nil)},
		"tree": {semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
			if _, ok := tenant.(user); ok {
				return organisation
			}
			return nil
		})},
	} {
		s := semaphore.New(1, opts...)
		var first, second any = user{"acme", "ann"}, user{"acme", "ben"}
		var f waiter.Future
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if !s.As(first).TryAcquire(1) {
				panic("not free")
			}
			s.As(second).Bind(&f, 1)
			f.Poll(nil)
			s.As(first).Release(1)
			f.Release()
		}), name)
	}
}
