package rwlock_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
)

func TestUpgradeGoesBeforeQueuedWriters(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.RLock()
		l.ULock()
		w := queued(t, l, l.Lock)
		r := queued(t, l, l.RLock)
		up := queued(t, l, l.Upgrade)
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
	})
}

// What only these locks do: see rwtest for reading and writing.
func TestUpgradableCancelInsideTheCallWins(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name+"/ULockContext", func(t *testing.T) {
			locktest.RequireEarlierCancelWins(t, func() locktest.Held {
				l := k.make()
				l.Lock()
				return locktest.Held{
					Wait:    l.ULockContext,
					Waiting: func() bool { return l.Waiting() > 0 },
					Free:    l.Unlock,
					After:   func(t *testing.T) { t.Helper(); requireState(t, l, asNobody) },
				}
			})
		})
		t.Run(k.name+"/UpgradeContext", func(t *testing.T) {
			locktest.RequireEarlierCancelWins(t, func() locktest.Held {
				l := k.make()
				l.ULock()
				l.RLock()
				return locktest.Held{
					Wait:    l.UpgradeContext,
					Waiting: func() bool { return l.Waiting() > 0 },
					Free:    l.RUnlock,
					After:   func(t *testing.T) { t.Helper(); requireState(t, l, asUpgradable); l.UUnlock() },
				}
			})
		})
	}
}

func TestUpgradeLetsNoReaderIn(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.RLock()
		l.ULock()
		up := queued(t, l, l.Upgrade)
		require.False(t, l.TryRLock())
		r := queued(t, l, l.RLock)
		l.RUnlock()
		locktest.Receive(t, up)
		locktest.RequireBlocked(t, r)
		l.Unlock()
		locktest.Receive(t, r)
		l.RUnlock()
	})
}

func TestUpgradeWithoutReadersDoesNotWait(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		for name, upgrade := range upgrades(l) {
			l.ULock()
			require.True(t, upgrade(), name)
			requireState(t, l, asWriter)
			l.Unlock()
		}
		l.ULock()
		w := queued(t, l, l.Lock)
		for name, upgrade := range upgrades(l) {
			require.True(t, upgrade(), "%s, with a writer in line", name)
			locktest.RequireBlocked(t, w)
			l.DowngradeU()
		}
		require.False(t, l.TryRLock())
		l.UUnlock()
		locktest.Receive(t, w)
		l.Unlock()
	})
}

// upgrades are the ways to upgrade.
func upgrades(l *rwlock.RWLock) map[string]func() bool {
	return map[string]func() bool{
		"plain":   func() bool { l.Upgrade(); return true },
		"try":     l.TryUpgrade,
		"context": func() bool { return l.UpgradeContext(bg) == nil },
		"timeout": func() bool { return l.UpgradeTimeout(time.Hour) },
	}
}

func TestUpgradableReadersExcludeEachOther(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		l.ULock()
		require.False(t, l.TryULock())
		require.False(t, l.ULockTimeout(time.Millisecond))
		second := queued(t, l, l.ULock)
		l.Upgrade()
		locktest.RequireBlocked(t, second)
		l.DowngradeU()
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
	})
}

// Two who both begin by reading and go on by writing: neither waits for the other to stop reading,
// and none writes over what the other has written.
func TestReadModifyWriteWithUpgrades(t *testing.T) {
	rounds := locktest.Scaled(5000)
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
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
						t.Error("written beside a reader")
					}
					l.RUnlock()
				}
			})
		}
		wg.Wait()
		require.Equal(t, 4*rounds, n)
	})
}

