package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/keyed"
)

// A strange is a key whose methods must not be called by a lock.
type strange struct {
	n    int
	name any
}

func (strange) String() string   { runtime.Goexit(); return "" }
func (strange) GoString() string { runtime.Goexit(); return "" }
func (strange) Error() string    { runtime.Goexit(); return "" }
func (strange) Hash() uint64     { runtime.Goexit(); return 0 }

// No method of a key is called while it is locked, waited for and unlocked, observed or not.
func TestNoMethodOfAKeyIsCalled(t *testing.T) {
	for _, level := range []observed.Level{observed.Off, observed.Counts, observed.Holders} {
		var m keyed.Mutex[strange]
		if level != observed.Off {
			records.Watch(&m, t.Name(), level)
		}
		ended := make(chan bool, 1)
		go func() {
			ok := false
			defer func() { ended <- ok }()
			a, b := strange{1, "a"}, strange{2, math.Pi}
			m.Lock(a, b)
			got := make(chan struct{})
			go func() { m.Lock(b, a); close(got) }()
			locktest.Eventually(t, "a waiter", func() bool { return m.Waiting(a) == 1 })
			m.Unlock(a)
			m.Unlock(b)
			<-got
			m.Unlock(a, b)
			ok = true
		}()
		require.True(t, locktest.Receive(t, ended), "a method ended the goroutine, at level %d", level)
		require.Zero(t, m.Len())
		records.Unwatch(&m)
	}
}

// Keys of all sizes and shapes are told apart, also those that differ in their last byte, in the
// sign of a zero, or only in their dynamic type.
func TestHugeAndStrangeKeys(t *testing.T) {
	type huge struct {
		pad  [1 << 16]byte
		last byte
	}
	var m keyed.Mutex[huge]
	pad := [1 << 16]byte{1}
	a, b := huge{pad, 1}, huge{pad, 2}
	m.Lock(a, b, a)
	require.Equal(t, 2, m.Len())
	require.False(t, m.TryLock(a))
	m.Unlock(a)
	require.True(t, m.TryLock(a))
	m.Unlock(b, a)
	require.Zero(t, m.Len())

	var any1 keyed.Mutex[any]
	keys := []any{nil, 0, int8(0), uint(0), 0.0, "", [0]int{}, struct{}{}, errors.New(""), false, new(int), 'a', complex(0, 0), (*int)(nil), [1]any{nil}}
	any1.Lock(keys...)
	require.Equal(t, len(keys), any1.Len())
	require.False(t, any1.TryLock(math.Copysign(0, -1)), "zero has no sign")
	any1.Unlock(keys...)
	require.Zero(t, any1.Len())

	var empty keyed.Mutex[struct{}]
	empty.Lock(struct{}{})
	require.False(t, empty.TryLock(struct{}{}))
	empty.Unlock(struct{}{}, struct{}{})
	require.Zero(t, empty.Len())
}

// Bad keys at any place of a batch leave nothing behind, held or waited for, whether the good ones
// are free or not; and the batches that they were in are not used again half full.
func TestBadKeysInBatches(t *testing.T) {
	var m keyed.Mutex[any]
	s := keyed.NewSemaphore[any](2)
	bad := []any{math.NaN(), []int{1}, map[int]int{}, func() {}, [1]any{[]int{}}, struct{ f any }{math.NaN()}}
	m.Lock("held")
	for range 20 {
		for _, k := range bad {
			for _, keys := range [][]any{{k}, {1, k}, {k, 1}, {1, "held", k, 2}, {"held", k}} {
				require.Panics(t, func() { m.Lock(keys...) })
				require.Panics(t, func() { _ = m.LockContext(bg, keys...) })
				require.Panics(t, func() { m.Unlock(keys...) })
			}
			require.Panics(t, func() { _ = s.Acquire(bg, k, 1) })
		}
		require.Equal(t, 1, m.Len())
		m.Lock(1, 2)
		m.Unlock(2, 1)
	}
	m.Unlock("held")
	require.Zero(t, m.Len()+s.Len())
}

// A goroutine that ends by Goexit or a panic, with deferred unlocks, leaves nothing behind.
func TestHoldersThatEnd(t *testing.T) {
	var m keyed.Mutex[int]
	var rw keyed.RWMutex[int]
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			m.Lock(i%7, i%5, i%3)
			defer m.Unlock(i%3, i%5, i%7)
			rw.RLock(i % 4)
			defer rw.RUnlock(i % 4)
			if i%2 == 0 {
				panic("a holder")
			}
			runtime.Goexit()
		})
	}
	wg.Wait()
	require.Zero(t, m.Len()+rw.Len())
}

