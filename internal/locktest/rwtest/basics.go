package rwtest

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// The basics need no order, and hardly a wait.
var basics = []test{
	{"ZeroLockIsUnlocked", once(func(*testing.T, Kind, Lock) {})},
	{"ManyReadersOrOneWriter", once(manyReadersOrOneWriter)},
	{"WrongUnlockPanicsAndChangesNothing", wrongUnlockPanicsAndChangesNothing},
	{"OneUnlockTooManyPanics", once(oneUnlockTooManyPanics)},
	{"ConcurrentDoubleUnlockPanicsOnce", concurrentDoubleUnlockPanicsOnce},
	{"UnlockFromAnotherGoroutine", once(unlockFromAnotherGoroutine)},
	{"BadInput", once(badInput)},
	{"DoneContextNeverLocks", once(doneContextNeverLocks)},
	{"RLockerReadLocks", once(rLockerReadLocks)},
	{"PanicWhileHolding", once(panicWhileHolding)},
}

func manyReadersOrOneWriter(t *testing.T, _ Kind, l Lock) {
	const n = 1000
	for i := range n {
		require.True(t, l.TryRLock(), i)
	}
	require.False(t, l.TryLock())
	require.False(t, l.LockTimeout(time.Millisecond))
	for range n {
		RequireState(t, l, Read)
		l.RUnlock()
	}
	for range n {
		require.True(t, l.TryLock())
		require.False(t, l.TryLock())
		require.False(t, l.TryRLock())
		l.Unlock()
	}
}

// endings are the methods that end or change a hold of l, by name, and the state of l in which each
// is right.
func endings(l Lock) map[string]ending {
	all := map[string]ending{
		"RUnlock":        {Read, l.RUnlock},
		"RLocker.Unlock": {Read, l.RLocker().Unlock},
		"Unlock":         {Write, l.Unlock},
	}
	if u, ok := l.(UpgradableLock); ok {
		maps.Copy(all, map[string]ending{
			"Downgrade":             {Write, u.Downgrade},
			"DowngradeToUpgradable": {Write, u.DowngradeToUpgradable},
			"UUnlock":               {Upgradable, u.UUnlock},
			"ForgoUpgrade":          {Upgradable, u.ForgoUpgrade},
			"Upgrade":               {Upgradable, u.Upgrade},
			"TryUpgrade":            {Upgradable, func() { u.TryUpgrade() }},
			"UpgradeContext":        {Upgradable, func() { _ = u.UpgradeContext(bg) }},
			"UpgradeTimeout":        {Upgradable, func() { u.UpgradeTimeout(time.Hour) }},
		})
	}
	return all
}

type ending struct {
	right State
	call  func()
}

func wrongUnlockPanicsAndChangesNothing(t *testing.T, k Kind) {
	l := k.New()
	for name, e := range endings(l) {
		for _, s := range append(Holds(l), Unlocked) {
			if s == e.right {
				continue
			}
			t.Run(name+" of "+s.String(), func(t *testing.T) {
				once(func(t *testing.T, k Kind, l Lock) {
					call := endings(l)[name].call
					misuse := func() { t.Helper(); k.requireMisuse(t, call) }
					s.Lock(l)
					misuse()
					misuse()
					RequireState(t, l, s)
					misuse()
					if s == Unlocked {
						return
					}
					w, waiting := Queued(t, l, l.Lock), 1
					misuse()
					var r <-chan struct{}
					if k.FIFO {
						r, waiting = Queued(t, l, l.RLock), 2
						misuse()
					}
					locktest.RequireBlocked(t, w)
					require.Equal(t, waiting, l.Waiting())
					s.Unlock(l)
					locktest.Receive(t, w)
					l.Unlock()
					if k.FIFO {
						locktest.Receive(t, r)
						l.RUnlock()
					}
				})(t, k)
			})
		}
	}
}

