package rwtest

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/futuretest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var futures = []test{
	{"Future", once(futureContract)},
	{"FutureChangedPastItsBackIsNamed", once(futureChangedPastItsBackIsNamed)},
	{"FutureMayBeUpgradedAndDowngraded", once(futureMayBeUpgradedAndDowngraded)},
}

func futureContract(t *testing.T, k Kind, l Lock) {
	for _, s := range Holds(l) {
		t.Run(s.String(), func(t *testing.T) {
			futuretest.Run(t, futuretest.Kind{
				Shared: s == Read,
				Brief:  s != Read,
				New: func() futuretest.Lock {
					l := k.New()
					return futuretest.Lock{
						Bind:     func(f *waiter.Future) { k.Bind(f, l, s) },
						GiveBack: func() { s.Unlock(l) },
						Lock:     l.Lock,
						Unlock:   l.Unlock,
						TryLock:  l.TryLock,
						Waits:    l.Waiting,
					}
				},
			})
			f := k.future(l, s) // it holds the lock as it was asked for
			for range 2 {
				requirePolled(t, f)
				RequireState(t, l, s)
				f.Release()
				RequireState(t, l, Unlocked)
				k.Bind(f, l, s)
			}
			requirePolled(t, f)
			require.NoError(t, f.Take())
			RequireState(t, l, s)
			s.Unlock(l)
			RequireState(t, l, Unlocked)
		})
	}
}

// A caller that upgrades or downgrades by the methods of the lock what a future still holds learns
// of it at the Release, if no other goroutine holds it likewise by then.
func futureChangedPastItsBackIsNamed(t *testing.T, k Kind, l Lock) {
	u, ok := l.(UpgradableLock)
	if !ok {
		t.Skip("there are no upgradable readers")
	}
	for s, change := range map[State]func(){Upgradable: u.Upgrade, Write: u.Downgrade} {
		f := k.future(l, s)
		requirePolled(t, f)
		change()
		text := require.PanicOf(f.Release)
		require.Contains(t, text, "already, without Take")
		if s == Write {
			l.RUnlock()
		} else {
			l.Unlock()
		}
		RequireState(t, l, Unlocked)
	}
}

// After Take, a caller that upgrades or downgrades what a future has locked ends it by the methods
// of the lock.
func futureMayBeUpgradedAndDowngraded(t *testing.T, k Kind, l Lock) {
	u, ok := l.(UpgradableLock)
	if !ok {
		t.Skip("there are no upgradable readers")
	}
	f := k.future(l, Upgradable)
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Take())
	u.Upgrade()
	u.Downgrade()
	f.Release() // which has nothing
	RequireState(t, l, Read)
	l.RUnlock()
	RequireState(t, l, Unlocked)
}

// requirePolled polls a request for a lock that is free. With a bias the first poll may have to end
// that, and then the next one finds the grant.
func requirePolled(t *testing.T, f *waiter.Future) {
	t.Helper()
	ok := f.Poll(nil)
	if !ok {
		ok = f.Poll(nil)
	}
	require.True(t, ok)
}
