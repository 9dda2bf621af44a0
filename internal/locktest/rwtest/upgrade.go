package rwtest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// What an [UpgradableLock] adds: see the other lists for upgradable readers as one more state.
var upgrade = []test{
	{"ManyReadersOneWriterOneUpgradable", once(upgradable(manyReadersOneWriterOneUpgradable))},
	{"QueuedUpgradableReaderBarsLaterReaders", once(upgradable(queuedUpgradableReaderBarsLaterReaders))},
	{"UpgradeGoesBeforeQueuedWriters", once(upgradable(upgradeGoesBeforeQueuedWriters))},
	{"UpgradeLetsNoReaderIn", once(upgradable(upgradeLetsNoReaderIn))},
	{"UpgradeWithoutReadersDoesNotWait", once(upgradable(upgradeWithoutReadersDoesNotWait))},
	{"UpgradableReadersExcludeEachOther", atEveryProcs(upgradable(upgradableReadersExcludeEachOther))},
	{"ReadModifyWriteWithUpgrades", atEveryProcs(upgradable(readModifyWriteWithUpgrades))},
	{"FailedUpgradeAdmitsTheReadersBehindIt", once(upgradable(failedUpgradeAdmitsTheReadersBehindIt))},
	{"TryUpgradeFailsBesideAReaderOnly", once(upgradable(tryUpgradeFailsBesideAReaderOnly))},
	{"ForgoUpgradeLetsAnotherUpgradableReaderIn", once(upgradable(forgoUpgradeLetsAnotherUpgradableReaderIn))},
	{"DowngradeAdmitsReadersButNoWriter", once(upgradable(downgradeAdmitsReadersButNoWriter))},
	{"DowngradeToUpgradableAdmitsReadersOnly", once(upgradable(downgradeToUpgradableAdmitsReadersOnly))},
	{"UpgradesAgainstReaders", atEveryProcs(upgradable(upgradesAgainstReaders))},
	{"FailedUpgradeLeavesTheUpgradableReader", failedUpgradeLeavesTheUpgradableReader},
	{"CancelInsideTheUpgradeWins", cancelInsideTheUpgradeWins},
}

// upgradable makes a test of a lock of one of an upgradable lock.
func upgradable(f func(t *testing.T, l UpgradableLock)) func(t *testing.T, k Kind, l Lock) {
	return func(t *testing.T, _ Kind, l Lock) { t.Helper(); f(t, l.(UpgradableLock)) }
}

// The context ends, and then the last reader leaves, at any point of the call.
func cancelInsideTheUpgradeWins(t *testing.T, k Kind) {
	hold := func() locktest.Held {
		l := k.New().(UpgradableLock)
		l.ULock()
		l.RLock()
		return locktest.Held{
			Wait:    l.UpgradeContext,
			Waiting: func() bool { return l.Waiting() > 0 },
			Free:    l.RUnlock,
			Release: l.DowngradeToUpgradable,
			After:   func(t *testing.T) { t.Helper(); RequireState(t, l, Upgradable); l.UUnlock() },
		}
	}
	locktest.RequireEarlierCancelWins(t, hold)
	panictest.RequireNothingLost(t, hold)
}

func manyReadersOneWriterOneUpgradable(t *testing.T, l UpgradableLock) {
	const n = 20
	for range n {
		require.True(t, l.TryRLock())
	}
	require.False(t, l.TryLock())
	require.True(t, l.TryULock(), "with readers there is room for an upgradable one")
	require.False(t, l.TryULock(), "but for one only")
	require.True(t, l.TryRLock(), "and readers still come in")
	require.False(t, l.TryLock())
	for range n + 1 {
		l.RUnlock()
	}
	require.False(t, l.TryLock(), "the upgradable reader reads")
	l.UUnlock()
	require.True(t, l.TryLock())
	require.False(t, l.TryRLock())
	require.False(t, l.TryULock())
	require.False(t, l.TryLock())
	l.Unlock()
}

// An upgradable reader that waits behind another bars the requests behind it, as the order wants.
func queuedUpgradableReaderBarsLaterReaders(t *testing.T, l UpgradableLock) {
	l.ULock()
	u := Queued(t, l, l.ULock)
	require.False(t, l.TryRLock())
	r := Queued(t, l, l.RLock)
	l.UUnlock()
	locktest.Receive(t, u)
	locktest.Receive(t, r)
	l.UUnlock()
	l.RUnlock()
}

func upgradeGoesBeforeQueuedWriters(t *testing.T, l UpgradableLock) {
	l.RLock()
	l.ULock()
	w := Queued(t, l, l.Lock)
	r := Queued(t, l, l.RLock)
	up := Queued(t, l, l.Upgrade)
	locktest.RequireBlocked(t, up)
	l.RUnlock()
	locktest.Receive(t, up)
	locktest.RequireBlocked(t, w)
	l.Unlock()
	locktest.Receive(t, w)
	locktest.RequireBlocked(t, r)
	l.Unlock()
	locktest.Receive(t, r)
	l.RUnlock()
}