// Whoever does not get the write lock still is the upgradable reader, and nothing is left of the
// attempt.
func TestFailedUpgradeLeavesTheUpgradableReader(t *testing.T) {
	for name, upgrade := range map[string]func(t *testing.T, l *rwlock.RWLock){
		"timeout": func(t *testing.T, l *rwlock.RWLock) { require.False(t, l.UpgradeTimeout(time.Millisecond)) },
		"context": func(t *testing.T, l *rwlock.RWLock) {
			ctx, cancel := context.WithTimeout(bg, time.Millisecond)
			defer cancel()
			require.ErrorIs(t, l.UpgradeContext(ctx), context.DeadlineExceeded)
		},
		"try":        func(t *testing.T, l *rwlock.RWLock) { require.False(t, l.TryUpgrade()) },
		"no timeout": func(t *testing.T, l *rwlock.RWLock) { require.False(t, l.UpgradeTimeout(0)) },
		"done context": func(t *testing.T, l *rwlock.RWLock) {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			require.ErrorIs(t, l.UpgradeContext(ctx), context.Canceled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
				l.RLock()
				l.ULock()
				upgrade(t, l)
				requireState(t, l, asUpgradable)
				require.True(t, l.TryRLock(), "readers come in again")
				l.RUnlock()
				l.RUnlock()
				l.Upgrade()
				requireState(t, l, asWriter)
				l.Unlock()

				// And where somebody waits, who stays in line.
				l.RLock()
				l.ULock()
				w := queued(t, l, l.Lock)
				r := queued(t, l, l.RLock)
				upgrade(t, l)
				require.Equal(t, 2, l.Waiting())
				locktest.RequireBlocked(t, w)
				locktest.RequireBlocked(t, r)
				l.RUnlock()
				require.True(t, l.TryUpgrade(), "whoever waits")
				l.Unlock()
				locktest.Receive(t, w)
				l.Unlock()
				locktest.Receive(t, r)
				l.RUnlock()
			})
		})
	}
}

// Readers who came while somebody upgraded go in when it gives up, beside those it waited for.
func TestFailedUpgradeAdmitsTheReadersBehindIt(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		ctx, cancel := context.WithCancel(bg)
		l.RLock()
		l.ULock()
		up := rwtest.Queued(t, l, func() error { return l.UpgradeContext(ctx) })
		a := queued(t, l, l.RLock)
		u := queued(t, l, l.ULock)
		b := queued(t, l, l.RLock)
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
	})
}

func TestTryUpgradeFailsBesideAReaderOnly(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.ULock()
		l.RLock()
		l.RLock()
		require.False(t, l.TryUpgrade())
		l.RUnlock()
		require.False(t, l.TryUpgrade())
		l.RUnlock()
		require.True(t, l.TryUpgrade())
		l.Unlock()
	})
}

func TestUDowngradeLetsAnotherUpgradableReaderIn(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.ULock()
		u := queued(t, l, l.ULock)
		l.UDowngrade()
		locktest.Receive(t, u)
		require.False(t, l.TryUpgrade(), "the other still reads")
		l.RUnlock()
		require.True(t, l.TryUpgrade())
		l.Unlock()
	})
}

func TestDowngradeAdmitsReadersButNoWriter(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.Lock()
		a, b := queued(t, l, l.RLock), queued(t, l, l.RLock)
		u := queued(t, l, l.ULock)
		w := queued(t, l, l.Lock)
		c := queued(t, l, l.RLock)
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
		requireState(t, l, asReader)
		l.RUnlock()
	})
}

func TestDowngradeToUpgradableAdmitsReadersOnly(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.Lock()
		a := queued(t, l, l.RLock)
		u := queued(t, l, l.ULock)
		b := queued(t, l, l.RLock)
		l.DowngradeU()
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
		l.DowngradeU()
		requireState(t, l, asUpgradable)
		l.UUnlock()
	})
}

// Upgrades that give up at every point, against readers that come and go.
func TestUpgradesAgainstReaders(t *testing.T) {
	rounds := locktest.Scaled(5000)
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
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
						t.Error("written beside a reader")
					}
					l.RUnlock()
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
					assert.Equal(t, n, d.a)
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
	})
}
