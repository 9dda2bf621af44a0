package fence

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/semaphore"
)

// grant is a token of lease at rev; others survive too.
func grant(rev, lease int64, others ...int64) Token {
	survivors := append(others, lease)
	slices.Sort(survivors)
	return Token{Rev: rev, Seq: 1, Lease: lease, Survivors: survivors}
}

func TestAnOlderTokenIsGoodAsLongAsItsLeaseSurvives(t *testing.T) {
	g := NewGate(2)
	slow := grant(10, 1)
	require.NoError(t, g.Begin(grant(20, 2, 1), 1))
	require.NoError(t, g.Begin(slow, 1))
	require.ErrorIs(t, g.Begin(slow, 1), ErrFull)
	require.NoError(t, g.Begin(grant(30, 3, 2), 1)) // lease 1 is lost
	var stale *StaleError
	require.ErrorAs(t, g.Check(slow), &stale)
	require.Equal(t, StaleError{Token: slow, By: Token{Rev: 30, Seq: 1, Lease: 3}}, *stale)
	require.Equal(t, "fence: stale token: 000000000000000a-0000000000000001 of lease 0000000000000001 "+
		"is outdated by 000000000000001e-0000000000000001", stale.Error())
	require.ErrorIs(t, g.End(slow, 1), ErrStale)
	require.NoError(t, g.Check(grant(20, 2, 1)))
	require.NoError(t, g.End(grant(20, 2, 1), 1))
}

// A lease may hold, hold nothing, and hold again. What was sent before the gap is dead after it.
func TestATokenStaysDeadWhenItsLeaseHoldsAgain(t *testing.T) {
	for name, order := range map[string][]Token{
		"in order":   {grant(20, 2), grant(30, 1)},
		"late":       {grant(30, 1), grant(20, 2)},
		"superseded": {grant(20, 2), grant(30, 1), grant(40, 3, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGate(1)
			require.NoError(t, g.Begin(grant(10, 1), 1))
			for _, other := range order {
				_ = g.Check(other)
			}
			require.ErrorIs(t, g.End(grant(10, 1), 1), ErrStale)
			require.ErrorIs(t, g.Begin(grant(10, 1), 1), ErrStale)
			require.NoError(t, g.Begin(grant(30, 1), 1))
		})
	}
}

func TestGateKnowsNothingOfMalformedTokens(t *testing.T) {
	g := NewGate(1)
	require.ErrorIs(t, g.Begin(Token{}, 1), ErrMalformed)
	require.ErrorIs(t, g.Check(Token{Rev: 1 << 62, Lease: 1}), ErrMalformed)
	require.ErrorIs(t, g.Do(t.Context(), Token{}, 1, nil), ErrMalformed)
	require.NoError(t, g.Begin(grant(1, 1), 1))
	require.Panics(t, func() { _ = g.Begin(grant(1, 1), 0) })
}

func TestEndNeverLetsOutMoreThanIsInside(t *testing.T) {
	g := NewGate(5)
	u := grant(1, 1)
	require.ErrorIs(t, g.End(u, 1), ErrNotInside)
	require.NoError(t, g.Begin(u, 2))
	require.NoError(t, g.Begin(u, 1))
	for _, n := range []int64{4, 0, -1} {
		require.ErrorIs(t, g.End(u, n), ErrNotInside)
	}
	require.ErrorIs(t, g.Begin(u, 3), ErrFull)
	require.NoError(t, g.End(u, 1))
	require.NoError(t, g.Begin(u, 3))
	require.NoError(t, g.End(u, 5))
	require.ErrorIs(t, g.End(u, 1), ErrNotInside)
}

func TestResizeLeavesWhatIsInside(t *testing.T) {
	g := NewGate(2)
	u := grant(1, 1)
	require.NoError(t, g.Begin(u, 2))
	g.Resize(1)
	require.NoError(t, g.End(u, 1))
	require.ErrorIs(t, g.Begin(u, 1), ErrFull)
	g.Resize(3)
	require.NoError(t, g.Begin(u, 2))
	require.ErrorIs(t, g.Begin(u, 1), ErrFull)
	require.NoError(t, g.End(u, 3))
	require.NoError(t, g.Do(t.Context(), u, 3, func(context.Context) error { return nil }))
}

// Hundreds of thousands of leases come and go; the gate knows the last ones.
func TestGateForgetsWhatItNeedsNot(t *testing.T) {
	const size, grants = 8, 10_000
	g := NewGate(size)
	rng := rand.New(rand.NewPCG(1, 2))
	var holders []int64
	for rev := range int64(grants) {
		if len(holders) == size {
			holders = slices.Delete(holders, 0, 1+rng.IntN(size))
		}
		lease := rev + 1
		holders = append(holders, lease)
		u := Token{Rev: rev + 1, Lease: lease, Survivors: slices.Clone(holders)}
		require.NoError(t, g.Begin(u, 1)) // no End: the evicted are forgotten too
		require.LessOrEqual(t, len(g.inside), size)
		require.LessOrEqual(t, len(g.floors), size)
	}
}

// The caller may use the memory of its survivors again.
func TestGateKeepsNothingOfTheCallers(t *testing.T) {
	g := NewGate(2)
	u := grant(20, 2, 1)
	require.NoError(t, g.Check(u))
	u.Survivors[0] = 2
	require.NoError(t, g.Check(grant(10, 1)))
}

