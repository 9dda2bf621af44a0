//go:build !interleave

package mutextest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// What needs the real signals and pools.
var bubbles = []test{
	{"WaitingIsDurablyBlocked", waitingIsDurablyBlocked},
	{"WaitersDoNotCrossBubbles", waitersDoNotCrossBubbles},
	{"WaitingAllocatesNothing", waitingAllocatesNothing},
	{"GivingUpAllocatesNothing", givingUpAllocatesNothing},
	{"FreeMutexNeedsNoChannelOfAContext", freeMutexNeedsNoChannelOfAContext},
}

func waitingIsDurablyBlocked(t *testing.T, k kind) {
	synctest.Test(t, func(t *testing.T) {
		m := k.mutex()
		m.Lock()
		ctx, cancel := context.WithCancel(t.Context())
		timeout, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		got := make(chan string, 9)
		waiting := 2
		go func() { got <- "cancelled " + m.LockContext(ctx).Error() }()
		go func() { got <- "timed out " + m.LockContext(timeout).Error() }()
		fair, isFair := m.(Mutex)
		if isFair {
			waiting++
			go func() {
				if !fair.LockTimeout(2 * time.Minute) {
					got <- "timed out too"
				}
			}()
		}
		synctest.Wait() // returns only because all of them are durably blocked
		for _, w := range k.ways() {
			waiting++
			go func() {
				if w.lock(bg, m) == nil {
					got <- w.name
				}
			}()
			synctest.Wait()
		}
		require.Equal(t, waiting, m.Waiting())
		require.Empty(t, got)
		cancel()
		synctest.Wait()
		require.Equal(t, "cancelled context canceled", <-got)
		start := time.Now()
		require.Equal(t, "timed out context deadline exceeded", <-got)
		require.Equal(t, time.Minute, time.Since(start))
		if isFair {
			require.Equal(t, "timed out too", <-got)
			require.Equal(t, 2*time.Minute, time.Since(start))
		}
		for _, w := range k.ways() {
			m.Unlock()
			synctest.Wait()
			require.Equal(t, w.name, <-got)
			require.Empty(t, got)
		}
		m.Unlock()
		RequireFree(t, m)
	})
}

// One mutex is used outside, in a bubble, outside, in another bubble. A parker or a channel that
// crossed a border would end the process.
func waitersDoNotCrossBubbles(t *testing.T, k kind) {
	m := k.mutex()
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	use := func(t *testing.T) {
		inner, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for range 30 { // often enough for every kind of reuse, and for a watch on each context
			for _, ctx := range []context.Context{bg, inner, outer} {
				m.Lock()
				var got []<-chan error
				for _, w := range k.ways() {
					got = append(got, queued(t, ctx, m, w))
				}
				for _, c := range got {
					m.Unlock()
					require.NoError(t, <-c)
				}
				m.Unlock()
			}
		}
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
	RequireFree(t, m)
}

func waitingAllocatesNothing(t *testing.T, k kind) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	deadline, stop := context.WithTimeout(bg, time.Hour)
	defer stop()
	for name, c := range map[string]context.Context{"background": bg, "cancellable": ctx, "deadline": deadline} {
		for _, w := range k.ways() {
			if w.name == "Done" || w.name == "Poll" {
				continue // they make a future each time
			}
			t.Run(w.name+"/"+name, func(t *testing.T) {
				m := k.mutex()
				require.Zero(t, locktest.AllocsPerWait(m, m.Lock, m.Unlock, func() {
					_ = w.lock(c, m)
					m.Unlock()
				}))
			})
		}
	}
	t.Run("uncontended", func(t *testing.T) {
		m := k.mutex()
		require.Zero(t, testing.AllocsPerRun(200, func() {
			m.Lock()
			m.Unlock() //nolint:staticcheck // nothing in between, on purpose
			if m.LockContext(ctx) == nil {
				m.Unlock()
			}
		}))
	})
}

func givingUpAllocatesNothing(t *testing.T, k kind) {
	m, ok := k.mutex().(Mutex)
	if !ok {
		t.Skip("there are no timeouts")
	}
	locktest.SkipUnderRace(t)
	m.Lock()
	require.Zero(t, locktest.AllocsPerTimeout(200, func() {
		if m.LockTimeout(20 * time.Microsecond) {
			panic("locked")
		}
	}))
	m.Unlock()
	RequireFree(t, m)
}

func freeMutexNeedsNoChannelOfAContext(t *testing.T, k kind) {
	m := k.mutex()
	locktest.RequireNoChannel(t, m.LockContext)
	m.Unlock()
	RequireFree(t, m)
}
