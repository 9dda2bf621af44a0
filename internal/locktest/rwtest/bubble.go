//go:build !interleave

package rwtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// The bubbles need the real signals and pools.
var bubbles = []test{
	{"TimeoutsTakeExactlyTheirTime", inBubble(timeoutsTakeExactlyTheirTime)},
	{"WaitingIsDurablyBlocked", inBubble(waitingIsDurablyBlocked)},
	{"WaitersDoNotCrossBubbles", once(waitersDoNotCrossBubbles)},
	{"WaitingAllocatesNothing", waitingAllocatesNothing},
	{"GivingUpAllocatesNothing", once(givingUpAllocatesNothing)},
	{"UncontendedAllocatesNothing", once(uncontendedAllocatesNothing)},
	{"FreeLockNeedsNoChannelOfAContext", once(freeLockNeedsNoChannelOfAContext)},
}

// inBubble is once in a bubble.
func inBubble(f func(t *testing.T, k Kind, l Lock)) func(t *testing.T, k Kind) {
	return func(t *testing.T, k Kind) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { once(f)(t, k) })
	}
}

func timeoutsTakeExactlyTheirTime(t *testing.T, _ Kind, l Lock) {
	takes := func(d time.Duration, f func() bool) {
		t.Helper()
		start := time.Now()
		require.False(t, f())
		require.Equal(t, d, time.Since(start))
	}
	conflicts(l, func(held, wanted State) {
		held.Lock(l)
		takes(time.Second, func() bool { return wanted.LockTimeout(l, time.Second) })
		takes(0, func() bool { return wanted.LockTimeout(l, 0) })
		takes(time.Minute, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := wanted.LockContext(ctx, l)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return err == nil
		})
		held.Unlock(l)
	})
	u, ok := l.(UpgradableLock)
	if !ok {
		return
	}
	u.RLock()
	takes(time.Second, func() bool { return u.LockTimeout(time.Second) })
	u.ULock()
	takes(time.Second, func() bool { return u.ULockTimeout(time.Second) })
	takes(time.Second, func() bool { return u.UpgradeTimeout(time.Second) })
	takes(time.Minute, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := u.UpgradeContext(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err == nil
	})
	takes(0, func() bool { return u.UpgradeTimeout(-1) })
	u.UUnlock()
	u.RUnlock()
}

func waitingIsDurablyBlocked(t *testing.T, k Kind, l Lock) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, s := range Holds(l) {
		l.Lock()
		got := make(chan string, 4)
		waiting := 3
		enter := func(how string) {
			got <- how
			s.Unlock(l)
		}
		go func() { s.Lock(l); enter("locked") }()
		go func() { require.NoError(t, s.LockContext(ctx, l)); enter("context") }()
		go func() { require.True(t, s.LockTimeout(l, time.Hour)); enter("timeout") }()
		if k.Bind != nil {
			waiting++
			go func() {
				f := k.future(l, s)
				<-f.Done()
				require.NoError(t, f.Take())
				enter("future")
			}()
		}
		synctest.Wait() // returns only because all of them are durably blocked
		require.Equal(t, waiting, l.Waiting())
		require.Empty(t, got)
		l.Unlock()
		synctest.Wait()
		require.Len(t, got, waiting)
	}

	l.RLock()
	written := false
	go func() { l.Lock(); written = true; l.Unlock() }()
	synctest.Wait()
	require.False(t, written)
	l.RUnlock()
	synctest.Wait()
	require.True(t, written)

	u, ok := l.(UpgradableLock)
	if !ok {
		return
	}
	u.RLock()
	u.ULock()
	upgraded := false
	go func() { u.Upgrade(); upgraded = true; u.Unlock() }()
	synctest.Wait()
	require.False(t, upgraded)
	u.RUnlock()
	synctest.Wait()
	require.True(t, upgraded)
}

