package semaphore_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A cap of an organisation that has grown does not make its users fail, though nobody waits.
func TestTryAfterACapHasChanged(t *testing.T) {
	var most atomic.Int64
	most.Store(2)
	s := cappedTree(&most)
	one, two := s.As("a/1"), s.As("a/2")
	require.True(t, one.TryAcquire(1))
	most.Store(4)
	for range 3 {
		require.True(t, two.TryAcquire(1), "4 are free, the cap is 4, 1 is held, and nobody waits")
		two.Release(1)
	}
	one.Release(1)
	requireIdle(t, s)
}

// A cap that grows while its tenant only owes holds for the next request within it.
func TestACapGrowsWhileItsTenantOwes(t *testing.T) {
	var most atomic.Int64
	most.Store(2)
	s := semaphore.New(5, semaphore.WithShares(nil), semaphore.WithParent(byPath),
		semaphore.WithDebit(semaphore.DebitCost),
		semaphore.WithMaxInUse(func(tenant any) int64 {
			if tenant == "a" {
				return most.Load()
			}
			return -1
		}))
	b := s.As("b")
	require.NoError(t, b.Acquire(bg, 4))
	require.NoError(t, s.As("a").Acquire(bg, 1))
	s.As("a").ReleaseCost(1, 1000)
	most.Store(5)
	waits := wait(t, s, "a/1", 3)
	b.Release(4)
	require.NoError(t, locktest.Receive(t, waits))
	s.As("a/1").Release(3)
	requireIdle(t, s)
}

// A program swaps the places of a and b while a path is asked for. Their caps hold.
func TestAPathThatTurnsRound(t *testing.T) {
	swapped, asked := false, 0
	s := semaphore.New(5, semaphore.WithShares(nil), semaphore.WithParent(func(tenant any) any {
		switch tenant {
		case "x", "z", "w":
			return "a"
		case "y":
			return "b"
		case "a":
			if asked++; asked == 1 {
				return "b"
			}
			swapped = true
		case "b":
			return "a"
		}
		return nil
	}), semaphore.WithMaxInUse(func(tenant any) int64 {
		if tenant == "a" {
			return 2
		}
		return -1
	}))
	require.True(t, s.As("x").TryAcquire(1))
	require.True(t, swapped)
	require.True(t, s.As("y").TryAcquire(1))
	s.As("x").Release(1)
	require.True(t, s.As("z").TryAcquire(2))
	s.As("y").Release(1)
	require.False(t, s.As("w").TryAcquire(1), "z holds both that a may hold")
	s.As("z").Release(2)
	requireIdle(t, s)
}

// A future whose request panics does not wait, and can be used again.
func TestAFutureWhoseFunctionPanicsAfterAnUpdate(t *testing.T) {
	var calls, panics atomic.Int64
	s := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithMaxInUse(func(tenant any) int64 {
		if tenant == "p" && calls.Add(1)%2 == 0 {
			panics.Add(1)
			panic("of the program")
		}
		return -1
	}))
	require.True(t, s.As("q").TryAcquire(1))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.As("q").Update()
				}
			}
		})
	}
	rounds := 10_000
	if locktest.Stress() {
		rounds = 1_000_000
	}
	ended := make(chan int)
	go func() {
		stuck := 0
		for range rounds {
			var f waiter.Future
			s.As("p").Bind(&f, 1)
			panicked := func() (p bool) {
				defer func() { p = recover() != nil }()
				f.Poll(nil)
				return
			}()
			if panicked {
				if w := s.Waiting(); w != 0 {
					panic("it waits")
				}
				func() {
					defer func() { _ = recover() }()
					if !f.Poll(nil) && s.Waiting() == 0 { // It says that it waits, and does not.
						stuck++
						ended <- stuck // Release would leave it to nobody, and the next Bind would wait for ever.
						runtime.Goexit()
					}
				}()
			}
			f.Release()
		}
		ended <- stuck
	}()
	stuck := <-ended
	close(stop)
	wg.Wait()
	require.Greater(t, panics.Load(), 0)
	require.Zero(t, stuck)
	s.As("q").Release(1)
}

// An untimely is a context that asks for more each time somebody is about to wait for it.
type untimely struct {
	context.Context
	waits func()
}

func (c untimely) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// A function that panics when it is called once more, after an Update, leaves no parker behind. One
// that waited for a context would stay with that until it ends.
func TestAPanicAfterAnUpdateLosesNoParker(t *testing.T) {
	locktest.SkipUnderRace(t)
	mad := false
	s := semaphore.New(1, semaphore.WithShares(nil), semaphore.WithMaxInUse(func(any) int64 {
		if mad {
			panic("mad")
		}
		return -1
	}))
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	require.True(t, s.TryAcquire(1))
	for range 20 { // The context is watched from then on.
		done := make(chan error)
		go func() { done <- s.Acquire(ctx, 1) }()
		locktest.Eventually(t, "nobody waits", func() bool { return s.Waiting() > 0 })
		s.Release(1)
		require.NoError(t, locktest.Receive(t, done))
	}
	panics := func(n int) {
		for range n {
			require.Panics(t, func() {
				_ = s.Acquire(untimely{ctx, func() {
					s.As("anybody").Update()
					mad = true
				}}, 1)
			})
			mad = false
		}
	}
	inUse := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	panics(10)
	before := inUse()
	panics(4000)
	require.Less(t, inUse()-before, int64(256<<10))
	require.Zero(t, s.Waiting())
	s.Release(1)
}

// A request that brings a larger cap along has others granted. Their wakers may ask the semaphore.
func TestNewsWakeWithoutTheLock(t *testing.T) {
	var most atomic.Int64
	most.Store(1)
	s := semaphore.New(5, semaphore.WithShares(nil), semaphore.WithMaxInUse(func(any) int64 { return most.Load() }))
	require.True(t, s.TryAcquire(1))
	var first, second waiter.Future
	s.Bind(&first, 1)
	waiting := -1
	require.False(t, first.Poll(waiter.WakerFunc(func() { waiting = s.Waiting() })))
	most.Store(2)
	s.Bind(&second, 1)
	require.False(t, second.Poll(nil))
	require.Equal(t, 1, waiting)
	require.NoError(t, first.Take())
	second.Release()
	s.Release(2)
	requireIdle(t, s)
}
