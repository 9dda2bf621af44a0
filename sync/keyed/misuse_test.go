package keyed_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/keyed"
)

type point struct {
	x float64
	y any
}

// allCalls are all calls of the three locks with a key.
func allCalls[K comparable](
	m *keyed.Mutex[K], rw *keyed.RWMutex[K], s *keyed.Semaphore[K], k, good K,
) map[string]func() {
	return map[string]func(){
		"Mutex.Lock":              func() { m.Lock(k) },
		"Mutex.TryLock":           func() { m.TryLock(k) },
		"Mutex.LockContext":       func() { _ = m.LockContext(bg, k) },
		"Mutex.LockTimeout":       func() { m.LockTimeout(time.Second, k) },
		"Mutex.LockTimeout, none": func() { m.LockTimeout(0, k) },
		"Mutex.Unlock":            func() { m.Unlock(k) },
		"Mutex.Lock, 2":           func() { m.Lock(good, k) },
		"Mutex.LockContext, 2":    func() { _ = m.LockContext(bg, good, k) },
		"Mutex.Unlock, 2":         func() { m.Unlock(good, k) },
		"Mutex.TryLock, 2":        func() { m.TryLock(good, k) },
		"Mutex.LockTimeout, 2":    func() { m.LockTimeout(time.Second, good, k) },
		"Mutex.Waiting":           func() { m.Waiting(k) },

		"RWMutex.Lock":            func() { rw.Lock(k) },
		"RWMutex.TryLock":         func() { rw.TryLock(k) },
		"RWMutex.LockContext":     func() { _ = rw.LockContext(bg, k) },
		"RWMutex.LockTimeout":     func() { rw.LockTimeout(time.Second, k) },
		"RWMutex.Unlock":          func() { rw.Unlock(k) },
		"RWMutex.RLock":           func() { rw.RLock(k) },
		"RWMutex.TryRLock":        func() { rw.TryRLock(k) },
		"RWMutex.RLockContext":    func() { _ = rw.RLockContext(bg, k) },
		"RWMutex.RLockTimeout":    func() { rw.RLockTimeout(time.Second, k) },
		"RWMutex.RUnlock":         func() { rw.RUnlock(k) },
		"RWMutex.Lock, 2":         func() { rw.Lock(good, k) },
		"RWMutex.LockContext, 2":  func() { _ = rw.LockContext(bg, good, k) },
		"RWMutex.Unlock, 2":       func() { rw.Unlock(good, k) },
		"RWMutex.RLock, 2":        func() { rw.RLock(good, k) },
		"RWMutex.RLockContext, 2": func() { _ = rw.RLockContext(bg, good, k) },
		"RWMutex.RUnlock, 2":      func() { rw.RUnlock(good, k) },
		"RWMutex.Waiting":         func() { rw.Waiting(k) },

		"Semaphore.Acquire":          func() { _ = s.Acquire(bg, k, 1) },
		"Semaphore.Acquire, nothing": func() { _ = s.Acquire(bg, k, 0) },
		"Semaphore.AcquireTimeout":   func() { _ = s.AcquireTimeout(time.Second, k, 1) },
		"Semaphore.TryAcquire":       func() { s.TryAcquire(k, 1) },
		"Semaphore.Release":          func() { s.Release(k, 1) },
		"Semaphore.Waiting":          func() { s.Waiting(k) },
	}
}

// requireRefused checks that all calls with k panic with the text, and lose nothing.
func requireRefused[K comparable](t *testing.T, text string, k, good K) {
	t.Helper()
	var m keyed.Mutex[K]
	var rw keyed.RWMutex[K]
	s := keyed.NewSemaphore[K](2)
	for name, call := range allCalls(&m, &rw, s, k, good) {
		require.PanicsWithValue(t, text, call, name)
	}
	require.PanicsWithValue(t, text, func() { m.Lock(good, k) })
	require.Zero(t, m.Len()+rw.Len()+s.Len())
	m.Lock(good)
	m.Unlock(good)
	require.True(t, rw.TryRLock(good) && s.TryAcquire(good, 2))
	rw.RUnlock(good)
	s.Release(good, 2)
	require.Zero(t, m.Len()+rw.Len()+s.Len())
}

// What cannot be found again, or cannot be compared, is no key.
func TestBadKeysAreRefused(t *testing.T) {
	nan := math.NaN()
	requireRefused(t, "keyed: key NaN is not equal to itself", nan, 1)
	requireRefused(t, "keyed: key (NaN+1i) is not equal to itself", complex(nan, 1), 1)
	requireRefused[any](t, "keyed: key NaN is not equal to itself", float32(nan), 1)
	requireRefused[any](t, "keyed: key [1 2] of type []int cannot be compared", []int{1, 2}, "good")
	requireRefused[any](t, "keyed: key map[] of type map[string]int cannot be compared", map[string]int{}, nil)
	requireRefused(t, "keyed: key {x:NaN y:1} is not equal to itself", point{nan, 1}, point{0, "good"})
	requireRefused(t, "keyed: key {1 [1]} of type keyed_test.point cannot be compared", point{1, []int{1}}, point{1, [1]int{1}})
	requireRefused(t, "keyed: key [0 NaN] is not equal to itself", [2]float64{0, nan}, [2]float64{0, math.Inf(1)})
}

