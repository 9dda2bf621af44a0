//go:build !interleave

package waiting

import (
	"context"
	"os"
	ossignal "os/signal"
	"runtime"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

func TestWatchNudgesEveryWaiterOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := watched(t, ctx)
	var ps []*Parker
	for range 10 {
		p := GetParker(UntilDone(ctx))
		require.True(t, p.watch == w)
		ps = append(ps, p)
	}
	require.Nil(t, w.idle.Load())
	early := GetParker(UntilDone(ctx))
	early.Put() // the idle one
	require.True(t, w.idle.Load() == early)
	cancel()
	awaitFire(t, w)
	require.Nil(t, w.list, "a watch that has fired keeps no parker")
	for _, p := range ps {
		require.False(t, p.Park(UntilDone(ctx)))
		require.Zero(t, p.sleeper.Pending(), "once")
	}
	late := GetParker(UntilDone(ctx))
	require.True(t, late.watch == nil || late == early)
	require.False(t, late.Park(UntilDone(ctx)), "too late for the nudge, or nudged while idle")
	for _, p := range append(ps, late) {
		require.Equal(t, Pending, p.Withdraw(false))
	}
}

// A wait that has seen its context alive may get to the watch only after the cancel, and after
// others have heard of it.
func TestConsumedNudgeHidesNoCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := watched(t, ctx)
	p := GetParker(UntilDone(ctx))
	require.True(t, p.watch == w)
	cancel()
	require.False(t, p.Park(UntilDone(ctx)))
	require.Equal(t, Pending, p.Withdraw(false))
	awaitFire(t, w)
	require.Nil(t, w.get(), "a parker without a nudge, from a watch that has fired")
}

func TestWatchLeavesTheTableWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := watched(t, ctx)
	done := ctx.Done()
	require.True(t, lookUp(done) == w)
	cancel()
	locktest.Eventually(t, "cancelled, and out of the table", func() bool { return lookUp(done) == nil })

	// The same for a context that is dropped without a cancel.
	done = func() <-chan struct{} {
		ctx, cancel := context.WithCancel(context.Background())
		_ = cancel
		watched(t, ctx)
		require.True(t, lookUp(ctx.Done()) != nil)
		runtime.KeepAlive(ctx)
		return ctx.Done()
	}()
	locktest.Eventually(t, "dropped, and out of the table", func() bool { runtime.GC(); return lookUp(done) == nil })
}

// As long as a context lives, so does its watch: collections of garbage do not take it out of the
// table.
func TestWatchStaysWithItsContext(t *testing.T) {
	ctx := t.Context()
	w := watched(t, ctx)
	for range 3 {
		collected := make(chan struct{})
		runtime.AddCleanup(new(*watch), func(c chan struct{}) { close(c) }, collected)
		locktest.Eventually(t, "garbage was collected, and the cleanups ran", func() bool {
			runtime.GC()
			select {
			case <-collected:
				return true
			default:
				return false
			}
		})
	}
	require.True(t, lookUp(ctx.Done()) == w)
}

// lookUp returns the watch of done in the table.
func lookUp(done <-chan struct{}) *watch {
	first, second := slotsFor(keyOf(done))
	for _, s := range []*watchSlot{first, second} {
		if w := s.watch.Load(); w != nil && w.done == done {
			return w
		}
	}
	return nil
}

// A thousand contexts in use at a time find their places, nearly all of them.
func TestManyContextsAreWatched(t *testing.T) {
	const n = 1000
	got := 0
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 * watchAfter {
			p := GetParker(UntilDone(ctx))
			if p.watch != nil {
				got++
				p.Put()
				break
			}
			p.Put()
		}
	}
	require.Greater(t, got, n*9/10)
}

type foreign struct{ context.Context }

func (f foreign) Done() <-chan struct{} { return f.Context.Done() }

// A watch must not cost a goroutine, so only contexts get one that register a function without.
func TestOnlyCheapContextsAreWatched(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	deadline, stop := context.WithTimeout(parent, time.Hour)
	defer stop()
	signals, stopSignals := ossignal.NotifyContext(context.Background(), os.Interrupt)
	defer stopSignals()
	for name, c := range map[string]struct {
		ctx   context.Context
		cheap bool
	}{
		"cancel":                  {parent, true},
		"timeout":                 {deadline, true},
		"value":                   {context.WithValue(context.WithValue(deadline, key{}, 1), key{}, 2), true},
		"foreign":                 {foreign{parent}, false},
		"foreign under a value":   {context.WithValue(foreign{parent}, key{}, 1), false},
		"a type that embeds one":  {signals, false},
		"foreign by its pointer":  {&foreign{parent}, false},
		"nothing to be cancelled": {context.WithoutCancel(parent), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.cheap, cancellable(c.ctx) != nil) })
	}
	before := runtime.NumGoroutine()
	for _, ctx := range []context.Context{parent, deadline, foreign{parent}, signals} {
		for range 3 * watchAfter {
			p := GetParker(UntilDone(ctx))
			p.Put()
		}
	}
	// Others may be on their way, but a watch's would stay as long as its context.
	locktest.Eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// A registration with a request's context, values and all, would keep the values of the first
// request that waited alive as long as the context that they all share.
func TestWatchKeepsNoValuesAlive(t *testing.T) {
	type key struct{}
	root, cancel := context.WithCancel(t.Context())
	defer cancel()
	collected := make(chan struct{})
	emptySlots(root.Done())
	for i := range 3 * watchAfter {
		value := new([1 << 16]byte)
		if i == watchAfter { // the wait that registers
			runtime.AddCleanup(value, func(int) { close(collected) }, 0)
		}
		ctx := context.WithValue(root, key{}, value)
		p := GetParker(UntilDone(ctx))
		p.Put()
	}
	require.True(t, lookUp(root.Done()) != nil)
	locktest.Eventually(t, "the value is collected", func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	})
}

// quiet is a foreign context that never says that it is done.
type quiet struct{ context.Context }

func (quiet) Err() error { return nil }

// A context that breaks its contract, over a channel that is watched, must not take a nudge for a
// token.
func TestNudgeIsNoTokenWhateverTheContextSays(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := watched(t, ctx)
	p := GetParker(UntilDone(quiet{ctx}))
	require.True(t, p.watch == w)
	cancel()
	require.False(t, p.Park(UntilDone(quiet{ctx})))
	require.Equal(t, Pending, p.Withdraw(false))
}

// Before a context has proved that it is used again and again nothing is registered with it. The
// proof is by the address of its channel, which the collector may give to the next one; so these
// are kept, and those of other tests forgotten.
func TestShortLivedContextsAreNotWatched(t *testing.T) {
	for i := range watchTable {
		s := &watchTable[i]
		s.watch.Store(nil)
		s.key.Store(0)
		s.hits.Store(0)
	}
	got := 0
	var all [2000]context.Context
	for i := range all {
		ctx, cancel := context.WithCancel(context.Background())
		all[i] = ctx
		for range 3 {
			p := GetParker(UntilDone(ctx))
			if p.watch != nil {
				got++
			}
			p.Put()
		}
		cancel()
	}
	runtime.KeepAlive(&all)
	require.Zero(t, got)
}
