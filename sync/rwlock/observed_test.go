//go:build !interleave

package rwlock_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/rwlock"
)

// A lock that is observed promises all that others do, and its record is empty in the end.
func TestObservedContract(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			if testing.Short() && locktest.RaceEnabled && k.name == "biased" {
				t.Skip("without a bias, because it is observed")
			}
			var all []*rwlock.RWLock
			rwtest.Run(t, contractOf(func() *rwlock.RWLock {
				l := k.make()
				records.Watch(l, t.Name(), observed.Holders)
				all = append(all, l)
				return l
			}))
			locks, _ := records.Read()
			for _, l := range locks {
				if l.Name == t.Name() && l.Free == l.Size && l.Waiting == 0 {
					require.Empty(t, l.Holders)
					require.Empty(t, l.Waiters)
					require.Zero(t, l.Unknown)
				}
			}
			for _, l := range all {
				records.Unwatch(l)
			}
		})
	}
}

// A guard is observed as its lock is, and has leaked if it is collected while it is held.
func TestObservedGuard(t *testing.T) {
	type guard = rwlock.Guard[map[string]int]
	require.PanicsWithValue(t, "observe: a nil *rwlock.Guard", func() { records.Watch((*guard)(nil), "", observed.Counts) })
	g := new(guard)
	read := observedtest.Watch(t, g, observed.Holders)
	g.Read(func(*map[string]int) { require.Len(t, read().Holders, 1) })
	require.Empty(t, read().Holders)

	level := records.All(observed.Holders)
	func() {
		g := rwlock.NewGuard(1)
		records.All(level)
		g.RWLock().Lock()
	}()
	locktest.Eventually(t, "the leak is found", func() bool {
		runtime.GC()
		found, _ := records.TakeLeaks()
		return slices.ContainsFunc(found, func(l records.Leak) bool { return l.What == "lock" && l.Permits > 1 })
	})
}

// Readers of a biased lock may never come to a slow path, by which others join.
func TestABiasedLockJoinsAsItIsMade(t *testing.T) {
	defer records.All(records.All(observed.Holders))
	l := rwlock.NewBiased()
	defer records.Unwatch(l)
	for range 2 {
		l.RLock()
		defer l.RUnlock()
	}
	locks, _ := records.Read()
	require.True(t, slices.ContainsFunc(locks, func(s records.Lock) bool {
		return s.Kind == "rwlock.RWLock" && len(s.Holders) == 2
	}))
}
