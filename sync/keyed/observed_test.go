//go:build !interleave

package keyed_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/keyed"
)

// keys returns the keys of holds, or of waits.
func keys(holds []records.Hold) (keys []string) {
	for i := range holds {
		keys = append(keys, holds[i].Key)
	}
	slices.Sort(keys)
	return keys
}

// An unlock of several keys that is refused has changed nothing, and no record has lost a holder.
func TestARefusedUnlockForgetsNoHolder(t *testing.T) {
	var m keyed.Mutex[string]
	read := observedtest.Watch(t, &m, observed.Holders)
	m.Lock("a", "b")
	require.Panics(t, func() { m.Unlock("a", "b", "c") })
	require.Equal(t, []string{"a", "b"}, keys(read().Holders))
	m.Unlock("a", "b")
	require.Empty(t, read().Holders)
}

// One record has the holds and the waits for all keys, each with its key.
func TestObservedKeysHaveHoldersAndWaiters(t *testing.T) {
	var m keyed.Mutex[string]
	read := observedtest.Watch(t, &m, observed.Holders)
	m.Lock("a")
	require.True(t, m.TryLock("b"))
	require.False(t, m.TryLock("b"))
	require.NoError(t, m.LockContext(t.Context(), "c"))
	require.True(t, m.LockTimeout(time.Hour, "d"))
	m.Lock("e", "f", "e")
	s := read()
	require.Equal(t, "keyed.Mutex", s.Kind)
	require.True(t, s.Owned)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, keys(s.Holders))
	require.EqualValues(t, 6, s.Acquired)
	require.EqualValues(t, 1, s.Failed[records.Tried])
	require.EqualValues(t, 6, s.Size-s.Free)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.LockContext(ctx, "a") }()
	go func() { ended <- m.LockContext(ctx, "b", "free") }()
	locktest.Eventually(t, "they wait", func() bool { // What is free is waited for, too, for a moment.
		s = read()
		waits := keys(s.Waiters)
		slices.Sort(waits)
		return slices.Equal([]string{"a", "b"}, waits)
	})
	require.True(t, s.Waiters[0].CanEnd)
	require.Contains(t, keys(s.Holders), "free")
	cancel()
	require.True(t, locktest.Receive(t, ended) != nil)
	require.True(t, locktest.Receive(t, ended) != nil)
	s = read()
	require.Empty(t, s.Waiters)
	require.False(t, slices.Contains(keys(s.Holders), "free"))
	require.EqualValues(t, 2, s.Failed[records.Cancelled])

	m.Unlock("a")
	m.Unlock("b", "c", "d", "e", "f")
	s = read()
	require.Empty(t, s.Holders)
	require.Zero(t, s.Unknown)
	require.Equal(t, s.Size, s.Free)
}

// A try for several keys is a hold for each, or one failure, whatever keys were busy.
func TestATryForSeveralKeysIsRecorded(t *testing.T) {
	var m keyed.RWMutex[string]
	read := observedtest.Watch(t, &m, observed.Holders)
	require.True(t, m.TryLock("a", "b", "a"))
	require.True(t, m.TryRLock("r", "s"))
	s := read()
	require.Equal(t, []string{"a", "b", "r", "s"}, keys(s.Holders))
	require.EqualValues(t, 4, s.Acquired)
	require.Zero(t, s.Failed[records.Tried])

	require.False(t, m.TryLock("free", "a", "b"))
	require.False(t, m.TryLock("r", "free"))
	require.False(t, m.TryRLock("free", "r", "b"))
	s = read()
	require.Equal(t, []string{"a", "b", "r", "s"}, keys(s.Holders))
	require.EqualValues(t, 4, s.Acquired)
	require.EqualValues(t, 3, s.Failed[records.Tried])

	m.Unlock("b", "a")
	m.RUnlock("r", "s")
	s = read()
	require.Empty(t, s.Holders)
	require.Zero(t, s.Unknown)
	require.Equal(t, s.Size, s.Free)
}

