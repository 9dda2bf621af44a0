//go:build !interleave

package waiting

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
)

func TestParkerGetsItsOutcome(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 30 { // beyond the point where ctx gets a watch
		p := GetParker(UntilDone(ctx))
		go p.Deliver(TooLarge)
		require.True(t, p.Park(UntilDone(ctx)))
		require.Equal(t, TooLarge, p.Outcome())
		p.Put()
		p = GetParker(Limit{})
		require.True(t, p.Deliver(Granted), "before it parks")
		require.True(t, p.Park(Limit{}))
		require.Equal(t, Granted, p.Outcome())
		p.Put()
	}
}

func TestParkTimeout(t *testing.T) {
	for range 3 {
		p := GetParker(After(time.Hour))
		go p.Deliver(Granted)
		require.True(t, p.Park(After(time.Hour)))
		start := time.Now()
		require.False(t, p.Park(After(5*time.Millisecond)))
		require.GreaterOrEqual(t, time.Since(start), 5*time.Millisecond)
		require.Equal(t, Pending, p.Withdraw(false))
	}
	p := GetParker(After(1))
	require.False(t, p.Park(After(1)))
	go p.Deliver(Closed)
	require.Equal(t, Closed, p.Withdraw(true))
	require.Zero(t, p.sleeper.Pending())
}

// watched makes enough waits with ctx for it to be watched.
func watched(t *testing.T, ctx context.Context) *watch {
	t.Helper()
	emptySlots(ctx.Done())
	for range 10 * watchAfter {
		p := GetParker(UntilDone(ctx))
		require.True(t, p.Deliver(Granted))
		require.True(t, p.Park(UntilDone(ctx)))
		w := p.watch
		p.Put()
		if w != nil {
			return w
		}
	}
	require.Fail(t, "never watched")
	return nil
}

// emptySlots returns the two slots of done, of which other tests' contexts know nothing any more.
func emptySlots(done <-chan struct{}) (first, second *watchSlot) {
	first, second = slotsFor(keyOf(done))
	for _, s := range []*watchSlot{first, second} {
		s.watch.Store(nil)
		s.key.Store(0)
		s.hits.Store(0)
	}
	return first, second
}

func TestParkerTakesTokenAndNudge(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	watched(t, ctx)
	p := GetParker(UntilDone(ctx))
	cancel()
	require.False(t, p.Park(UntilDone(ctx)), "nudged")
	go p.Deliver(Granted) // the claimer was faster than the cancel
	require.Equal(t, Granted, p.Withdraw(true))
	require.Zero(t, p.sleeper.Pending())

	// Both at once: neither sender blocks.
	ctx, cancel = context.WithCancel(context.Background())
	w := watched(t, ctx)
	p = GetParker(UntilDone(ctx))
	require.True(t, p.Deliver(Granted))
	cancel()
	awaitFire(t, w)
	require.Equal(t, xsync.Token|xsync.Nudge, p.sleeper.Pending())
	require.False(t, p.Park(UntilDone(ctx)), "the context is done, whatever the signal was")
	require.Equal(t, Granted, p.Withdraw(true))
	require.Zero(t, p.sleeper.Pending())
}

func awaitFire(t *testing.T, w *watch) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		w.mu.Lock() // until the last nudge is sent
		fired := w.fired
		w.mu.Unlock()
		if fired {
			return
		}
		require.True(t, time.Now().Before(deadline), "the watch never fires")
	}
}

// A parker that comes back to the pool is empty, whatever crossed its way.
func TestParkerIsCleanAfterUse(t *testing.T) {
	for i := range 400 {
		ctx, cancel := context.WithCancel(context.Background())
		w := watched(t, ctx)
		a, b := GetParker(UntilDone(ctx)), GetParker(UntilDone(ctx))
		require.True(t, a.watch == w && b.watch == w)
		require.True(t, w.idle.CompareAndSwap(nil, new(Parker)), "the place is taken")
		require.True(t, b.Deliver(Granted))
		require.True(t, b.Park(UntilDone(ctx)))
		go cancel()
		require.False(t, a.Park(UntilDone(ctx)))
		switch i % 4 {
		case 0:
			require.Equal(t, Pending, a.Withdraw(false))
		case 1:
			go a.Deliver(Closed)
			require.Equal(t, Closed, a.Withdraw(true))
		case 2:
			require.True(t, a.Deliver(Closed))
			require.Equal(t, Closed, a.Withdraw(true))
		case 3:
			awaitFire(t, w)
			require.Equal(t, Pending, a.Withdraw(false))
		}
		if i%2 == 0 {
			awaitFire(t, w)
		}
		b.Put() // with its nudge unread, or not yet sent
		awaitFire(t, w)
		for _, p := range []*Parker{a, b} {
			require.Nil(t, p.watch)
			require.Zero(t, p.sleeper.Pending())
			require.Zero(t, p.got)
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
			p := GetParker(UntilDone(ctx))
			require.Equal(t, bubbled, p.kind)
			require.Nil(t, p.watch)
			p.Put()
		}
		time.Sleep(100 * 365 * 24 * time.Hour)
		require.True(t, inBubble(), "also when its clock has overtaken ours")
	})
	require.False(t, inBubble())
}

// The first wait finds out that this binary can make bubbles. Where it cannot, the clock is not
// asked.
func TestOnlyBinariesWithBubblesAskTheClock(t *testing.T) {
	defer bubbles.Store(bubbles.Load())
	synctest.Test(t, func(t *testing.T) {
		bubbles.Store(bubblesNever)
		require.False(t, InBubble())
		bubbles.Store(bubblesUnknown)
		require.True(t, InBubble())
		require.EqualValues(t, bubblesPossible, bubbles.Load())
	})
}

func TestParkingAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, s := newParker(parks), newParker(portable)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, p := range []*Parker{p, s} {
			p.Deliver(Granted)
			p.Park(After(time.Hour))
			p.Deliver(Granted)
			p.Park(Limit{})
		}
		s.Deliver(Granted)
		s.Park(UntilDone(ctx))
	}))
}

// Many goroutines on one context: each is woken, by its claimer or by the watch, and none twice.
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
						p := GetParker(UntilDone(ctx))
						if (i+g)%5 == 4 && i > 20 { // wait for the cancel
							if p.Park(UntilDone(ctx)) || p.Withdraw(false) != Pending {
								t.Error("a token that was not sent")
							}
							continue
						}
						go p.Deliver(Granted)
						if p.Park(UntilDone(ctx)) {
							if p.Outcome() != Granted {
								t.Error("a token got lost")
							}
							p.Put()
						} else if p.Withdraw(true) != Granted {
							t.Error("a token got lost")
						}
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
