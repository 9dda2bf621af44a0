package rwtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// What needs no order, and hardly a wait.
var basics = []test{
	{"ZeroLockIsUnlocked", once(func(t *testing.T, l Lock) { requireState(t, l, asNobody) })},
	{"ManyReadersOrOneWriter", once(manyReadersOrOneWriter)},
	{"WrongUnlockPanicsAndChangesNothing", wrongUnlockPanicsAndChangesNothing},
	{"OneUnlockTooManyPanics", once(oneUnlockTooManyPanics)},
	{"ConcurrentDoubleUnlockPanicsOnce", concurrentDoubleUnlockPanicsOnce},
	{"UnlockFromAnotherGoroutine", once(unlockFromAnotherGoroutine)},
	{"BadInput", once(badInput)},
	{"DoneContextNeverLocks", once(doneContextNeverLocks)},
	{"RLockerReadLocks", once(rLockerReadLocks)},
}

func manyReadersOrOneWriter(t *testing.T, l Lock) {
	const n = 1000
	for i := range n {
		require.True(t, l.TryRLock(), i)
	}
	require.False(t, l.TryLock())
	require.False(t, l.LockTimeout(time.Millisecond))
	for range n {
		requireState(t, l, asReader)
		l.RUnlock()
	}
	for range n {
		require.True(t, l.TryLock())
		require.False(t, l.TryLock())
		require.False(t, l.TryRLock())
		l.Unlock()
	}
}

// unlocks are the methods that end a hold, by the state of the lock in which each is right.
var unlocks = map[string]struct {
	right state
	call  func(l Lock)
}{
	"RUnlock":        {asReader, Lock.RUnlock},
	"RLocker.Unlock": {asReader, func(l Lock) { l.RLocker().Unlock() }},
	"Unlock":         {asWriter, func(l Lock) { l.Unlock() }},
}

func wrongUnlockPanicsAndChangesNothing(t *testing.T, create func() Lock) {
	for name, unlock := range unlocks {
		for _, s := range []state{asNobody, asReader, asWriter} {
			if s == unlock.right {
				continue
			}
			t.Run(fmt.Sprintf("%s of %v", name, s), func(t *testing.T) {
				once(func(t *testing.T, l Lock) {
					misuse := func() { locktest.RequireMisuse(t, func() { unlock.call(l) }) }
					s.lock(l)
					misuse()
					misuse()
					requireState(t, l, s)
					misuse()
					if s == asNobody {
						return
					}
					w := Queued(t, l, returned(l.Lock))
					misuse()
					locktest.RequireBlocked(t, w)
					require.Equal(t, 1, l.Waiting())
					s.unlock(l)
					locktest.Receive(t, w)
					l.Unlock()
				})(t, create)
			})
		}
	}
}

// As many unlocks as there were locks, and one more.
func oneUnlockTooManyPanics(t *testing.T, l Lock) {
	const n = 100
	for range n {
		l.RLock()
	}
	for range n {
		l.RUnlock()
	}
	locktest.RequireMisuse(t, l.RUnlock)
}

// Unlocks at the same time, of which one is too many: one of them panics, and only one.
func concurrentDoubleUnlockPanicsOnce(t *testing.T, create func() Lock) {
	for _, s := range holds {
		t.Run(s.String(), func(t *testing.T) {
			atEveryProcs(func(t *testing.T, l Lock) {
				for range locktest.Scaled(5000) {
					holders := map[state]int{asReader: 3, asWriter: 1}[s]
					for range holders {
						s.lock(l)
					}
					var panics atomic.Int64
					var wg sync.WaitGroup
					for range holders + 1 {
						wg.Go(func() {
							defer func() {
								if recover() != nil {
									panics.Add(1)
								}
							}()
							s.unlock(l)
						})
					}
					wg.Wait()
					require.EqualValues(t, 1, panics.Load())
				}
			})(t, create)
		})
	}
}

func unlockFromAnotherGoroutine(t *testing.T, l Lock) {
	for _, s := range holds {
		s.lock(l)
		go s.unlock(l)
		require.True(t, l.LockTimeout(locktest.Patience))
		l.Unlock()
	}
}

func badInput(t *testing.T, l Lock) {
	var none context.Context
	for _, s := range holds {
		require.Panics(t, func() { _ = s.lockContext(none, l) })
		for _, d := range []time.Duration{0, -1} {
			require.False(t, s.lockTimeout(l, d), "to lock without waiting there is a try")
		}
	}
}

func doneContextNeverLocks(t *testing.T, l Lock) {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for range 1000 {
		for _, s := range holds {
			require.True(t, s.lockContext(ctx, l) == context.Canceled) //nolint:errorlint // that very error
		}
	}
}

func rLockerReadLocks(t *testing.T, l Lock) {
	r := l.RLocker()
	r.Lock()
	r.Lock()
	requireState(t, l, asReader)
	r.Unlock()
	l.RUnlock()
	l.Lock()
	w := Queued(t, l, returned(r.Lock))
	l.Unlock()
	locktest.Receive(t, w)
	l.RUnlock()
}
