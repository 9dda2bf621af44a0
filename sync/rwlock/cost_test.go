//go:build !interleave

package rwlock_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/rwlock"
)

func TestSizeIsAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(rwlock.RWLock{}))
	}
	require.LessOrEqual(t, unsafe.Sizeof(rwlock.LockFuture{}), uintptr(128))
}

// Waits that really wait, in the steady state.
func TestWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	type way struct {
		hold, letGo, lock, unlock func(l *rwlock.RWLock) // what the wait is for, and what it does
	}
	ways := map[string]way{}
	for _, s := range []state{asReader, asUpgradable, asWriter} {
		unlock := func(l *rwlock.RWLock) { unlockAs(l, s) }
		add := func(name string, lock func(l *rwlock.RWLock)) {
			ways[s.String()+", "+name] = way{(*rwlock.RWLock).Lock, (*rwlock.RWLock).Unlock, lock, unlock}
		}
		add("plain", func(l *rwlock.RWLock) { lockAs(l, s) })
		add("context", map[state]func(l *rwlock.RWLock){
			asReader:     func(l *rwlock.RWLock) { _ = l.RLockContext(ctx) },
			asUpgradable: func(l *rwlock.RWLock) { _ = l.ULockContext(ctx) },
			asWriter:     func(l *rwlock.RWLock) { _ = l.LockContext(ctx) },
		}[s])
		add("timeout", map[state]func(l *rwlock.RWLock){
			asReader:     func(l *rwlock.RWLock) { l.RLockTimeout(time.Hour) },
			asUpgradable: func(l *rwlock.RWLock) { l.ULockTimeout(time.Hour) },
			asWriter:     func(l *rwlock.RWLock) { l.LockTimeout(time.Hour) },
		}[s])
		f, init := new(rwlock.LockFuture), map[state]func(f *rwlock.LockFuture, l *rwlock.RWLock){
			asReader: (*rwlock.LockFuture).InitRead, asUpgradable: (*rwlock.LockFuture).InitU, asWriter: (*rwlock.LockFuture).Init,
		}[s]
		add("future", func(l *rwlock.RWLock) {
			init(f, l)
			<-f.Done()
			if f.Err() != nil {
				panic("not locked")
			}
		})
	}
	for name, upgrade := range map[string]func(l *rwlock.RWLock){
		"plain":   (*rwlock.RWLock).Upgrade,
		"context": func(l *rwlock.RWLock) { _ = l.UpgradeContext(ctx) },
		"timeout": func(l *rwlock.RWLock) { l.UpgradeTimeout(time.Hour) },
	} {
		ways["upgrade, "+name] = way{(*rwlock.RWLock).RLock, (*rwlock.RWLock).RUnlock, func(l *rwlock.RWLock) {
			l.ULock()
			upgrade(l)
		}, (*rwlock.RWLock).Unlock}
	}
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
				require.Less(t, locktest.AllocsPerWait(l, func() { w.hold(l) }, func() { w.letGo(l) }, func() {
					w.lock(l)
					w.unlock(l)
				}), 0.05)
			})
		})
	}
}

func TestGivingUpAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		l.RLock()
		l.ULock()
		require.Zero(t, locktest.AllocsPerRun(200, func() {
			const d = 20 * time.Microsecond
			if l.LockTimeout(d) || l.ULockTimeout(d) || l.UpgradeTimeout(d) || l.TryUpgrade() {
				panic("locked")
			}
		}))
		l.UUnlock()
		l.RUnlock()
	})
}

func TestUncontendedAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		require.Zero(t, locktest.AllocsPerRun(200, func() {
			l.RLock()
			_ = l.RLockContext(ctx)
			_ = l.RLockTimeout(time.Hour)
			l.ULock()
			l.UDowngrade()
			for range 4 {
				l.RUnlock()
			}
			l.Lock()
			l.DowngradeU()
			l.Upgrade()
			l.Downgrade()
			l.RUnlock()
			_ = l.LockContext(ctx)
			l.Unlock()
		}))
	})
}

func TestFastPathsAreInlined(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("64-bit atomics are calls on 32-bit machines")
	}
	out := locktest.GoTool(t, "build", "-gcflags=-m", "./sync/rwlock")
	for _, f := range []string{"RLock", "RUnlock", "Lock", "Unlock"} {
		require.Contains(t, out, "can inline (*RWLock)."+f+"\n")
	}
	for _, f := range []string{"TakeFirstRead", "GiveLastRead", "TakeAll", "GiveAll"} {
		require.Contains(t, out, "inlining call to engine.(*Engine)."+f)
	}
}

func TestVetSeesCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package copies

import "github.com/farad-go/farad/sync/rwlock"

func a(l rwlock.RWLock) {}
func b(f rwlock.LockFuture) {}
func c(g rwlock.Guard[int]) {}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Len(t, regexp.MustCompile(`passes lock by value`).FindAllString(out, -1), 3, out)
}