func upgradeLetsNoReaderIn(t *testing.T, l UpgradableLock) {
	l.RLock()
	l.ULock()
	up := Queued(t, l, l.Upgrade)
	require.False(t, l.TryRLock())
	r := Queued(t, l, l.RLock)
	l.RUnlock()
	locktest.Receive(t, up)
	locktest.RequireBlocked(t, r)
	l.Unlock()
	locktest.Receive(t, r)
	l.RUnlock()
}

func upgradeWithoutReadersDoesNotWait(t *testing.T, l UpgradableLock) {
	for name, upgrade := range upgrades(l) {
		l.ULock()
		require.True(t, upgrade(), name)
		RequireState(t, l, Write)
		l.Unlock()
	}
	l.ULock()
	w := Queued(t, l, l.Lock)
	for name, upgrade := range upgrades(l) {
		require.True(t, upgrade(), "%s, with a writer in line", name)
		locktest.RequireBlocked(t, w)
		l.DowngradeToUpgradable()
	}
	require.False(t, l.TryRLock())
	l.UUnlock()
	locktest.Receive(t, w)
	l.Unlock()
}

func upgradableReadersExcludeEachOther(t *testing.T, l UpgradableLock) {
	l.ULock()
	require.False(t, l.TryULock())
	require.False(t, l.ULockTimeout(time.Millisecond))
	second := Queued(t, l, l.ULock)
	l.Upgrade()
	locktest.RequireBlocked(t, second)
	l.DowngradeToUpgradable()
	locktest.RequireBlocked(t, second)
	l.UUnlock()
	locktest.Receive(t, second)
	l.UUnlock()

	var d datum // only they use it, so it needs no writer
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range locktest.Scaled(2000) {
				l.ULock()
				d.a++
				runtime.Gosched()
				l.UUnlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 4*locktest.Scaled(2000), d.a)
}

// Several goroutines read first and write then. None waits for another to stop reading, and none
// writes over what another has written.
func readModifyWriteWithUpgrades(t *testing.T, l UpgradableLock) {
	rounds := locktest.Scaled(5000)
	var n int
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range rounds {
				l.ULock()
				seen := n
				if i%8 == 0 {
					runtime.Gosched()
				}
				l.Upgrade()
				n = seen + 1
				l.Unlock()
			}
		})
		wg.Go(func() {
			for range rounds {
				l.RLock()
				seen := n
				runtime.Gosched()
				if seen != n {
					t.Error("written while it was read")
				}
				l.RUnlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 4*rounds, n)
}

// Readers that came during an upgrade go in when the upgrade is given up, and join the readers that
// it waited for.
func failedUpgradeAdmitsTheReadersBehindIt(t *testing.T, l UpgradableLock) {
	ctx, cancel := context.WithCancel(bg)
	l.RLock()
	l.ULock()
	up := QueuedFor(t, l, func() error { return l.UpgradeContext(ctx) })
	a := Queued(t, l, l.RLock)
	u := Queued(t, l, l.ULock)
	b := Queued(t, l, l.RLock)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, up), context.Canceled)
	locktest.Receive(t, a)
	locktest.RequireBlocked(t, u)
	locktest.RequireBlocked(t, b)
	l.UUnlock()
	locktest.Receive(t, u)
	locktest.Receive(t, b)
	l.UUnlock()
	for range 3 {
		l.RUnlock()
	}
}

func tryUpgradeFailsBesideAReaderOnly(t *testing.T, l UpgradableLock) {
	l.ULock()
	l.RLock()
	l.RLock()
	require.False(t, l.TryUpgrade())
	l.RUnlock()
	require.False(t, l.TryUpgrade())
	l.RUnlock()
	require.True(t, l.TryUpgrade())
	l.Unlock()
}

func forgoUpgradeLetsAnotherUpgradableReaderIn(t *testing.T, l UpgradableLock) {
	l.ULock()
	u := Queued(t, l, l.ULock)
	l.ForgoUpgrade()
	locktest.Receive(t, u)
	require.False(t, l.TryUpgrade(), "the other still reads")
	l.RUnlock()
	require.True(t, l.TryUpgrade())
	l.Unlock()
}

func downgradeAdmitsReadersButNoWriter(t *testing.T, l UpgradableLock) {
	l.Lock()
	a, b := Queued(t, l, l.RLock), Queued(t, l, l.RLock)
	u := Queued(t, l, l.ULock)
	w := Queued(t, l, l.Lock)
	c := Queued(t, l, l.RLock)
	l.Downgrade()
	locktest.Receive(t, a)
	locktest.Receive(t, b)
	locktest.Receive(t, u)
	locktest.RequireBlocked(t, w)
	locktest.RequireBlocked(t, c)
	l.RUnlock()
	l.RUnlock()
	l.UUnlock()
	locktest.RequireBlocked(t, w)
	l.RUnlock()
	locktest.Receive(t, w)
	l.Unlock()
	locktest.Receive(t, c)
	l.RUnlock()

	l.Lock()
	l.Downgrade()
	RequireState(t, l, Read)
	l.RUnlock()
}

