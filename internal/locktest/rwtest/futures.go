package rwtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/waiter"
)

var futures = []test{
	{"FutureInUseCannotBeInitialised", once(futureInUseCannotBeInitialised)},
	{"FutureCancelGivesBackWhatWasNotTaken", once(futureCancelGivesBackWhatWasNotTaken)},
	{"FutureUnlockGivesBackWhateverItHas", once(futureUnlockGivesBackWhateverItHas)},
	{"FutureUnlockedPastItsBackIsNamed", once(futureUnlockedPastItsBackIsNamed)},
	{"FutureMayBeUpgradedAndDowngraded", once(futureMayBeUpgradedAndDowngraded)},
}

func futureInUseCannotBeInitialised(t *testing.T, k Kind, l Lock) {
	for _, s := range Holds(l) {
		f := k.NewFuture()
		l.Lock()
		k.Init(f, l, s)
		require.False(t, f.Poll(nil))
		refused := func(why string) {
			t.Helper()
			for _, again := range Holds(l) {
				require.PanicsWithValue(
					t,
					k.Package+": Init of a future whose request has not ended",
					func() { k.Init(f, l, again) },
					why,
				)
			}
		}
		refused("it waits")
		l.Unlock()
		require.True(t, f.Complete())
		refused("it holds the lock")
		requirePolled(t, f)
		refused("a poll takes nothing over")
		require.NoError(t, f.Err())
		k.Init(f, l, s)
		f.Cancel() // not started
		RequireState(t, l, s)
		s.Unlock(l)
	}
}

func futureCancelGivesBackWhatWasNotTaken(t *testing.T, k Kind, l Lock) {
	for _, s := range Holds(l) {
		f := k.NewFuture()
		k.Init(f, l, s)
		require.ErrorIs(t, f.Err(), waiter.ErrPending)
		requirePolled(t, f) // a free lock is taken at once
		RequireState(t, l, s)
		f.Cancel()
		RequireState(t, l, Unlocked)

		l.Lock()
		k.Init(f, l, s)
		done := f.Done()
		require.Empty(t, done)
		require.ErrorIs(t, f.Err(), waiter.ErrPending)
		behind := Queued(t, l, l.Lock)
		l.Unlock()
		locktest.Receive(t, done)
		locktest.RequireBlocked(t, behind)
		f.Cancel()
		f.Cancel()
		locktest.Receive(t, behind)
		l.Unlock()

		k.Init(f, l, s)
		locktest.Receive(t, f.Done())
		require.NoError(t, f.Err())
		f.Cancel() // it has been taken: it is ours to unlock
		RequireState(t, l, s)
		s.Unlock(l)
		RequireState(t, l, Unlocked)
	}
}

// In every state, and of what was locked in every way: before the request is started, while it
// waits, when it is granted, and when it was taken.
func futureUnlockGivesBackWhateverItHas(t *testing.T, k Kind, l Lock) {
	k.NewFuture().Unlock() // not even initialised
	for _, s := range Holds(l) {
		f := k.NewFuture()
		twice := func() {
			t.Helper()
			f.Unlock()
			f.Unlock()
			f.Cancel()
			f.Unlock()
			RequireState(t, l, Unlocked)
		}
		k.Init(f, l, s)
		twice()
		requirePolled(t, f)
		RequireState(t, l, s)
		twice()
		requirePolled(t, f) // an unlocked future starts again
		require.NoError(t, f.Err())
		twice()

		for _, taken := range []bool{false, true} { // granted by an unlock, with another behind it
			l.Lock()
			k.Init(f, l, s)
			done := f.Done()
			behind := Queued(t, l, l.Lock)
			l.Unlock()
			locktest.Receive(t, done)
			locktest.Receive(t, f.Done()) // it stays readable
			if taken {
				require.NoError(t, f.Err())
			}
			locktest.RequireBlocked(t, behind)
			f.Unlock()
			require.False(t, f.Complete())
			locktest.Receive(t, behind)
			f.Unlock() // which is not its lock any more
			require.False(t, l.TryRLock(), "a third gets in")
			l.Unlock()
			twice()
		}

		l.Lock() // while it waits
		k.Init(f, l, s)
		require.False(t, f.Poll(nil))
		f.Unlock()
		require.Zero(t, l.Waiting())
		l.Unlock()
		twice()
	}
}

// A caller that unlocks the lock of a future by the methods of the lock, before Err or besides the
// future's Unlock, is told so if no other goroutine holds it likewise by then. So is a caller that
// upgrades or downgrades it.
func futureUnlockedPastItsBackIsNamed(t *testing.T, k Kind, l Lock) {
	changes := map[State]func(){Read: nil, Upgradable: nil, Write: nil}
	u, upgradable := l.(UpgradableLock)
	if upgradable {
		changes[Upgradable], changes[Write] = u.Upgrade, u.Downgrade
	}
	for _, s := range Holds(l) {
		for name, end := range map[string]func(f Future){
			"LockFuture.Cancel of": Future.Cancel,
			"LockFuture.Unlock of": Future.Unlock,
		} {
			f := k.NewFuture()
			misuse := func() {
				t.Helper()
				text := locktest.PanicOf(func() { end(f) })
				require.Regexp(t, "^"+k.Package+": (RW)?"+name, text)
				require.Contains(t, text, "already")
			}
			k.Init(f, l, s)
			requirePolled(t, f)
			s.Unlock(l)
			misuse()
			RequireState(t, l, Unlocked)
			if changes[s] == nil {
				continue
			}
			k.Init(f, l, s)
			requirePolled(t, f)
			changes[s]()
			misuse()
			if s == Write {
				l.RUnlock()
			} else {
				l.Unlock()
			}
			RequireState(t, l, Unlocked)
		}
	}
}

// After Err, a caller that upgrades or downgrades what a future has locked ends it by the methods
// of the lock.
func futureMayBeUpgradedAndDowngraded(t *testing.T, k Kind, l Lock) {
	u, ok := l.(UpgradableLock)
	if !ok {
		t.Skip("there are no upgradable readers")
	}
	f := k.future(l, Upgradable)
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Err())
	u.Upgrade()
	u.Downgrade()
	f.Cancel()
	f.Unlock() // which has nothing
	RequireState(t, l, Read)
	l.RUnlock()
	RequireState(t, l, Unlocked)
}

// requirePolled polls a request for a lock that is free. With a bias the first poll may have to end
// that, and then the next one finds the grant.
func requirePolled(t *testing.T, f Future) {
	t.Helper()
	ok := f.Poll(nil)
	if !ok {
		ok = f.Poll(nil)
	}
	require.True(t, ok)
}
