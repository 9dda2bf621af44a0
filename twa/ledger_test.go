//go:build faradcheck

package twa_test

import (
	"context"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// With the tag a release too many is noticed even if others want what it returns.
func TestNoOverReleaseGoesUnnoticed(t *testing.T) {
	s := twa.New(1)
	require.True(t, s.TryAcquire(1))
	var f waiter.Future
	s.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	s.Release(1)
	f.Release() // granted, and given back: it is out of the book
	require.True(t, s.TryAcquire(1))
	waits := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, <-waits)

	// The permit is held. Two wait: one more release would serve the first, and a second the other.
	first, second := queued(t, bg, s, 1), queued(t, bg, s, 1)
	require.PanicsWithValue(t, tooMuch(2, 1, 1), func() { s.Release(2) })
	s.Release(1)
	require.NoError(t, <-first)
	s.Release(1)
	require.NoError(t, <-second)
	s.Release(1)
	requireIdle(t, s)
	require.PanicsWithValue(t, tooMuch(1, 0, 1), func() { s.Release(1) })
}

func TestNoUnlockTooManyGoesUnnoticed(t *testing.T) {
	var m twa.Mutex
	var f waiter.Future
	m.Lock()
	m.Bind(&f)
	require.False(t, f.Poll(nil))
	m.Unlock() // now it is the future's
	f.Release()
	require.PanicsWithValue(t, "twa: unlock of unlocked mutex", m.Unlock)
	require.NoError(t, m.LockContext(bg))
	m.Unlock()
	require.PanicsWithValue(t, "twa: unlock of unlocked mutex", m.Unlock)
}

// A request that gives up, at any point, leaves the ledger as it was.
func TestBookBalances(t *testing.T) {
	s := twa.New(2)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 2000 {
				ctx, cancel := context.WithCancel(bg)
				if i%2 == 0 {
					go cancel()
				}
				if s.Acquire(ctx, int64(1+i%2)) == nil {
					s.Release(int64(1 + i%2))
				}
				cancel()
			}
		})
	}
	wg.Wait()
	requireIdle(t, s)
	require.Panics(t, func() { s.Release(1) })
}
