package rwlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/rwlock"
)

// endings are the methods that end or change a hold, by the state of the lock in which each is
// right.
var endings = map[string]struct {
	right state
	call  func(l *rwlock.RWLock)
}{
	"RUnlock":        {asReader, (*rwlock.RWLock).RUnlock},
	"RLocker.Unlock": {asReader, func(l *rwlock.RWLock) { l.RLocker().Unlock() }},
	"Unlock":         {asWriter, (*rwlock.RWLock).Unlock},
	"Downgrade":      {asWriter, (*rwlock.RWLock).Downgrade},
	"DowngradeU":     {asWriter, (*rwlock.RWLock).DowngradeU},
	"UUnlock":        {asUpgradable, (*rwlock.RWLock).UUnlock},
	"UDowngrade":     {asUpgradable, (*rwlock.RWLock).UDowngrade},
	"Upgrade":        {asUpgradable, (*rwlock.RWLock).Upgrade},
	"TryUpgrade":     {asUpgradable, func(l *rwlock.RWLock) { l.TryUpgrade() }},
	"UpgradeContext": {asUpgradable, func(l *rwlock.RWLock) { _ = l.UpgradeContext(bg) }},
	"UpgradeTimeout": {asUpgradable, func(l *rwlock.RWLock) { l.UpgradeTimeout(time.Hour) }},
}

// requireMisuse checks that f panics, with a text that says whose lock it is and that it is not
// locked so.
func requireMisuse(t *testing.T, f func()) {
	t.Helper()
	text := func() (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		f()
		return
	}()
	require.Contains(t, text, "rwlock: ")
	require.Contains(t, text, "unlocked")
}

func TestWrongUnlockPanicsAndChangesNothing(t *testing.T) {
	for name, ending := range endings {
		for _, s := range []state{asNobody, asReader, asUpgradable, asWriter} {
			if s == ending.right {
				continue
			}
			t.Run(name+" of "+s.String(), func(t *testing.T) {
				forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
					misuse := func() { requireMisuse(t, func() { ending.call(l) }) }
					lockAs(l, s)
					misuse()
					misuse()
					requireState(t, l, s)
					misuse()
					if s == asNobody {
						return
					}
					w := queued(t, l, l.Lock)
					misuse()
					r := queued(t, l, l.RLock)
					misuse()
					locktest.RequireBlocked(t, w)
					require.Equal(t, 2, l.Waiting())
					unlockAs(l, s)
					locktest.Receive(t, w)
					l.Unlock()
					locktest.Receive(t, r)
					l.RUnlock()
				})
			})
		}
	}
}

// As many unlocks as there were locks, and one more.
func TestOneUnlockTooManyPanics(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 100
		for range n {
			l.RLock()
		}
		l.ULock()
		for range n {
			l.RUnlock()
		}
		requireMisuse(t, l.RUnlock)
		requireState(t, l, asUpgradable)
		l.UUnlock()
		requireMisuse(t, l.UUnlock)
	})
}

// Unlocks at the same time, of which one is too many: one of them panics, and only one.
func TestConcurrentDoubleUnlockPanicsOnce(t *testing.T) {
	rounds := locktest.Scaled(5000)
	for _, s := range []state{asReader, asUpgradable, asWriter} {
		t.Run(s.String(), func(t *testing.T) {
			forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
				for range rounds {
					holders := 1
					if s == asReader {
						holders = 3
					}
					for range holders {
						lockAs(l, s)
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
							unlockAs(l, s)
						})
					}
					wg.Wait()
					require.EqualValues(t, 1, panics.Load())
				}
			})
		})
	}
}

func TestBadInput(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		var none context.Context
		l.ULock()
		for name, f := range map[string]func(){
			"lock":             func() { _ = l.LockContext(none) },
			"read-lock":        func() { _ = l.RLockContext(none) },
			"upgradable":       func() { _ = l.ULockContext(none) },
			"upgrade":          func() { _ = l.UpgradeContext(none) },
			"init":             func() { new(rwlock.LockFuture).Init(nil) },
			"init read":        func() { new(rwlock.LockFuture).InitRead(nil) },
			"init upgradable":  func() { new(rwlock.LockFuture).InitU(nil) },
			"poll before init": func() { new(rwlock.LockFuture).Poll(nil) },
			"done before init": func() { new(rwlock.LockFuture).Done() },
			"err before init":  func() { _ = new(rwlock.LockFuture).Err() },
		} {
			t.Run(name, func(t *testing.T) {
				defer func() { require.Contains(t, recover(), "rwlock: ") }()
				f()
			})
		}
		done, cancel := context.WithCancel(bg)
		cancel()
		require.ErrorIs(t, l.UpgradeContext(done), context.Canceled, "although nobody is in the way")
		require.False(t, l.UpgradeTimeout(0))
		require.False(t, l.UpgradeTimeout(-1))
		requireState(t, l, asUpgradable)
		l.UUnlock()
		new(rwlock.LockFuture).Cancel() // nothing to cancel
		require.False(t, new(rwlock.LockFuture).Complete())
		for _, d := range []time.Duration{0, -1} {
			require.False(t, l.LockTimeout(d))
			require.False(t, l.RLockTimeout(d))
			require.False(t, l.ULockTimeout(d))
		}
	})
}

