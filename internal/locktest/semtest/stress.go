package semtest

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var stresses = []test{
	{"StressConservesPermits", stressConservesPermits},
	{"StressWithResizeConservesPermits", stressWithResizeConservesPermits},
	{"StressWithResizeHoldsNoMoreThanTheLargestSize", stressWithResizeHoldsNoMoreThanTheLargestSize},
}

// A stress uses a semaphore in every way, and knows how many permits are held.
type stress struct {
	t      *testing.T
	k      Kind
	s      Semaphore
	most   int64 // how many permits are acquired at most
	bound  int64 // how many may be held at a time
	held   atomic.Int64
	shared context.Context
	data   int // written with all permits, read with fewer, for the race detector to see missing edges
	whole  bool
}

func (x *stress) hold(n int64) {
	if h := x.held.Add(n); h > x.bound {
		x.t.Errorf("%d permits of at most %d are held", h, x.bound)
	}
	if x.whole && n == x.most {
		x.data++
	} else if x.data < 0 {
		x.t.Error("no number")
	}
	if x.held.Load()&1 == 0 {
		runtime.Gosched() // others come while it is held
	}
	x.held.Add(-n)
	x.s.Release(n)
}

// one acquires up to most permits in some way, and gives them back. f is nil if there are no
// futures.
func (x *stress) one(rng *rand.Rand, f *waiter.Future) {
	n := 1 + rng.Int64N(x.most)
	if rng.IntN(2) == 0 {
		n = 1
	}
	got, ways := false, 8
	if f != nil {
		ways = 12
		defer f.Release()
	}
	switch rng.IntN(ways) {
	case 0, 1:
		got = x.s.Acquire(x.shared, n) == nil
	case 2:
		got = x.s.Acquire(bg, n) == nil
	case 3:
		ctx, cancel := context.WithCancel(bg)
		go cancel()
		got = x.s.Acquire(ctx, n) == nil
		cancel()
	case 4:
		ctx, cancel := context.WithTimeout(bg, time.Duration(rng.IntN(3000)))
		got = x.s.Acquire(ctx, n) == nil
		cancel()
	case 5, 6:
		got = x.s.AcquireTimeout(time.Duration(rng.IntN(3000)), n) == nil
	case 7:
		got = x.s.TryAcquire(n)
	case 8,
		9: // a future that is polled a few times by several wakers, and dropped, complete or not
		x.k.Bind(x.s, f, n)
		for range rng.IntN(4) {
			if f.Poll(new(locktest.CountingWaker)) {
				got = rng.IntN(4) > 0 && f.Take() == nil
				break
			}
		}
	case 10, 11: // a future in a select that may give up
		x.k.Bind(x.s, f, n)
		select {
		case <-f.Done():
			got = rng.IntN(2) == 0 && f.Take() == nil
		case <-time.After(time.Duration(rng.IntN(3000))):
		}
	}
	if got {
		x.hold(n)
	}
}

// run lets several goroutines do rounds each, and returns when all have ended.
func (x *stress) run(rounds int) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			var f *waiter.Future
			if x.k.Bind != nil {
				f = new(waiter.Future)
			}
			for range rounds {
				x.one(rng, f)
			}
		})
	}
	wg.Wait()
}

// Cancels and timeouts at every point of a wait, against releases and tries: no permit is lost or
// made, no goroutine is left behind.
func stressConservesPermits(t *testing.T, k Kind) {
	for _, size := range []int64{1, 3} {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			x := &stress{t: t, k: k, s: k.New(size), most: size, bound: size, shared: ctx, whole: true}
			x.run(locktest.Scaled(8000))
			require.Zero(t, x.held.Load())
			RequireIdle(t, x.s)
			require.True(t, x.s.TryAcquire(size))
			x.s.Release(size)
		})
	}
}

// The same while the size changes. Some requests are too large then, and some have been granted
// before.
func stressWithResizeConservesPermits(t *testing.T, k Kind) {
	stressWithResize(t, k, math.MaxInt64)
}

func stressWithResizeHoldsNoMoreThanTheLargestSize(t *testing.T, k Kind) {
	stressWithResize(t, k, mostWithResize)
}

const mostWithResize = 4

func stressWithResize(t *testing.T, k Kind, bound int64) {
	t.Helper()
	locktest.AtEveryProcs(t, func(t *testing.T) {
		const most = mostWithResize
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		x := &stress{t: t, k: k, s: k.New(most), most: most, bound: bound, shared: ctx}
		stop := make(chan struct{})
		var resizer sync.WaitGroup
		resizer.Go(func() {
			rng := rand.New(rand.NewPCG(9, 9))
			for {
				select {
				case <-stop:
					return
				default:
					x.s.Resize(rng.Int64N(most + 1))
					runtime.Gosched() // with one processor no other goroutine would get on for a whole slice of time
				}
			}
		})
		x.run(locktest.Scaled(4000))
		close(stop)
		resizer.Wait()
		require.Zero(t, x.held.Load())
		RequireIdle(t, x.s)
		x.s.Resize(most)
		require.True(t, x.s.TryAcquire(most))
		x.s.Release(most)
		RequireIdle(t, x.s)
	})
}