// Keys are looked at only if their type has values that are refused: other locks are quicker.
func TestOnlySomeTypesAreLookedAt(t *testing.T) {
	require.False(t, keyed.MayBeRefused[int]() || keyed.MayBeRefused[string]() || keyed.MayBeRefused[*float64]())
	require.False(t, keyed.MayBeRefused[[2]uint8]() || keyed.MayBeRefused[struct{ a, b int }]())
	require.False(t, keyed.MayBeRefused[struct{}]() || keyed.MayBeRefused[chan any]())
	require.True(t, keyed.MayBeRefused[float32]())
	require.True(t, keyed.MayBeRefused[complex64]() && keyed.MayBeRefused[complex128]())
	require.True(t, keyed.MayBeRefused[error]() && keyed.MayBeRefused[[1]any]())
	require.True(t, keyed.MayBeRefused[struct {
		a int
		b [2]float64
	}]())
}

// A key is looked at before all else.
func TestKeyIsLookedAtFirst(t *testing.T) {
	var none context.Context
	var m keyed.Mutex[float64]
	s := keyed.NewSemaphore[float64](1)
	nan := math.NaN()
	for i, call := range []func(){
		func() { _ = m.LockContext(none, nan) },
		func() { _ = m.LockContext(none, 1, nan) },
		func() { m.LockTimeout(0, nan) },
		func() { m.LockTimeout(0, 1, nan) },
		func() { _ = s.Acquire(none, nan, 1) },
		func() { _ = s.Acquire(none, nan, 0) },
		func() { _ = s.Acquire(none, nan, -1) },
		func() { _ = s.AcquireTimeout(0, nan, -1) },
		func() { s.TryAcquire(nan, -1) },
	} {
		require.PanicsWithValue(t, "keyed: key NaN is not equal to itself", call, "call %d", i)
	}
}

// Zero has two signs and is one key.
func TestZerosAreOneKey(t *testing.T) {
	var m keyed.Mutex[float64]
	m.Lock(0)
	require.False(t, m.TryLock(math.Copysign(0, -1)))
	m.Unlock(math.Copysign(0, -1))
	require.Zero(t, m.Len())
}

// Keys of different types are different.
func TestDynamicTypesAreTold(t *testing.T) {
	var m keyed.Mutex[any]
	m.Lock(1)
	require.True(t, m.TryLock(int64(1)) && m.TryLock("1") && m.TryLock(nil) && m.TryLock([1]int{1}))
	require.False(t, m.TryLock(1))
	require.Equal(t, 5, m.Len())
	m.Unlock(1, int64(1), "1", nil, [1]int{1})
	require.Zero(t, m.Len())
}

