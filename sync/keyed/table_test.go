package keyed_test

import (
	"math/rand/v2"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/keyed"
)

// requireLayout checks each shard: as many buckets as keys, within a factor of two, and 8 at least;
// not many more segments and free entries than that needs. The keys are spread over the buckets.
func requireLayout(t *testing.T, m *keyed.Mutex[int]) {
	t.Helper()
	keys, steps := 0, 0
	for i, s := range m.ShardInfos() {
		keys += s.Keys
		steps += s.Steps
		require.GreaterOrEqual(t, s.Buckets, max(s.Keys, keyed.PerSegment), "shard %d: %+v", i, s)
		require.LessOrEqual(t, s.Buckets, max(2*s.Keys+1, keyed.PerSegment), "shard %d: %+v", i, s)
		require.Equal(t, (s.Buckets-1)/keyed.PerSegment+1, s.Segments, "shard %d: %+v", i, s)
		require.LessOrEqual(t, s.SegmentRoom, max(4*s.Segments, 4), "shard %d: %+v", i, s)
		require.Zero(t, s.Dropped, "shard %d: %+v", i, s)
		require.LessOrEqual(t, s.Spare, keyed.SpareEntries+s.Keys/4, "shard %d: %+v", i, s)
	}
	require.LessOrEqual(t, steps, 3*keys+100, "steps of the search for each of %d keys", keys)
}

func TestTableGrowsAndShrinks(t *testing.T) {
	var m keyed.Mutex[int]
	require.Zero(t, m.Len())
	require.Zero(t, m.Shards(), "made before the first use")
	rng := rand.New(rand.NewPCG(1, 2))
	n := locktest.Scaled(80000)
	for range 3 {
		keys := rng.Perm(n)
		for i, k := range keys {
			m.Lock(k)
			if i%997 == 0 {
				require.Equal(t, i+1, m.Len())
				requireLayout(t, &m)
			}
		}
		for _, k := range keys {
			require.False(t, m.TryLock(k), "key %d is gone", k)
		}
		rng.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, k := range keys {
			m.Unlock(k)
			if i%997 == 0 {
				require.Equal(t, n-i-1, m.Len())
				requireLayout(t, &m)
			}
		}
		require.Zero(t, m.Len())
		requireLayout(t, &m)
		for _, s := range m.ShardInfos() {
			require.Equal(t, 1, s.Segments, "%+v", s)
			require.LessOrEqual(t, s.SegmentRoom, 3, "%+v", s)
		}
	}
}

// Keys come and go at random, and there are as many as a set says.
func TestLenIsExact(t *testing.T) {
	var m keyed.Mutex[int]
	held := map[int]bool{}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range locktest.Scaled(40000) {
		k := rng.IntN(20 + i%500)
		require.Equal(t, !held[k], m.TryLock(k))
		if held[k] {
			m.Unlock(k)
			delete(held, k)
		} else {
			held[k] = true
		}
		require.Equal(t, len(held), m.Len())
	}
	requireLayout(t, &m)
	for k := range held {
		m.Unlock(k)
	}
	require.Zero(t, m.Len())
}

// A key that is waited for counts once.
func TestWaitingKeysCountOnce(t *testing.T) {
	var m keyed.Mutex[int]
	done := make(chan struct{})
	m.Lock(1)
	go func() { m.Lock(2, 1); m.Unlock(1, 2); close(done) }()
	locktest.Eventually(t, "it waits", func() bool { return m.Waiting(1) == 1 })
	require.Equal(t, 2, m.Len())
	require.Zero(t, m.Waiting(2), "it has this one")
	require.False(t, m.TryLock(2))
	m.Unlock(1)
	locktest.Receive(t, done)
	require.Zero(t, m.Len())
}

func TestFreeEntriesHaveNoKeys(t *testing.T) {
	var m keyed.Mutex[string]
	m.Lock("a", "b", "c")
	m.Unlock("c", "b", "a")
	m.Lock("a", "d")
	m.Unlock("a", "d")
	keys := m.FreeKeys()
	require.NotZero(t, len(keys))
	for _, k := range keys {
		require.Empty(t, k)
	}
}