// Everybody does everything with a few keys, most of which collide, while the observation switches:
// locks of one key and of several, that end at any point, by cancels, times and contexts that
// panic. No two hold a key, and nothing is left.
func TestEverythingOfKeysAtOnce(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for seed := range uint64(locktest.Scaled(120)) {
			everythingOfKeys(t, seed)
		}
	})
}

const someKeys = 5

func everythingOfKeys(t *testing.T, seed uint64) {
	t.Helper()
	var m keyed.Mutex[int]
	var holders [someKeys]atomic.Int32
	var users, switcher sync.WaitGroup
	for u := range 5 {
		users.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(u)))
			for range 50 {
				if keys := lockSomehow(t, &m, rng); keys != nil {
					for _, k := range keys {
						if n := holders[k].Add(1); n != 1 {
							t.Errorf("%d hold key %d", n, k)
						}
					}
					if rng.IntN(3) == 0 {
						runtime.Gosched()
					}
					for _, k := range keys {
						holders[k].Add(-1)
					}
					if rng.IntN(2) == 0 {
						m.Unlock(keys...)
					} else {
						for _, k := range keys {
							m.Unlock(k)
						}
					}
				}
			}
		})
	}
	stop := make(chan struct{})
	switcher.Go(func() {
		for rng := rand.New(rand.NewPCG(seed, 99)); ; {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rng.IntN(100)) * time.Microsecond):
			}
			if level := observed.Level(rng.IntN(3)); level == observed.Off {
				records.Unwatch(&m)
			} else {
				records.Watch(&m, "everything", level)
			}
		}
	})
	ended := make(chan struct{})
	go func() { users.Wait(); close(ended) }()
	locktest.Receive(t, ended)
	close(stop)
	switcher.Wait()
	records.Unwatch(&m)
	require.Zero(t, m.Len())
	for k := range someKeys {
		require.Zero(t, m.Waiting(k))
	}
}

// lockSomehow returns the keys that it has locked, each once, or nil.
func lockSomehow(t *testing.T, m *keyed.Mutex[int], rng *rand.Rand) (locked []int) {
	t.Helper()
	keys := rng.Perm(someKeys)[:1+rng.IntN(3)]
	k, patience := keys[0], time.Duration(rng.IntN(200))*time.Microsecond
	ctx, cancel := context.WithTimeout(bg, patience)
	defer cancel()
	switch rng.IntN(6) {
	case 0:
		m.Lock(append(keys, k)...)
		return keys
	case 1:
		if m.LockContext(ctx, keys...) == nil {
			return keys
		}
	case 2:
		if m.LockTimeout(patience, k) {
			return keys[:1]
		}
	case 3:
		if m.TryLock(k) {
			return keys[:1]
		}
	case 4:
		if m.LockContext(ctx, k) == nil {
			return keys[:1]
		}
	default:
		defer func() {
			if e := recover(); e != nil && e != errMad { //nolint:errorlint // that very value
				t.Errorf("%v", e)
			}
		}()
		c := locktest.NewTrapContext(ctx, "Err", 1+rng.Int64N(5), func() { panic(errMad) })
		if m.LockContext(c, keys...) == nil {
			return keys
		}
	}
	return nil
}

var errMad = errors.New("a context that panics")

// A million keys, held and waited for, take the memory that is stated, no call takes longer than
// with a few, and the memory comes back.
func TestAMillionKeys(t *testing.T) {
	locktest.SkipUnderRace(t)
	n := 1_000_000
	if !locktest.Stress() {
		n = 50_000
	}
	var m keyed.Mutex[int]
	m.Lock(-1)
	m.Unlock(-1)
	before := inUse()
	for k := range n {
		m.Lock(k)
	}
	each := (inUse() - before) / int64(n)
	t.Logf("held: %d bytes each", each)
	require.Less(t, each, int64(200), "as documented")
	require.Equal(t, n, m.Len())
	all := make([]int, n)
	for k := range all {
		all[k] = k
		m.Unlock(k)
	}
	left := inUse() - before - int64(8*n)
	t.Logf("free: %d bytes", left)
	require.Less(t, left, int64(1<<20))
	m.Lock(all...)
	m.Unlock(all...)
	require.Zero(t, m.Len())
	clear(all)
	left = inUse() - before - int64(8*n)
	t.Logf("after a call for all: %d bytes", left)
	require.Less(t, left, int64(1<<20))
	runtime.KeepAlive(all)
	runtime.KeepAlive(&m)
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

var _ fmt.Stringer = strange{}
