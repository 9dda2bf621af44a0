package rwlock_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

func TestGuardExcludes(t *testing.T) {
	var g rwlock.Guard[[2]int]
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	write := func(v *[2]int) { v[0]++; runtime.Gosched(); v[1]++ }
	read := func(v *[2]int) {
		if a := *v; a[0] != a[1] {
			t.Error("read while it was written")
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				switch i % 4 {
				case 0:
					g.Write(write)
				case 1:
					_ = g.WriteContext(ctx, write)
				case 2:
					g.Read(read)
				default:
					_ = g.ReadContext(ctx, read)
				}
			}
		})
	}
	wg.Wait()
	g.Read(func(v *[2]int) { require.Equal(t, [2]int{800, 800}, *v) })
}

func TestGuardUnlocksHoweverItsFunctionEnds(t *testing.T) {
	g := rwlock.NewGuard(1)
	boom := func(*int) { panic("boom") }
	require.Panics(t, func() { g.Write(boom) })
	require.Panics(t, func() { g.Read(boom) })
	require.Panics(t, func() { _ = g.WriteContext(bg, boom) })
	require.Panics(t, func() { _ = g.ReadContext(bg, boom) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Write(func(v *int) { *v = 2; runtime.Goexit() })
	}()
	<-done
	require.True(t, g.RWLock().TryLock())
	g.RWLock().Unlock()
	g.Read(func(v *int) { require.Equal(t, 2, *v) })
}

func TestGuardGivesUp(t *testing.T) {
	g := rwlock.NewGuard(1)
	never := func(*int) { t.Error("called without the lock") }
	done, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, g.WriteContext(done, never), context.Canceled)
	require.ErrorIs(t, g.ReadContext(done, never), context.Canceled)
	g.Write(func(*int) {
		soon, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.ReadContext(soon, never), context.DeadlineExceeded)
		require.ErrorIs(t, g.WriteContext(soon, never), context.DeadlineExceeded)
	})
	require.Panics(t, func() { _ = g.ReadContext(nil, never) })  //nolint:staticcheck // on purpose
	require.Panics(t, func() { _ = g.WriteContext(nil, never) }) //nolint:staticcheck // on purpose
}

// Readers are let in together.
func TestGuardIsReadByMany(t *testing.T) {
	g := rwlock.NewGuard("value")
	g.Read(func(*string) {
		inside := make(chan struct{})
		go g.Read(func(*string) { close(inside) })
		locktest.Receive(t, inside)
	})
}

// A goroutine that has locked the guard by a future, or by the methods of its lock, gets at the
// value. Value panics while no goroutine has locked the guard.
func TestGuardGivesItsValueToTheHolder(t *testing.T) {
	g := rwlock.NewGuard(1)
	l := g.RWLock()
	none := func() {
		require.PanicsWithValue(t, "rwlock: Guard.Value of a guard that is not locked", func() { g.Value() })
		requireFree(t, l)
	}
	none()
	for _, s := range rwtest.Holds(l) {
		var f waiter.Future
		bindAs(&f, l, s)
		none()
		locktest.Receive(t, f.Done())
		require.Equal(t, 1, *g.Value())
		f.Release()
		none()
		s.Lock(l)
		require.Equal(t, 1, *g.Value())
		s.Unlock(l)
		none()
	}
	l.ULock()
	if *g.Value() == 1 {
		l.Upgrade()
		*g.Value() = 2
		l.Downgrade()
	}
	require.Equal(t, 2, *g.Value())
	l.RUnlock()
	g.Read(func(v *int) { require.True(t, v == g.Value()) })
	none()
}