func downgradeToUpgradableAdmitsReadersOnly(t *testing.T, l UpgradableLock) {
	l.Lock()
	a := Queued(t, l, l.RLock)
	u := Queued(t, l, l.ULock)
	b := Queued(t, l, l.RLock)
	l.DowngradeToUpgradable()
	locktest.Receive(t, a)
	locktest.RequireBlocked(t, u)
	locktest.RequireBlocked(t, b)
	l.RUnlock()
	l.UUnlock()
	locktest.Receive(t, u)
	locktest.Receive(t, b)
	l.RUnlock()
	l.UUnlock()

	l.Lock()
	l.DowngradeToUpgradable()
	RequireState(t, l, Upgradable)
	l.UUnlock()
}

// Upgrades that give up at every point, against readers that come and go.
func upgradesAgainstReaders(t *testing.T, l UpgradableLock) {
	rounds := locktest.Scaled(5000)
	var d datum
	stop := make(chan struct{})
	var readers, upgraders sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l.RLock()
				if d.a != d.b {
					t.Error("written while it was read")
				}
				l.RUnlock()
				if runtime.GOMAXPROCS(0) == 1 {
					runtime.Gosched() // or each hand-off to a reader takes a slice of 10 ms
				}
			}
		})
	}
	for range 2 {
		upgraders.Go(func() {
			for i := range rounds {
				l.ULock()
				n, ok := d.a, false
				switch i % 3 {
				case 0:
					ok = l.UpgradeTimeout(time.Duration(1 + i%2000))
				case 1:
					ctx, cancel := context.WithCancel(bg)
					go cancel()
					ok = l.UpgradeContext(ctx) == nil
				default:
					ok = l.TryUpgrade()
				}
				require.Equal(require.GoOn(t), n, d.a)
				if !ok {
					l.UUnlock()
					continue
				}
				d.a++
				d.b++
				l.Unlock()
			}
		})
	}
	upgraders.Wait()
	close(stop)
	readers.Wait()
	require.Equal(t, d.a, d.b)
}

// upgrades are the ways to upgrade.
func upgrades(l UpgradableLock) map[string]func() bool {
	return map[string]func() bool{
		"plain":   func() bool { l.Upgrade(); return true },
		"try":     l.TryUpgrade,
		"context": func() bool { return l.UpgradeContext(bg) == nil },
		"timeout": func() bool { return l.UpgradeTimeout(time.Hour) },
	}
}

// A goroutine whose upgrade fails is still the upgradable reader, and nothing is left of the
// attempt.
func failedUpgradeLeavesTheUpgradableReader(t *testing.T, k Kind) {
	for name, upgrade := range map[string]func(t *testing.T, l UpgradableLock){
		"timeout": func(t *testing.T, l UpgradableLock) { require.False(t, l.UpgradeTimeout(time.Millisecond)) },
		"context": func(t *testing.T, l UpgradableLock) {
			ctx, cancel := context.WithTimeout(bg, time.Millisecond)
			defer cancel()
			require.ErrorIs(t, l.UpgradeContext(ctx), context.DeadlineExceeded)
		},
		"try":        func(t *testing.T, l UpgradableLock) { require.False(t, l.TryUpgrade()) },
		"no timeout": func(t *testing.T, l UpgradableLock) { require.False(t, l.UpgradeTimeout(0)) },
		"done context": func(t *testing.T, l UpgradableLock) {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			require.ErrorIs(t, l.UpgradeContext(ctx), context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			once(upgradable(func(t *testing.T, l UpgradableLock) {
				l.RLock()
				l.ULock()
				upgrade(t, l)
				RequireState(t, l, Upgradable)
				require.True(t, l.TryRLock(), "readers come in again")
				l.RUnlock()
				l.RUnlock()
				l.Upgrade()
				RequireState(t, l, Write)
				l.Unlock()

				// The same where a goroutine waits, and stays in line.
				l.RLock()
				l.ULock()
				w := Queued(t, l, l.Lock)
				r := Queued(t, l, l.RLock)
				upgrade(t, l)
				require.Equal(t, 2, l.Waiting())
				locktest.RequireBlocked(t, w)
				locktest.RequireBlocked(t, r)
				l.RUnlock()
				require.True(t, l.TryUpgrade(), "others wait, which does not matter")
				l.Unlock()
				locktest.Receive(t, w)
				l.Unlock()
				locktest.Receive(t, r)
				l.RUnlock()
			}))(t, k)
		})
	}
}
