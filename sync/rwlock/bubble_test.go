//go:build !interleave

package rwlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/rwlock"
)

// forEachKindInBubble is forEachKind with a bubble for each.
func forEachKindInBubble(t *testing.T, f func(t *testing.T, l *rwlock.RWLock)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := k.make()
				f(t, l)
				requireFree(t, l)
			})
		})
	}
}

func TestTimeoutsTakeExactlyTheirTime(t *testing.T) {
	forEachKindInBubble(t, func(t *testing.T, l *rwlock.RWLock) {
		takes := func(d time.Duration, f func() bool) {
			t.Helper()
			start := time.Now()
			require.False(t, f())
			require.Equal(t, d, time.Since(start))
		}
		within := func(d time.Duration, lock func(context.Context) error) func() bool {
			return func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				err := lock(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return err == nil
			}
		}
		l.Lock()
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			takes(time.Second, func() bool { return timeoutLock(l, s)(time.Second) })
			takes(time.Minute, within(time.Minute, contextLock(l, s)))
			takes(0, func() bool { return timeoutLock(l, s)(0) })
		}
		l.Unlock()
		l.RLock()
		takes(time.Second, func() bool { return l.LockTimeout(time.Second) })
		l.ULock()
		takes(time.Second, func() bool { return l.ULockTimeout(time.Second) })
		takes(time.Second, func() bool { return l.UpgradeTimeout(time.Second) })
		takes(time.Minute, within(time.Minute, l.UpgradeContext))
		takes(0, func() bool { return l.UpgradeTimeout(-1) })
		l.UUnlock()
		l.RUnlock()
	})
}

// When a writer's time is up, the readers behind it go in at that moment, beside those who read.
func TestTimeoutsReadmitReaders(t *testing.T) {
	forEachKindInBubble(t, func(t *testing.T, l *rwlock.RWLock) {
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
	})
}

func TestWaitingIsDurablyBlocked(t *testing.T) {
	forEachKindInBubble(t, func(t *testing.T, l *rwlock.RWLock) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			l.Lock()
			got := make(chan string, 4)
			enter := func(how string) {
				got <- how
				unlockAs(l, s)
			}
			go func() { lockAs(l, s); enter("locked") }()
			go func() { require.NoError(t, contextLock(l, s)(ctx)); enter("context") }()
			go func() { require.True(t, timeoutLock(l, s)(time.Hour)); enter("timeout") }()
			go func() {
				var f rwlock.LockFuture
				initAs(&f, l, s)
				<-f.Done()
				require.NoError(t, f.Err())
				enter("future")
			}()
			synctest.Wait() // returns only because all of them are durably blocked
			require.Equal(t, 4, l.Waiting())
			require.Empty(t, got)
			l.Unlock()
			synctest.Wait()
			require.Len(t, got, 4)
		}

		l.RLock()
		l.ULock()
		upgraded := false
		go func() { l.Upgrade(); upgraded = true; l.Unlock() }()
		synctest.Wait()
		require.False(t, upgraded)
		l.RUnlock()
		synctest.Wait()
		require.True(t, upgraded)
	})
}

// One lock is used outside, in a bubble, outside, in another bubble. A parker that crossed a border
// would end the process.
func TestParkersDoNotCrossBubbles(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		outer, cancel := context.WithCancel(bg)
		defer cancel()
		use := func(t *testing.T) {
			ctx, cancel := context.WithTimeout(bg, time.Hour)
			defer cancel()
			for range 30 { // often enough for every kind of reuse, and for a watch on each context
				for _, c := range []context.Context{bg, ctx, outer} {
					for _, s := range []state{asReader, asUpgradable, asWriter} {
						l.Lock()
						got := make(chan error, 3)
						end := func(err error) { unlockAs(l, s); got <- err }
						go func() { end(contextLock(l, s)(c)) }()
						go func() { require.True(t, timeoutLock(l, s)(time.Hour)); end(nil) }()
						go func() {
							var f rwlock.LockFuture
							initAs(&f, l, s)
							<-f.Done()
							end(f.Err())
						}()
						locktest.AwaitWaiting(t, l, 3)
						l.Unlock()
						for range 3 {
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
	})
}