// What is said does not leave anything locked.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	var g rwlock.Guard[int]
	var waits rwlock.LockFuture
	l := rwlock.New()
	l.Lock()
	waits.InitRead(l)
	require.False(t, waits.Poll(nil))
	for text, calls := range map[string][]func(){
		"rwlock: nil option": {
			func() { rwlock.New(nil) },
			func() { rwlock.New(rwlock.WithReaderBias(), nil) },
		},
		"rwlock: nil context": {
			func() { _ = g.ReadContext(none, func(*int) {}) },
			func() { _ = g.WriteContext(none, func(*int) {}) },
		},
		"rwlock: Read of a nil function":         {func() { g.Read(nil) }},
		"rwlock: Write of a nil function":        {func() { g.Write(nil) }},
		"rwlock: ReadContext of a nil function":  {func() { _ = g.ReadContext(bg, nil) }},
		"rwlock: WriteContext of a nil function": {func() { _ = g.WriteContext(none, nil) }},
		"rwlock: future of a nil lock": {
			func() { new(rwlock.LockFuture).Init(nil) },
			func() { new(rwlock.LockFuture).InitRead(nil) },
			func() { new(rwlock.LockFuture).InitU(nil) },
		},
		"rwlock: Init of a future whose request has not ended": {
			func() { waits.Init(l) },
			func() { waits.InitU(l) },
		},
		"rwlock: future without Init": {
			func() { new(rwlock.LockFuture).Poll(nil) },
			func() { new(rwlock.LockFuture).Done() },
			func() { _ = new(rwlock.LockFuture).Err() },
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
		"rwlock: DowngradeU of a lock that is unlocked or read-locked": {
			g.RWLock().DowngradeU,
		},
		"rwlock: UUnlock of a lock that is unlocked, write-locked, or locked by readers alone": {
			l.UUnlock,
		},
		"rwlock: UDowngrade of a lock that is unlocked, write-locked, or locked by readers alone": {
			l.UDowngrade,
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
	waits.Unlock()
	l.Unlock()
	requireFree(t, l)
	requireFree(t, g.RWLock())
}

func TestDoneContextNeverLocks(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		ctx, cancel := context.WithCancel(bg)
		cancel()
		for range 1000 {
			require.ErrorIs(t, l.LockContext(ctx), context.Canceled)
			require.ErrorIs(t, l.RLockContext(ctx), context.Canceled)
			require.ErrorIs(t, l.ULockContext(ctx), context.Canceled)
		}
	})
}

func TestFutureInUseCannotBeInitialised(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		inits := map[state]func(*rwlock.LockFuture, *rwlock.RWLock){
			asReader: (*rwlock.LockFuture).InitRead, asUpgradable: (*rwlock.LockFuture).InitU, asWriter: (*rwlock.LockFuture).Init,
		}
		for s, init := range inits {
			var f rwlock.LockFuture
			l.Lock()
			init(&f, l)
			require.False(t, f.Poll(nil))
			refused := func(why string) {
				for _, again := range inits {
					require.PanicsWithValue(
						t,
						"rwlock: Init of a future whose request has not ended",
						func() { again(&f, l) },
						why,
					)
				}
			}
			refused("it waits")
			l.Unlock()
			require.True(t, f.Complete())
			refused("it holds the lock")
			requirePolled(t, &f)
			refused("a poll takes nothing over")
			require.NoError(t, f.Err())
			init(&f, l)
			f.Cancel() // not started
			requireState(t, l, s)
			unlockAs(l, s)
		}
	})
}

