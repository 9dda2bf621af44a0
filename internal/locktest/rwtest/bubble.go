//go:build !interleave

package rwtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// What needs the real signals and pools.
var bubbles = []test{
	{"TimeoutsTakeExactlyTheirTime", inBubble(timeoutsTakeExactlyTheirTime)},
	{"WaitingIsDurablyBlocked", inBubble(waitingIsDurablyBlocked)},
	{"WaitersDoNotCrossBubbles", once(waitersDoNotCrossBubbles)},
	{"WaitingAllocatesNothing", waitingAllocatesNothing},
	{"GivingUpAllocatesNothing", once(givingUpAllocatesNothing)},
	{"UncontendedAllocatesNothing", once(uncontendedAllocatesNothing)},
}

// inBubble is once in a bubble.
func inBubble(f func(t *testing.T, l Lock)) func(t *testing.T, create func() Lock) {
	return func(t *testing.T, create func() Lock) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { once(f)(t, create) })
	}
}

func timeoutsTakeExactlyTheirTime(t *testing.T, l Lock) {
	takes := func(d time.Duration, f func() bool) {
		t.Helper()
		start := time.Now()
		require.False(t, f())
		require.Equal(t, d, time.Since(start))
	}
	for _, s := range holds {
		s.lock(l)
		for _, who := range holds {
			if s == asReader && who == asReader {
				continue
			}
			takes(time.Second, func() bool { return who.lockTimeout(l, time.Second) })
			takes(0, func() bool { return who.lockTimeout(l, 0) })
			takes(time.Minute, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := who.lockContext(ctx, l)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return err == nil
			})
		}
		s.unlock(l)
	}
}

func waitingIsDurablyBlocked(t *testing.T, l Lock) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, s := range holds {
		l.Lock()
		got := make(chan string, 3)
		enter := func(how string) {
			got <- how
			s.unlock(l)
		}
		go func() { s.lock(l); enter("locked") }()
		go func() { require.NoError(t, s.lockContext(ctx, l)); enter("context") }()
		go func() { require.True(t, s.lockTimeout(l, time.Hour)); enter("timeout") }()
		synctest.Wait() // returns only because all of them are durably blocked
		require.Equal(t, 3, l.Waiting())
		require.Empty(t, got)
		l.Unlock()
		synctest.Wait()
		require.Len(t, got, 3)
	}
	l.RLock()
	written := false
	go func() { l.Lock(); written = true; l.Unlock() }()
	synctest.Wait()
	require.False(t, written)
	l.RUnlock()
	synctest.Wait()
	require.True(t, written)
}

// One lock is used outside, in a bubble, outside, in another bubble. A parker that crossed a border
// would end the process.
func waitersDoNotCrossBubbles(t *testing.T, l Lock) {
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	use := func(t *testing.T) {
		inner, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for range 30 { // often enough for every kind of reuse, and for a watch on each context
			for _, ctx := range []context.Context{bg, inner, outer} {
				for _, s := range holds {
					l.Lock()
					got := make(chan error, 2)
					end := func(err error) { s.unlock(l); got <- err }
					go func() { end(s.lockContext(ctx, l)) }()
					go func() { require.True(t, s.lockTimeout(l, time.Hour)); end(nil) }()
					locktest.AwaitWaiting(t, l, 2)
					l.Unlock()
					for range 2 {
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

// Waits that really wait, in the steady state.
func waitingAllocatesNothing(t *testing.T, create func() Lock) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for _, held := range holds {
		for _, s := range holds {
			if held == asReader && s == asReader {
				continue
			}
			for name, lock := range map[string]func(l Lock){
				"plain":   s.lock,
				"context": func(l Lock) { _ = s.lockContext(ctx, l) },
				"timeout": func(l Lock) { s.lockTimeout(l, time.Hour) },
			} {
				t.Run(s.String()+" behind "+held.String()+", "+name, func(t *testing.T) {
					once(func(t *testing.T, l Lock) {
						require.Less(
							t,
							locktest.AllocsPerWait(l, func() { held.lock(l) }, func() { held.unlock(l) }, func() {
								lock(l)
								s.unlock(l)
							}),
							0.05,
						)
					})(t, create)
				})
			}
		}
	}
}

func givingUpAllocatesNothing(t *testing.T, l Lock) {
	locktest.SkipUnderRace(t)
	l.RLock()
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if l.LockTimeout(20 * time.Microsecond) {
			panic("locked")
		}
	}))
	l.RUnlock()
	l.Lock()
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if l.RLockTimeout(20 * time.Microsecond) {
			panic("locked")
		}
	}))
	l.Unlock()
}

func uncontendedAllocatesNothing(t *testing.T, l Lock) {
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		for _, s := range holds {
			s.lock(l)
			s.unlock(l)
			_ = s.lockContext(ctx, l)
			s.unlock(l)
			_ = s.lockTimeout(l, time.Hour)
			s.unlock(l)
		}
	}))
}