// Readers share, and a writer holds all permits.
func TestObservedKeysOfAReadWriteLock(t *testing.T) {
	m := new(keyed.RWMutex[int])
	read := observedtest.Watch(t, m, observed.Holders)
	m.RLock(1)
	m.RLock(1)
	m.Lock(2)
	s := read()
	require.Equal(t, "keyed.RWMutex", s.Kind)
	require.Equal(t, []string{"1", "1", "2"}, keys(s.Holders))
	require.True(t, s.Holders[0].Shared && s.Holders[1].Shared && !s.Holders[2].Shared)
	require.EqualValues(t, 1, s.Holders[0].Permits)
	require.Equal(t, s.Size, s.Holders[2].Permits)
	m.RUnlock(1)
	m.RUnlock(1)
	m.Unlock(2)
	require.Empty(t, read().Holders)
}

func TestObservedKeysOfASemaphore(t *testing.T) {
	s := keyed.NewSemaphore[int](3)
	read := observedtest.Watch(t, s, observed.Holders)
	require.NoError(t, s.Acquire(t.Context(), 7, 2))
	require.ErrorIs(t, s.Acquire(t.Context(), 7, 4), keyed.ErrTooLarge)
	require.ErrorIs(t, s.AcquireTimeout(time.Microsecond, 7, 2), context.DeadlineExceeded)
	l := read()
	require.Equal(t, "keyed.Semaphore", l.Kind)
	require.False(t, l.Owned)
	require.EqualValues(t, 3, l.Size)
	require.Len(t, l.Holders, 1)
	require.EqualValues(t, 2, l.Holders[0].Permits)
	require.EqualValues(t, 1, l.Failed[records.TooLarge])
	require.EqualValues(t, 1, l.Failed[records.TimedOut])
	s.Release(7, 1)
	require.EqualValues(t, 1, read().Holders[0].Permits)
	s.Release(7, 1)
	require.Empty(t, read().Holders)
}

// Those that are made, or that somebody waits for, join when all are to be observed.
func TestLocksOfKeysJoin(t *testing.T) {
	defer records.All(records.All(observed.Counts))
	count := func() int {
		locks, _ := records.Read()
		return len(locks)
	}
	before := count()
	s := keyed.NewSemaphore[int](1)
	require.Equal(t, before+1, count())
	var m keyed.Mutex[int]
	m.Lock(1)
	require.True(t, m.TryLock(2, 3))
	require.False(t, m.TryLock(1, 2))
	require.Equal(t, before+1, count())
	require.False(t, m.LockTimeout(time.Microsecond, 1))
	require.Equal(t, before+2, count())
	records.Unwatch(s)
	records.Unwatch(&m)
	require.Equal(t, before, count())
	runtime.KeepAlive(s)
}

// However many keys are held, the record stays small, and says how much it has dropped.
func TestObservedKeysAreBounded(t *testing.T) {
	m := new(keyed.Mutex[int])
	read := observedtest.Watch(t, m, observed.Holders)
	n := locktest.Scaled(100_000)
	if locktest.Stress() && !locktest.RaceEnabled {
		n = 1_000_000
	}
	for k := range n {
		m.Lock(k)
	}
	s := read()
	require.Less(t, len(s.Holders), 10_000)
	require.EqualValues(t, n, uint64(len(s.Holders))+s.DroppedHolds)
	require.EqualValues(t, n, s.Size-s.Free)
	for k := range n {
		m.Unlock(k)
	}
	s = read()
	require.Empty(t, s.Holders)
	require.Zero(t, s.Unknown)
}

// The text of a key is as short as it may be, and two keys have two texts.
func TestTextsOfKeysDiffer(t *testing.T) {
	long := strings.Repeat("x", 100)
	type pair struct {
		A string
		b int
	}
	p := &pair{}
	require.Equal(t, "user:1", keyed.Text("user:1"))
	require.Equal(t, long[:64]+"#1", keyed.Text(long))
	require.Equal(t, "#1", keyed.Text(""), "no text is empty")
	require.Equal(t, "-12", keyed.Text(-12))
	require.Equal(t, "12", keyed.Text(uint8(12)))
	require.Equal(t, "true", keyed.Text(true))
	require.Equal(t, "1.5", keyed.Text(1.5))
	require.Equal(t, "0", keyed.Text(math.Copysign(0, -1)), "the same key")
	require.Equal(t, "(1+2i)", keyed.Text(1+2i))
	require.Equal(t, "{a 1}#1", keyed.Text(pair{"a", 1}))
	require.Equal(t, "[1 2]#1", keyed.Text([2]int{1, 2}))
	require.Equal(t, fmt.Sprintf("%p", p), keyed.Text(p))
	require.Equal(t, "1#1", keyed.Text[any](1))
	require.Equal(t, "#1", keyed.Text[any](nil))
	require.Equal(t, "quiet", keyed.Text(loud("quiet")))
}