// Whatever is wrong with a call is said, with the key; and nothing has changed.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	var m keyed.Mutex[string]
	var rw keyed.RWMutex[[2]int]
	s := keyed.NewSemaphore[int](5)
	m.Lock("held")
	rw.Lock([2]int{0, 1})
	rw.RLock([2]int{0, 2})
	require.True(t, s.TryAcquire(7, 3))
	for text, calls := range map[string][]func(){
		`keyed: unlock of unlocked key "free"`: {
			func() { m.Unlock("free") },
			func() { m.Unlock("free", "free") },
			func() { m.Unlock("held", "free", "held") },
		},
		"keyed: Unlock of key [0 2], which is unlocked or read-locked": {
			func() { rw.Unlock([2]int{0, 2}) },
			func() { rw.Unlock([2]int{0, 2}, [2]int{0, 2}) },
			func() { rw.Unlock([2]int{0, 1}, [2]int{0, 2}) },
		},
		"keyed: Unlock of key [0 0], which is unlocked or read-locked": {
			func() { rw.Unlock([2]int{}) },
		},
		"keyed: RUnlock of key [0 1], which is unlocked or write-locked": {
			func() { rw.RUnlock([2]int{0, 1}) },
			func() { rw.RUnlock([2]int{0, 2}, [2]int{0, 1}) },
		},
		"keyed: RUnlock of key [0 0], which is unlocked or write-locked": {
			func() { rw.RUnlock([2]int{}) },
		},
		"keyed: nil context": {
			func() { _ = m.LockContext(none, "free") },
			func() { _ = m.LockContext(none, "held") },
			func() { _ = m.LockContext(none, "free", "held") },
			func() { _ = m.LockContext(none) },
			func() { _ = rw.RLockContext(none, [2]int{}) },
			func() { _ = rw.RLockContext(none, [2]int{}, [2]int{0, 1}) },
			func() { _ = s.Acquire(none, 7, 1) },
			func() { _ = s.Acquire(none, 7, 0) },
		},
		"keyed: acquire of a negative number of permits": {
			func() { _ = s.Acquire(bg, 7, -1) },
			func() { _ = s.Acquire(none, 7, math.MinInt64) },
			func() { _ = s.AcquireTimeout(0, 7, -1) },
			func() { s.TryAcquire(7, -1) },
		},
		"keyed: release of a negative number of permits": {
			func() { s.Release(7, -1) },
			func() { s.Release(8, math.MinInt64) },
		},
		"keyed: released 4 of key 7, but 3 are held (size 5)": {func() { s.Release(7, 4) }},
		"keyed: released 6 of key 7, but 3 are held (size 5)": {func() { s.Release(7, 6) }},
		"keyed: released 1 of key 8, but 0 are held (size 5)": {func() { s.Release(8, 1) }},
		"keyed: negative size":                                {func() { keyed.NewSemaphore[int](-1) }},
	} {
		for i, call := range calls {
			require.PanicsWithValue(t, text, call, "call %d", i)
		}
	}
	require.Equal(t, []int{1, 2, 1}, []int{m.Len(), rw.Len(), s.Len()})
	require.ErrorIs(t, s.Acquire(bg, 7, 6), keyed.ErrTooLarge)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 7, math.MaxInt64), keyed.ErrTooLarge)
	require.False(t, s.TryAcquire(7, 6))
	require.False(t, s.TryAcquire(8, 6))
	require.ErrorIs(t, s.Acquire(bg, 8, 6), keyed.ErrTooLarge)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 8, 6), keyed.ErrTooLarge)
	require.Equal(t, 1, s.Len())
	m.Unlock("held")
	rw.Unlock([2]int{0, 1})
	rw.RUnlock([2]int{0, 2})
	s.Release(7, 3)
	require.Zero(t, m.Len()+rw.Len()+s.Len())
}

// Nothing is nothing: no wait and no entry.
func TestNothingNeedsNoEntry(t *testing.T) {
	var m keyed.Mutex[int]
	m.Lock()
	m.Unlock()
	require.NoError(t, m.LockContext(bg))
	s := keyed.NewSemaphore[int](1)
	require.True(t, s.TryAcquire(1, 1))
	require.NoError(t, s.Acquire(bg, 1, 0))
	require.NoError(t, s.Acquire(bg, 2, 0))
	require.NoError(t, s.AcquireTimeout(time.Hour, 2, 0))
	require.True(t, s.TryAcquire(2, 0))
	s.Release(2, 0)
	require.Equal(t, 1, s.Len())
	soon, stop := context.WithTimeout(bg, locktest.Patience)
	defer stop()
	waited := make(chan error, 1)
	go func() { waited <- s.Acquire(soon, 1, 1) }()
	locktest.Eventually(t, "it waits", func() bool { return s.Waiting(1) == 1 })
	require.NoError(t, s.Acquire(soon, 1, 0), "behind one who waits")
	s.Release(1, 1)
	require.NoError(t, locktest.Receive(t, waited))
	s.Release(1, 1)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, m.LockContext(ctx), context.Canceled)
	require.ErrorIs(t, s.Acquire(ctx, 1, 0), context.Canceled)
	require.ErrorIs(t, s.Acquire(ctx, 1, 2), context.Canceled)
	require.ErrorIs(t, s.AcquireTimeout(0, 1, 0), context.DeadlineExceeded)
	require.Zero(t, keyed.NewSemaphore[int](0).Size())
	var zero keyed.Semaphore[int]
	require.ErrorIs(t, zero.Acquire(bg, 1, 1), keyed.ErrTooLarge)
	require.NoError(t, zero.Acquire(bg, 1, 0))
	require.NoError(t, zero.AcquireTimeout(time.Hour, 1, 0))
	require.True(t, zero.TryAcquire(1, 0))
	require.Zero(t, m.Len()+s.Len()+zero.Len())
}

func TestHugeSizesActAsMaxPermits(t *testing.T) {
	s := keyed.NewSemaphore[int](math.MaxInt64)
	require.Equal(t, keyed.MaxPermits, s.Size())
	require.True(t, s.TryAcquire(1, keyed.MaxPermits))
	require.False(t, s.TryAcquire(1, 1))
	require.ErrorIs(t, s.Acquire(bg, 1, math.MaxInt64), keyed.ErrTooLarge)
	s.Release(1, keyed.MaxPermits)
	require.Zero(t, s.Len())
}