// The lock is unlocked as often as it was locked, and once more.
func oneUnlockTooManyPanics(t *testing.T, k Kind, l Lock) {
	const n = 100
	for range n {
		l.RLock()
	}
	u, ok := l.(UpgradableLock)
	if ok {
		u.ULock()
	}
	for range n {
		l.RUnlock()
	}
	k.requireMisuse(t, l.RUnlock)
	if ok {
		RequireState(t, l, Upgradable)
		u.UUnlock()
		k.requireMisuse(t, u.UUnlock)
		k.requireMisuse(t, l.RUnlock)
	}
}

// Unlocks at the same time, one too many: one of them panics, and only one.
func concurrentDoubleUnlockPanicsOnce(t *testing.T, k Kind) {
	for _, s := range Holds(k.New()) {
		t.Run(s.String(), func(t *testing.T) {
			atEveryProcs(func(t *testing.T, _ Kind, l Lock) {
				for range locktest.Scaled(5000) {
					holders := map[State]int{Read: 3, Upgradable: 1, Write: 1}[s]
					for range holders {
						s.Lock(l)
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
							s.Unlock(l)
						})
					}
					wg.Wait()
					require.EqualValues(t, 1, panics.Load())
				}
			})(t, k)
		})
	}
}

func unlockFromAnotherGoroutine(t *testing.T, _ Kind, l Lock) {
	for _, s := range Holds(l) {
		s.Lock(l)
		go s.Unlock(l)
		require.True(t, l.LockTimeout(locktest.Patience))
		l.Unlock()
	}
}

func badInput(t *testing.T, k Kind, l Lock) {
	var none context.Context
	panics := func(f func()) {
		t.Helper()
		require.Contains(t, require.PanicOf(f), k.Package+": ")
	}
	free := func() {
		t.Helper()
		for _, s := range Holds(l) {
			panics(func() { _ = s.LockContext(none, l) })
			for _, d := range []time.Duration{0, -1} {
				require.False(t, s.LockTimeout(l, d), "to lock without waiting there is a try")
			}
		}
	}
	free()
	if k.Bind != nil {
		for _, s := range Holds(l) {
			panics(func() { k.Bind(new(waiter.Future), nil, s) })
		}
	}
	u, ok := l.(UpgradableLock)
	if !ok {
		return
	}
	u.ULock()
	for _, s := range Holds(l) {
		panics(func() { _ = s.LockContext(none, l) })
	}
	panics(func() { _ = u.UpgradeContext(none) })
	require.True(t, u.UpgradeContext(locktest.DoneContext()) == context.Canceled, //nolint:errorlint // that very error
		"although no goroutine is in the way")
	require.False(t, u.UpgradeTimeout(0))
	require.False(t, u.UpgradeTimeout(-1))
	RequireState(t, l, Upgradable)
	u.UUnlock()
	free()
}

func doneContextNeverLocks(t *testing.T, _ Kind, l Lock) {
	ctx := locktest.DoneContext()
	for range 1000 {
		for _, s := range Holds(l) {
			require.True(t, s.LockContext(ctx, l) == context.Canceled) //nolint:errorlint // that very error
		}
	}
}

func rLockerReadLocks(t *testing.T, _ Kind, l Lock) {
	r := l.RLocker()
	r.Lock()
	r.Lock()
	RequireState(t, l, Read)
	r.Unlock()
	l.RUnlock()
	l.Lock()
	w := Queued(t, l, r.Lock)
	l.Unlock()
	locktest.Receive(t, w)
	l.RUnlock()
}

// A panic in a critical section leaves the lock unlocked if the unlock is deferred.
func panicWhileHolding(t *testing.T, _ Kind, l Lock) {
	for _, s := range Holds(l) {
		require.PanicsWithValue(t, "in the critical section", func() {
			s.Lock(l)
			defer s.Unlock(l)
			panic("in the critical section")
		})
		RequireState(t, l, Unlocked)
	}
	if u, ok := l.(UpgradableLock); ok {
		require.Panics(t, func() {
			u.ULock()
			u.Upgrade()
			defer u.Unlock()
			panic("in the critical section")
		})
	}
}