// One lock is used outside, in a bubble, outside, in another bubble. A parker that crossed a border
// would end the process.
func waitersDoNotCrossBubbles(t *testing.T, k Kind, l Lock) {
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	use := func(t *testing.T) {
		inner, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for range 30 { // often enough for every kind of reuse, and for a watch on each context
			for _, ctx := range []context.Context{bg, inner, outer} {
				for _, s := range Holds(l) {
					l.Lock()
					got := make(chan error, 3)
					waiting := 2
					end := func(err error) { s.Unlock(l); got <- err }
					go func() { end(s.LockContext(ctx, l)) }()
					go func() { require.True(t, s.LockTimeout(l, time.Hour)); end(nil) }()
					if k.Bind != nil {
						waiting++
						go func() {
							f := k.future(l, s)
							<-f.Done()
							end(f.Take())
						}()
					}
					locktest.AwaitWaiting(t, l, waiting)
					l.Unlock()
					for range waiting {
						require.NoError(t, <-got)
					}
				}
			}
		}
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
}

// waitingAllocatesNothing is about waits that really wait, in the steady state. Only a future that
// is waited for by a channel allocates that.
func waitingAllocatesNothing(t *testing.T, k Kind) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	run := func(name string, channels float64, hold, letGo, wait func(l Lock)) {
		t.Run(name, func(t *testing.T) {
			once(func(t *testing.T, _ Kind, l Lock) {
				allocs := locktest.AllocsPerWait(l, func() { hold(l) }, func() { letGo(l) }, func() { wait(l) })
				require.Less(t, allocs-channels, 0.05)
			})(t, k)
		})
	}
	conflicts(k.New(), func(held, wanted State) {
		ways := map[string]func(l Lock){
			"plain":   wanted.Lock,
			"context": func(l Lock) { _ = wanted.LockContext(ctx, l) },
			"timeout": func(l Lock) { wanted.LockTimeout(l, time.Hour) },
		}
		if k.Bind != nil {
			f := new(waiter.Future)
			ways["future"] = func(l Lock) {
				k.Bind(f, l, wanted)
				<-f.Done()
				if f.Take() != nil {
					panic("not locked")
				}
			}
		}
		for name, lock := range ways {
			channels := 0.0
			if name == "future" {
				channels = 1 // that of Done
			}
			run(wanted.String()+" behind "+held.String()+", "+name, channels, held.Lock, held.Unlock, func(l Lock) {
				lock(l)
				wanted.Unlock(l)
			})
		}
	})
	if _, ok := k.New().(UpgradableLock); !ok {
		return
	}
	for name, upgrade := range map[string]func(l UpgradableLock){
		"plain":   UpgradableLock.Upgrade,
		"context": func(l UpgradableLock) { _ = l.UpgradeContext(ctx) },
		"timeout": func(l UpgradableLock) { l.UpgradeTimeout(time.Hour) },
	} {
		run("upgrade, "+name, 0, Read.Lock, Read.Unlock, func(l Lock) {
			u := l.(UpgradableLock)
			u.ULock()
			upgrade(u)
			u.Unlock()
		})
	}
}

func givingUpAllocatesNothing(t *testing.T, _ Kind, l Lock) {
	locktest.SkipUnderRace(t)
	const d = 20 * time.Microsecond
	conflicts(l, func(held, wanted State) {
		held.Lock(l)
		require.Zero(t, locktest.AllocsPerTimeout(200, func() {
			if wanted.LockTimeout(l, d) {
				panic("locked")
			}
		}))
		held.Unlock(l)
	})
	if u, ok := l.(UpgradableLock); ok {
		u.RLock()
		u.ULock()
		require.Zero(t, locktest.AllocsPerTimeout(200, func() {
			if u.LockTimeout(d) || u.ULockTimeout(d) || u.UpgradeTimeout(d) || u.TryUpgrade() {
				panic("locked")
			}
		}))
		u.UUnlock()
		u.RUnlock()
	}
}

func uncontendedAllocatesNothing(t *testing.T, _ Kind, l Lock) {
	observedtest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	holds := Holds(l)
	require.Zero(t, locktest.AllocsPerRun(2000, func() {
		for _, s := range holds {
			s.Lock(l)
			s.Unlock(l)
			_ = s.LockContext(ctx, l)
			s.Unlock(l)
			_ = s.LockTimeout(l, time.Hour)
			s.Unlock(l)
		}
	}))
	if u, ok := l.(UpgradableLock); ok {
		require.Zero(t, locktest.AllocsPerRun(200, func() {
			u.RLock()
			_ = u.RLockContext(ctx)
			_ = u.RLockTimeout(time.Hour)
			u.ULock()
			u.ForgoUpgrade()
			for range 4 {
				u.RUnlock()
			}
			u.Lock()
			u.DowngradeToUpgradable()
			u.Upgrade()
			u.Downgrade()
			u.RUnlock()
			_ = u.LockContext(ctx)
			u.Unlock()
		}))
	}
}

func freeLockNeedsNoChannelOfAContext(t *testing.T, _ Kind, l Lock) {
	for _, s := range Holds(l) {
		l.Lock()
		l.Unlock() //nolint:staticcheck // It ends the readers' bias, for which a writer would wait.
		locktest.RequireNoChannel(t, func(ctx context.Context) error { return s.LockContext(ctx, l) })
		s.Unlock(l)
	}
}

var upgradeBubbles = []test{{"TimeoutsReadmitReaders", inBubble(upgradable(timeoutsReadmitReaders))}}

// When a writer's time is up, the readers behind it join the readers that hold the lock at that
// moment.
func timeoutsReadmitReaders(t *testing.T, l UpgradableLock) {
	for name, giveUp := range map[string]func() bool{
		"writer":     func() bool { return l.LockTimeout(time.Second) },
		"upgradable": func() bool { return l.UpgradeTimeout(time.Second) },
	} {
		l.RLock()
		l.ULock()
		start := time.Now()
		go giveUp()
		synctest.Wait()
		in := make(chan time.Duration, 3)
		for range cap(in) {
			go func() {
				l.RLock()
				in <- time.Since(start)
				time.Sleep(time.Second)
				l.RUnlock()
			}()
		}
		synctest.Wait()
		require.Equal(t, 4, l.Waiting(), name)
		for range cap(in) {
			require.Equal(t, time.Second, <-in, name)
		}
		require.True(t, l.TryRLock(), name)
		l.RUnlock()
		time.Sleep(time.Second)
		synctest.Wait()
		l.UUnlock()
		l.RUnlock()
	}
}