func TestFutureCancelGivesBackWhatWasNotTaken(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			var f rwlock.LockFuture
			initAs(&f, l, s)
			require.ErrorIs(t, f.Err(), rwlock.ErrPending)
			requirePolled(t, &f) // a free lock is taken at once
			requireState(t, l, s)
			f.Cancel()
			requireFree(t, l)

			l.Lock()
			initAs(&f, l, s)
			done := f.Done()
			require.Empty(t, done)
			require.ErrorIs(t, f.Err(), rwlock.ErrPending)
			behind := queued(t, l, l.Lock)
			l.Unlock()
			locktest.Receive(t, done)
			locktest.RequireBlocked(t, behind)
			f.Cancel()
			f.Cancel()
			locktest.Receive(t, behind)
			l.Unlock()

			initAs(&f, l, s)
			locktest.Receive(t, f.Done())
			require.NoError(t, f.Err())
			f.Cancel() // it has been taken: it is ours to unlock
			requireState(t, l, s)
			unlockAs(l, s)
			requireFree(t, l)
		}
	})
}

// In every state, and of what was locked in every way: before the request is started, while it
// waits, when it is granted, and when it was taken.
func TestFutureUnlockGivesBackWhateverItHas(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		new(rwlock.LockFuture).Unlock() // not even initialised
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			var f rwlock.LockFuture
			twice := func() {
				t.Helper()
				f.Unlock()
				f.Unlock()
				f.Cancel()
				f.Unlock()
				requireFree(t, l)
			}
			initAs(&f, l, s)
			twice()
			requirePolled(t, &f)
			requireState(t, l, s)
			twice()
			requirePolled(t, &f) // an unlocked future starts again
			require.NoError(t, f.Err())
			twice()

			for _, taken := range []bool{false, true} { // granted by an unlock, with somebody behind it
				l.Lock()
				initAs(&f, l, s)
				done := f.Done()
				behind := queued(t, l, l.Lock)
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
			initAs(&f, l, s)
			require.False(t, f.Poll(nil))
			f.Unlock()
			require.Zero(t, l.Waiting())
			l.Unlock()
			twice()
		}
	})
}

// One who unlocks the lock of a future by the methods of the lock, before Err or besides the
// future's Unlock, or makes another hold of it, is told so if nobody else holds it likewise by
// then.
func TestFutureUnlockedPastItsBackIsNamed(t *testing.T) {
	changes := map[state]func(l *rwlock.RWLock){
		asReader: nil, asUpgradable: (*rwlock.RWLock).Upgrade, asWriter: (*rwlock.RWLock).Downgrade,
	}
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		for s, change := range changes {
			for name, end := range map[string]func(f *rwlock.LockFuture){
				"rwlock: LockFuture.Cancel of": (*rwlock.LockFuture).Cancel,
				"rwlock: LockFuture.Unlock of": (*rwlock.LockFuture).Unlock,
			} {
				var f rwlock.LockFuture
				misuse := func() {
					t.Helper()
					var text any
					func() {
						defer func() { text = recover() }()
						end(&f)
					}()
					require.Contains(t, text, name)
					require.Contains(t, text, "already")
				}
				initAs(&f, l, s)
				requirePolled(t, &f)
				unlockAs(l, s)
				misuse()
				requireFree(t, l)
				if change == nil {
					continue
				}
				initAs(&f, l, s)
				requirePolled(t, &f)
				change(l)
				misuse()
				if s == asWriter {
					l.RUnlock()
				} else {
					l.Unlock()
				}
				requireFree(t, l)
			}
		}
	})
}

// Who upgrades or downgrades what a future has got ends it by the methods of the lock, after Err.
func TestFutureMayBeUpgradedAndDowngraded(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		var f rwlock.LockFuture
		f.InitU(l)
		locktest.Receive(t, f.Done())
		require.NoError(t, f.Err())
		l.Upgrade()
		l.Downgrade()
		f.Cancel()
		f.Unlock() // which has nothing
		requireState(t, l, asReader)
		l.RUnlock()
		requireFree(t, l)
	})
}

// A panic in a critical section leaves the lock unlocked if the unlock is deferred.
func TestPanicWhileHolding(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			require.PanicsWithValue(t, "in the critical section", func() {
				lockAs(l, s)
				defer unlockAs(l, s)
				panic("in the critical section")
			})
			requireFree(t, l)
		}
		require.Panics(t, func() {
			l.ULock()
			l.Upgrade()
			defer l.Unlock()
			panic("in the critical section")
		})
	})
}

// requirePolled polls a request for a lock that is free. With a bias the first poll may have to end
// that, and then the next one finds the grant.
func requirePolled(t *testing.T, f *rwlock.LockFuture) {
	t.Helper()
	ok := f.Poll(nil)
	if !ok {
		ok = f.Poll(nil)
	}
	require.True(t, ok)
}
