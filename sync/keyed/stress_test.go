package keyed_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/keyed"
)

// Everything happens at once, at random, to few keys. No two hold a key, and no lock is lost or
// made. The race detector sees two holders.
func TestStressExcludes(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const keys = 6
		var m keyed.Mutex[int]
		var inside, entered [keys]int // guarded by the keys
		var mine [8][keys]int
		shared, cancel := context.WithCancel(bg)
		defer cancel()
		var wg, looks sync.WaitGroup
		var ended atomic.Bool
		looks.Go(func() {
			for k := 0; !ended.Load(); k = (k + 1) % keys {
				if n, w := m.Len(), m.Waiting(k); n < 0 || n > keys || w < 0 || w > len(mine) {
					t.Errorf("%d keys in use, and %d wait for key %d", n, w, k)
				}
				runtime.Gosched()
			}
		})
		for g := range mine {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				for range locktest.Scaled(8000) {
					held := lockSome(shared, &m, rng, keys)
					for _, k := range held {
						inside[k]++
						if inside[k] != 1 {
							t.Errorf("%d are inside %d", inside[k], k)
						}
					}
					if rng.IntN(8) == 0 {
						runtime.Gosched()
					}
					for _, k := range held {
						inside[k]--
						entered[k]++
						mine[g][k]++
					}
					m.Unlock(held...)
				}
			})
		}
		wg.Wait()
		ended.Store(true)
		looks.Wait()
		for k, n := range entered {
			for g := range mine {
				n -= mine[g][k]
			}
			require.Zero(t, n, "two wrote at the same time")
		}
		require.Zero(t, m.Len())
		for k := range keys {
			require.True(t, m.TryLock(k))
		}
	})
}

// lockSome locks some keys in some way, and returns them; none if that was given up.
func lockSome(shared context.Context, m *keyed.Mutex[int], rng *rand.Rand, keys int) []int {
	k := rng.IntN(keys)
	ctx, cancel := context.WithTimeout(bg, time.Duration(rng.IntN(50))*time.Microsecond)
	defer cancel()
	some := rng.Perm(keys)[:1+rng.IntN(3)]
	ok := false
	switch rng.IntN(7) {
	case 0:
		m.Lock(k)
		ok = true
	case 1:
		ok = m.TryLock(k)
	case 2:
		ok = m.LockContext(ctx, k) == nil
	case 3:
		ok = m.LockTimeout(time.Duration(rng.IntN(20))*time.Microsecond, k)
	case 4:
		m.Lock(some...)
		return some
	case 5:
		if m.LockContext(ctx, some...) == nil {
			return some
		}
	default:
		if m.LockContext(shared, some...) == nil {
			return some
		}
	}
	if ok {
		return []int{k}
	}
	return nil
}

// The sum over all accounts stays what it was, and an audit that reads them all sees no other.
func TestStressConservesSums(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const accounts, each = 20, 100
		var m keyed.RWMutex[int]
		balances := make([]int, accounts)
		all := make([]int, accounts)
		for i := range balances {
			balances[i], all[i] = each, i
		}
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 2))
				for range locktest.Scaled(4000) {
					from, to := rng.IntN(accounts), rng.IntN(accounts)
					m.Lock(from, to)
					balances[from] -= 3
					balances[to] += 3
					m.Unlock(to, from)
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				for range locktest.Scaled(800) {
					if m.RLockContext(ctx, all...) != nil {
						t.Error("given up")
						return
					}
					sum := 0
					for _, b := range balances {
						sum += b
					}
					m.RUnlock(all...)
					if sum != accounts*each {
						t.Errorf("the sum is %d", sum)
					}
				}
			})
		}
		wg.Wait()
		require.Zero(t, m.Len())
	})
}

// Many keys come and go, so that the tables grow and shrink beside lookups and waits.
func TestStressManyKeys(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const keys = 20000
		s := keyed.NewSemaphore[int](2)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 3))
				held := make([]int, 0, keys)
				for range locktest.Scaled(80) {
					for range rng.IntN(keys / 10) {
						if k := rng.IntN(keys); s.TryAcquire(k, 1) {
							held = append(held, k)
						}
					}
					for _, k := range held {
						s.Release(k, 1)
					}
					held = held[:0]
					k := rng.IntN(4) // others want both permits of it, too
					if err := s.Acquire(bg, k, 2); err != nil {
						t.Error(err)
					}
					s.Release(k, 2)
				}
			})
		}
		wg.Wait()
		require.Zero(t, s.Len())
	})
}