func TestDoEndsTheContextOfTheEvicted(t *testing.T) {
	g := NewGate(1)
	old := grant(10, 1)
	oops := errors.New("oops")
	err := g.Do(t.Context(), old, 1, func(ctx context.Context) error {
		carried, ok := FromContext(ctx)
		require.True(t, ok)
		require.Equal(t, old, carried)
		require.NoError(t, g.Check(grant(20, 2)))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrStale)
		return oops
	})
	require.ErrorIs(t, err, oops)
	require.ErrorIs(t, err, ErrStale)
	require.ErrorIs(t, g.Do(t.Context(), old, 1, nil), ErrStale)

	young := grant(20, 2)
	require.Equal(t, oops, g.Do(t.Context(), young, 1, func(context.Context) error { return oops }))
	require.NoError(t, g.Do(t.Context(), young, 1, func(context.Context) error { return nil }))
	require.ErrorIs(t, g.End(young, 1), ErrNotInside)
}

func TestDoWaitsForTheEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		finish := make(chan struct{})
		var running atomic.Int32
		run := func(ctx context.Context, u Token, f func()) error {
			return g.Do(ctx, u, 1, func(context.Context) error {
				require.Equal(t, int32(1), running.Add(1)) // G5
				f()
				running.Add(-1)
				return nil
			})
		}
		results := map[int64]error{}
		var mu sync.Mutex
		begin := func(ctx context.Context, rev int64, f func()) {
			go func() {
				err := run(ctx, grant(rev, rev), f)
				mu.Lock()
				defer mu.Unlock()
				results[rev] = err
			}()
			synctest.Wait()
		}
		begin(t.Context(), 1, func() { <-finish })
		impatient, cancel := context.WithCancel(t.Context())
		begin(impatient, 2, func() {})
		require.Empty(t, results)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, results[2], context.Canceled)
		begin(t.Context(), 3, func() {})
		require.NotContains(t, results, int64(3))
		begin(t.Context(), 4, func() {}) // evicts 3, which waits
		require.ErrorIs(t, results[3], ErrStale)
		require.NotContains(t, results, int64(4))
		close(finish)
		synctest.Wait()
		require.NoError(t, results[1]) // it was alone to its end
		require.NoError(t, results[4])
		require.Zero(t, g.used)
	})
}

func TestDoIsRefusedIfTheSizeFallsBelowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(3)
		finish, result := make(chan struct{}), make(chan error, 1)
		go func() {
			_ = g.Do(t.Context(), grant(1, 1), 3, func(context.Context) error { <-finish; return nil })
		}()
		synctest.Wait()
		go func() { result <- g.Do(t.Context(), grant(2, 2), 3, nil) }()
		synctest.Wait()
		g.Resize(2)
		require.ErrorIs(t, <-result, ErrFull)
		close(finish)
	})
}

// Leases expire under processes that go on. Whatever the scheduler does, the functions that run
// have the size at most, and nothing is left inside.
func TestDoKeepsTheSizeWhileLeasesExpire(t *testing.T) {
	const size, processes, weight = 6, 3, 2
	rounds := int64(2000)
	if testing.Short() {
		rounds = 300
	}
	type tenancy struct {
		token Token
		local *semaphore.Semaphore
	}
	var current [processes]atomic.Pointer[tenancy]
	rev := int64(0)
	leases := make([]int64, 0, processes)
	renew := func(i int) { // the lease of process i expires, and its permits go to a new one
		rev++
		if len(leases) == processes {
			lost := current[i].Load().token.Lease
			leases = slices.DeleteFunc(leases, func(lease int64) bool { return lease == lost })
		}
		leases = append(leases, rev)
		current[i].Store(&tenancy{Token{Rev: rev, Lease: rev, Survivors: slices.Clone(leases)}, semaphore.New(weight)})
	}
	for i := range processes {
		renew(i)
	}
	g := NewGate(size)
	var running, stale, done atomic.Int64
	var stop atomic.Bool
	var workers sync.WaitGroup
	for i := range processes {
		for range 2 * weight {
			workers.Go(func() {
				for seq := int64(0); !stop.Load(); seq++ {
					mine := current[i].Load()
					if mine.local.Acquire(t.Context(), 1) != nil {
						return
					}
					token := mine.token
					token.Seq = seq
					switch err := g.Do(t.Context(), token, 1, func(context.Context) error {
						if n := running.Add(1); n > size {
							t.Errorf("%d run", n)
						}
						runtime.Gosched()
						running.Add(-1)
						return nil
					}); {
					case err == nil:
						done.Add(1)
					case errors.Is(err, ErrStale):
						stale.Add(1)
					default:
						t.Error(err)
					}
					mine.local.Release(1)
				}
			})
		}
	}
	for done.Load() < 10*rounds && !t.Failed() {
		if rev < rounds {
			renew(int(rev) % processes)
		}
		runtime.Gosched()
	}
	stop.Store(true)
	workers.Wait()
	t.Logf("%d done, %d stale", done.Load(), stale.Load())
	require.Zero(t, g.used)
	require.Empty(t, g.inside)
	require.Equal(t, int64(size), g.room.Available())
}
