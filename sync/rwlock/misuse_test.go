package rwlock_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// What is said does not leave anything locked.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	var g rwlock.Guard[int]
	var waits waiter.Future
	l := new(rwlock.RWLock)
	l.Lock()
	l.BindRead(&waits)
	require.False(t, waits.Poll(nil))
	for text, calls := range map[string][]func(){
		"rwlock: nil context": {
			func() { _ = g.ReadContext(none, func(*int) {}) },
			func() { _ = g.WriteContext(none, func(*int) {}) },
		},
		"rwlock: Read of a nil function":         {func() { g.Read(nil) }},
		"rwlock: Write of a nil function":        {func() { g.Write(nil) }},
		"rwlock: ReadContext of a nil function":  {func() { _ = g.ReadContext(bg, nil) }},
		"rwlock: WriteContext of a nil function": {func() { _ = g.WriteContext(none, nil) }},
		"rwlock: future of a nil lock": {
			func() { (*rwlock.RWLock)(nil).Bind(new(waiter.Future)) },
			func() { (*rwlock.RWLock)(nil).BindRead(new(waiter.Future)) },
			func() { (*rwlock.RWLock)(nil).BindUpgradable(new(waiter.Future)) },
		},
		"farad: Bind of a future whose request has not ended: Release or Take ends it": {
			func() { l.Bind(&waits) },
			func() { l.BindUpgradable(&waits) },
		},
		"rwlock: Unlock of a lock that is unlocked or read-locked": {
			g.RWLock().Unlock,
		},
		"rwlock: RUnlock of a lock that is unlocked or write-locked": {
			l.RUnlock,
			l.RLocker().Unlock,
		},
		"rwlock: Downgrade of a lock that is unlocked or read-locked": {
			g.RWLock().Downgrade,
		},
		"rwlock: DowngradeToUpgradable of a lock that is unlocked or read-locked": {
			g.RWLock().DowngradeToUpgradable,
		},
		"rwlock: UUnlock of a lock that is unlocked, write-locked, or locked by readers alone": {
			l.UUnlock,
		},
		"rwlock: ForgoUpgrade of a lock that is unlocked, write-locked, or locked by readers alone": {
			l.ForgoUpgrade,
		},
		"rwlock: Upgrade of a lock that is unlocked, write-locked, or locked by readers alone": {
			l.Upgrade,
		},
	} {
		for i, call := range calls {
			require.PanicsWithValue(t, text, call, "call %d", i)
		}
	}
	require.Equal(t, 1, l.Waiting())
	waits.Release()
	l.Unlock()
	requireFree(t, l)
	requireFree(t, g.RWLock())
}
