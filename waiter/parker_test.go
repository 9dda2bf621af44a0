package waiter

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParkerIsToldItsOutcome(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 30 { // beyond the point where ctx gets a watch
		p := GetParker(ctx, ctx.Done())
		go p.Deliver(TooLarge)
		require.Equal(t, TooLarge, p.Park(ctx.Done()))
		p.Put()
		p = GetParker(context.Background(), nil)
		require.True(t, p.Deliver(Granted), "before it parks")
		require.Equal(t, Granted, p.Park(nil))
		p.Put()
	}
}

func TestParkTimeout(t *testing.T) {
	p := GetParker(context.Background(), nil)
	for range 3 {
		start := time.Now()
		require.Equal(t, Pending, p.ParkTimeout(5*time.Millisecond))
		require.GreaterOrEqual(t, time.Since(start), 5*time.Millisecond)
		go p.Deliver(Granted)
		require.Equal(t, Granted, p.ParkTimeout(time.Hour))
	}
	require.Equal(t, Pending, p.ParkTimeout(1))
	go p.Deliver(Closed)
	require.Equal(t, Closed, p.Take())
	require.False(t, p.timer.Stop(), "no timer is left running")
	p.Put()
}

// watched makes enough waits with ctx for it to be watched.
func watched(t *testing.T, ctx context.Context) *watch {
	t.Helper()
	for range 10 * watchAfter {
		p := GetParker(ctx, ctx.Done())
		require.True(t, p.Deliver(Granted))
		require.Equal(t, Granted, p.Park(ctx.Done()))
		w := p.watch
		p.Put()
		if w != nil {
			return w
		}
	}
	t.Skip("another test's context lives in the same slot")
	return nil
}

func TestParkerTakesTokenAfterNudge(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	watched(t, ctx)
	p := GetParker(ctx, ctx.Done())
	cancel()
	require.Equal(t, Pending, p.Park(ctx.Done()), "nudged")
	require.True(t, p.Deliver(Granted), "the claimer was faster")
	require.Equal(t, Granted, p.Take())
	p.Put()

	// Both at once: neither sender blocks.
	ctx, cancel = context.WithCancel(context.Background())
	w := watched(t, ctx)
	p = GetParker(ctx, ctx.Done())
	require.True(t, p.Deliver(Granted))
	cancel()
	awaitFire(t, w)
	require.Equal(t, Granted, p.Park(ctx.Done()))
	p.Put()
}

func awaitFire(t *testing.T, w *watch) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		w.mu.Lock()
		fired := w.fired
		w.mu.Unlock()
		if fired {
			return
		}
		require.True(t, time.Now().Before(deadline), "the watch never fires")
	}
}

// A parker that comes back to the pool is empty, whatever crossed its way.
func TestParkerIsCleanAfterPut(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		w := watched(t, ctx)
		a, b := GetParker(ctx, ctx.Done()), GetParker(ctx, ctx.Done())
		require.True(t, a.watch == w && b.watch == w)
		go cancel()
		if a.Park(ctx.Done()) != Pending {
			t.Error("nobody delivered anything")
		}
		awaitFire(t, w)
		require.True(t, w.idle.CompareAndSwap(nil, new(Parker))) // occupied
		a.Put()
		b.Put() // with its nudge unread
		for _, p := range []*Parker{a, b} {
			require.Nil(t, p.watch)
			require.Empty(t, p.token)
			require.False(t, p.nudged)
			require.Nil(t, p.wnx)
			require.Nil(t, p.wpv)
		}
	}
}

func TestParkersAreNotKeptFromBubbles(t *testing.T) {
	require.False(t, inBubble())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, inBubble())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 5 * watchAfter {
			p := GetParker(ctx, ctx.Done())
			require.False(t, p.keep)
			require.Nil(t, p.watch)
			p.Put()
		}
		time.Sleep(100 * 365 * 24 * time.Hour)
		require.True(t, inBubble(), "also when its clock has overtaken ours")
	})
	require.False(t, inBubble())
}

func TestParkingAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := GetParker(context.Background(), nil)
	p.ParkTimeout(1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.Deliver(Granted)
		p.ParkTimeout(time.Hour)
		p.Deliver(Granted)
		p.Park(nil)
		p.Deliver(Granted)
		p.Park(ctx.Done())
	}))
	p.Put()
}

// Many goroutines on one context: each is told, by its claimer or by the watch, and none twice.
func TestWatchUnderStress(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, procs := range []int{1, 2, 4, 16} {
		old := runtime.GOMAXPROCS(procs)
		for range rounds {
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						p := GetParker(ctx, ctx.Done())
						if (i+g)%5 != 4 {
							go p.Deliver(Granted)
							if p.Park(ctx.Done()) == Pending && p.Take() != Granted {
								t.Error("a token got lost")
							}
						} else if i > 20 && p.Park(ctx.Done()) != Pending { // until the cancel
							t.Error("a token that nobody sent")
						}
						p.Put()
					}
				})
			}
			runtime.Gosched()
			cancel()
			wg.Wait()
		}
		runtime.GOMAXPROCS(old)
	}
}