// A loud key has a method that must not be called.
type loud string

func (loud) String() string { panic("called") }

func TestNilLockOfKeysIsRefused(t *testing.T) {
	for _, l := range []any{(*keyed.Mutex[int])(nil), (*keyed.RWMutex[int])(nil), (*keyed.Semaphore[int])(nil)} {
		require.PanicsWithValue(t, "observe: a nil lock of package keyed", func() { records.Watch(l, "", observed.Counts) })
	}
}

// What all mutexes promise, of observed ones.
func TestContractWhileObserved(t *testing.T) {
	mutextest.RunSmall(t, func() mutextest.Small {
		m := newTwoKeys()
		records.Watch(tableOf(m), "", observed.Holders)
		return m
	}, mutextest.Known{Test: "WaitingAllocatesNothing", Why: "the record does: TestObservingKeysAllocatesLittle"},
		mutextest.Known{Test: "GivingUpAllocatesNothing", Why: "the same"})
}

// In the steady state nothing is allocated for what is known of a lock, if its keys are short
// strings.
func TestObservingKeysAllocatesLittle(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, level := range map[string]observed.Level{"counts": observed.Counts, "holders": observed.Holders} {
		t.Run(name, func(t *testing.T) {
			m := new(keyed.RWMutex[string])
			observedtest.Watch(t, m, level)
			const k = "a key"
			require.Zero(t, locktest.AllocsPerRun(1000, func() {
				m.Lock(k)
				m.Unlock(k)
				m.RLock(k)
				m.RUnlock(k)
			}))
			require.Zero(t, locktest.AllocsPerWait(rwMutex{m, k},
				func() { m.Lock(k) }, func() { m.Unlock(k) }, func() { m.RLock(k); m.RUnlock(k) }))
		})
	}
}

// A hook that has seen a level below Holders knows no key. If the level has risen when it tells
// what it saw, nothing stays behind that the release, which knows the key, would not find.
func TestLevelRisesInAHook(t *testing.T) {
	for name, waits := range map[string]bool{"at once": false, "after a wait": true} {
		t.Run(name, func(t *testing.T) {
			m := new(keyed.Mutex[int])
			read := observedtest.Watch(t, m, observed.Counts)
			m.RecordLate(1, waits, func() { records.Watch(m, "", observed.Holders) })
			require.Empty(t, read().Holders)
			require.Empty(t, read().Waiters)
			require.Zero(t, read().Unknown)
			m.Lock(1)
			require.Len(t, read().Holders, 1)
			m.Unlock(1)
			require.Empty(t, read().Holders)
			require.Zero(t, read().Unknown)
		})
	}
}

// A lock that is observed and not, over and over, loses nothing.
func TestWatchingKeysLosesNothing(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m keyed.Mutex[int]
		done := make(chan struct{})
		var toggler, workers sync.WaitGroup
		toggler.Go(func() {
			for level := observed.Off; ; level = (level + 1) % 3 {
				select {
				case <-done:
					return
				default:
					records.Watch(&m, "", level)
					runtime.Gosched()
				}
			}
		})
		for i := range 4 {
			workers.Go(func() {
				for n := range locktest.Scaled(2000) {
					switch i {
					case 0:
						m.Lock(1, 2, 3)
						m.Unlock(1, 2, 3)
					case 1:
						if m.LockTimeout(10*time.Microsecond, n%3) {
							m.Unlock(n % 3)
						}
					default:
						m.Lock(n % 3)
						m.Unlock(n % 3)
					}
				}
			})
		}
		workers.Wait()
		close(done)
		toggler.Wait()
		require.Zero(t, m.Len())
		read := observedtest.Watch(t, &m, observed.Holders)
		m.Lock(1)
		m.Unlock(1)
		require.Empty(t, read().Holders)
		require.Empty(t, read().Waiters)
		require.Zero(t, read().Waiting)
	})
}
