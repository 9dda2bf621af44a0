package mutex_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

func TestGuardLocksWhileItsFunctionRuns(t *testing.T) {
	g := mutex.NewGuard(1)
	increment := func(n *int) {
		require.False(t, g.Mutex().TryLock(), "another goroutine gets at the value")
		*n++
	}
	g.Do(increment)
	requireFree(t, g.Mutex())
	require.NoError(t, g.DoContext(bg, increment))
	requireFree(t, g.Mutex())
	g.Do(func(n *int) { require.Equal(t, 3, *n) })
}

func TestGuardUnlocksHoweverItsFunctionEnds(t *testing.T) {
	g := mutex.NewGuard(1)
	boom := func(n *int) { *n++; panic("boom") }
	require.PanicsWithValue(t, "boom", func() { g.Do(boom) })
	requireFree(t, g.Mutex())
	require.PanicsWithValue(t, "boom", func() { _ = g.DoContext(bg, boom) })
	requireFree(t, g.Mutex())
	for _, do := range []func(f func(*int)){g.Do, func(f func(*int)) { _ = g.DoContext(bg, f) }} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(func(n *int) { *n++; runtime.Goexit() })
		}()
		locktest.Receive(t, done)
		requireFree(t, g.Mutex())
	}
	g.Do(func(n *int) { require.Equal(t, 5, *n, "not as the functions have left it") })
}

func TestGuardGivesUp(t *testing.T) {
	g := mutex.NewGuard(1)
	never := func(*int) { t.Error("called without the lock") }
	done, cancel := context.WithCancel(bg)
	cancel()
	refused := func() { require.ErrorIs(t, g.DoContext(done, never), context.Canceled) }
	refused()
	g.Do(func(*int) { refused() })
	//nolint:staticcheck // on purpose
	require.PanicsWithValue(t, "mutex: nil context", func() { _ = g.DoContext(nil, never) })
	requireFree(t, g.Mutex())
}

// A goroutine that has locked the mutex of the guard gets the value. No goroutine gets it while the
// guard is unlocked.
func TestGuardGivesItsValueToWhatHoldsItsMutex(t *testing.T) {
	g := mutex.NewGuard(1)
	none := func() {
		require.PanicsWithValue(t, "mutex: Guard.Value of a guard that is not locked", func() { g.Value() })
	}
	none()
	var f waiter.Future
	g.Mutex().Bind(&f)
	none()
	locktest.Receive(t, f.Done())
	*g.Value()++
	require.False(t, g.Mutex().TryLock())
	f.Release()
	none()
	require.True(t, g.Mutex().TryLock())
	*g.Value()++
	g.Mutex().Unlock()
	none()
	g.Do(func(v *int) {
		require.Equal(t, 3, *v)
		require.True(t, v == g.Value())
	})
	none()
}
