//go:build !interleave

package keyed_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/keyed"
)

// heap returns how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// costOf locks n keys of type K, and returns what each costs, and what is left when all are
// unlocked.
func costOf[K comparable](n int, key func(i int) K) (each, left int64) {
	keys := make([]K, n)
	for i := range keys {
		keys[i] = key(i)
	}
	var m keyed.Mutex[K]
	before := heap()
	for _, k := range keys {
		m.Lock(k)
	}
	held := heap()
	for _, k := range keys {
		m.Unlock(k)
	}
	after := heap()
	runtime.KeepAlive(&m)
	runtime.KeepAlive(keys)
	return (held - before) / int64(n), after - before
}

// One collection is enough: nothing waits in a pool for a second.
func TestMemoryComesBack(t *testing.T) {
	locktest.SkipUnderRace(t)
	n := 1_000_000
	if !locktest.Stress() {
		n = 100_000
	}
	each, left := costOf(n, func(i int) int { return i })
	t.Logf("numbers: %d bytes each, %d left", each, left)
	require.LessOrEqual(t, each, int64(200))
	require.LessOrEqual(t, left, int64(1<<20))
	each, left = costOf(n/4, func(i int) string { return fmt.Sprintf("%064d", i) })
	t.Logf("strings: %d bytes each, %d left", each, left)
	require.LessOrEqual(t, each, int64(200))
	require.LessOrEqual(t, left, int64(1<<20))
}

// What a call with very many keys needs is not kept for the next.
func TestMemoryOfALargeBatchComesBack(t *testing.T) {
	locktest.SkipUnderRace(t)
	keys := make([]int, 50_000)
	for i := range keys {
		keys[i] = i
	}
	var m keyed.Mutex[int]
	before := heap()
	m.Lock(keys...)
	m.Unlock(keys...)
	left := heap() - before
	runtime.KeepAlive(&m)
	runtime.KeepAlive(keys)
	require.LessOrEqual(t, left, int64(1<<20))
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	var m keyed.Mutex[string]
	var rw keyed.RWMutex[[16]byte]
	var picky keyed.Mutex[float64]
	s := keyed.NewSemaphore[int](4)
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for range 100 { // the shards' tables, once
		m.Lock(keys...)
		m.Unlock(keys...)
	}
	require.Zero(t, locktest.AllocsPerRun(1000, func() {
		for _, k := range keys {
			m.Lock(k)
		}
		if m.TryLock("a") {
			panic("locked twice")
		}
		for _, k := range keys {
			m.Unlock(k)
		}
		_ = m.LockContext(ctx, "a")
		m.Unlock("a")
		m.Lock(keys...)
		m.Unlock(keys...)
		_ = m.LockContext(ctx, keys...)
		_ = m.TryLock(keys...)
		if m.TryLock(keys...) || m.LockTimeout(0, keys...) {
			panic("locked twice")
		}
		m.Unlock(keys...)
		_ = m.LockTimeout(time.Hour, keys...)
		m.Unlock(keys...)
		rw.RLock([16]byte{1})
		rw.RLock([16]byte{1})
		rw.RUnlock([16]byte{1})
		rw.RUnlock([16]byte{1})
		picky.Lock(0.5)
		picky.Unlock(0.5)
		_ = s.Acquire(ctx, 1, 2)
		_ = s.TryAcquire(1, 2)
		s.Release(1, 4)
	}))
}

// lines are two keys that one Lock waits for, as a lock that tells how many wait.
type lines struct{ m *keyed.Mutex[int] }

func (l lines) Waiting() int { return min(l.m.Waiting(1), l.m.Waiting(2)) }

func TestWaitingForAllAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	var m keyed.Mutex[int]
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for _, c := range []context.Context{bg, ctx} {
		require.Zero(t, locktest.AllocsPerWait(lines{&m},
			func() { m.Lock(1, 2) },
			func() { m.Unlock(2); m.Unlock(1) },
			func() {
				if m.LockContext(c, 1, 2, 3) == nil {
					m.Unlock(3, 2, 1)
				}
			}))
	}
}

// There are enough shards for the processors, and not too many.
func TestShards(t *testing.T) {
	var m keyed.Mutex[int]
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	m.Lock(1)
	m.Unlock(1)
	require.Equal(t, 1024, m.Shards())
	for processors, shards := range map[int]int{1: 256, 2: 512, 3: 1024, 4: 1024, 5: 2048, 9: 2048, 256: 2048} {
		require.Equal(t, shards, 1<<keyed.ShardBitsFor(processors), "%d processors", processors)
	}
}

// Nothing keeps a key that is not in use: no free entry, no shard, and no batch, even if it was
// named twice. One collection does not empty the pool of batches.
func TestFreeKeysAreNotKept(t *testing.T) {
	locktest.SkipUnderRace(t)
	var m keyed.Mutex[*[64]int]
	use := func() weak.Pointer[[64]int] {
		k := new([64]int)
		m.Lock(k, k)
		m.Unlock(k, k, k)
		m.Lock(k)
		m.Unlock(k)
		return weak.Make(k)
	}
	k := use()
	runtime.GC()
	require.Nil(t, k.Value())
	runtime.KeepAlive(&m)
}
