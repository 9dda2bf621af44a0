//go:build !interleave

package waiting

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
)

// others is a watch of another channel.
func others() *watch { return &watch{done: make(chan struct{})} }

// A done channel gets its watch after watchAfter waits, not one before and not one after, in the
// first of its slots that is free, and finds it there ever after. What it finds taken it leaves
// alone.
func TestWatchIsMadeOnceAndFoundAgain(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want int }{
		"both free":    {0, 0, 1},
		"first taken":  {1, 0, 2},
		"second taken": {0, 1, 1},
		"both taken":   {1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first, second := emptySlots(ctx.Done())
			t.Cleanup(func() { emptySlots(ctx.Done()) })
			var taken [2]*watch
			if c.first != 0 {
				taken[0] = others()
				first.watch.Store(taken[0])
			}
			if c.second != 0 {
				taken[1] = others()
				second.watch.Store(taken[1])
			}
			for i := range watchAfter {
				require.Nil(t, watchFor(ctx, ctx.Done()), "after %d waits", i)
			}
			w := watchFor(ctx, ctx.Done())
			require.Equal(t, c.want != 0, w != nil)
			if w != nil {
				require.True(t, w.done == ctx.Done())
			}
			for range 3 * watchAfter {
				require.True(t, watchFor(ctx, ctx.Done()) == w)
			}
			for i, s := range []*watchSlot{first, second} {
				if i+1 == c.want {
					require.True(t, s.watch.Load() == w)
					continue
				}
				require.True(t, s.watch.Load() == taken[i])
				require.Zero(t, s.key.Load(), "waits that are not counted")
				require.Zero(t, s.hits.Load(), "waits that are not counted")
			}
		})
	}
}

// A channel that can have no watch is not counted for ever: its waits do not write to memory that
// they share.
func TestWaitsWithoutAWatchAreCountedNoFurther(t *testing.T) {
	root, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx := foreign{root}
	first, _ := emptySlots(ctx.Done())
	for range 5 * watchAfter {
		require.Nil(t, watchFor(ctx, ctx.Done()))
	}
	require.EqualValues(t, watchAfter, first.hits.Load())
	require.Nil(t, first.watch.Load())
}

func TestNewWatchTakesNoSlotFromAnother(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := others()
	var s watchSlot
	s.watch.Store(other)
	require.Nil(t, newWatch(ctx, ctx.Done(), &s))
	require.True(t, s.watch.Load() == other)
}

// A watch that ends empties its slot once, and leaves the count as it was at first. The next
// channel may have the same address. A later watch in the slot is left alone.
func TestWatchVacatesItsOwnSlotOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s watchSlot
		s.key.Store(7)
		require.True(t, newWatch(ctx, ctx.Done(), &s) != nil)
		cancel()
		synctest.Wait()
		require.Nil(t, s.watch.Load())
		require.Zero(t, s.key.Load())
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var s watchSlot
		w := newWatch(ctx, ctx.Done(), &s)
		require.True(t, s.watch.Load() == w)
		other := others()
		s.watch.Store(other)
		s.key.Store(7)
		cancel()
		synctest.Wait()
		require.True(t, w.fired)
		require.True(t, s.watch.Load() == other)
		require.EqualValues(t, 7, s.key.Load())
	})
}

// The lock of a watch is held for a few links, not for the time that a new parker takes.
func TestParkersAreMadeOutsideTheLock(t *testing.T) {
	w := others()
	parkers := cheapest()
	made := parkers.New
	defer func() { parkers.New = made }()
	asked := false
	parkers.New = func() any {
		asked = true
		require.True(t, w.mu.TryLock())
		w.mu.Unlock()
		return made()
	}
	var ps []*Parker
	for !asked { // until the pool has no more
		ps = append(ps, w.get())
	}
	for _, p := range ps {
		require.False(t, w.remove(p))
		p.Put()
	}
	require.Nil(t, w.list)
}

// A parker that its watch has no use for, or that came too late for it, is used again by others.
func TestParkersComeBackFromTheirWatch(t *testing.T) {
	// The pool promises nothing, and drops some under the race detector.
	mostly := func(what string, again func() bool) {
		n := 0
		for range 100 {
			if again() {
				n++
			}
		}
		require.Greater(t, n, 10, what)
	}
	parkers := cheapest()
	pooled := func(p *Parker) bool {
		q := parkers.Get().(*Parker)
		parkers.Put(q)
		return p == q
	}
	w := others()
	mostly("no use", func() bool {
		a, b := w.get(), w.get()
		w.put(a)
		require.True(t, w.idle.Load() == a)
		w.put(b)
		return pooled(b)
	})
	w.fire()
	require.True(t, w.remove(w.idle.Swap(nil)))
	mostly("too late", func() bool {
		p := parkers.Get().(*Parker)
		parkers.Put(p)
		require.Nil(t, w.get())
		return pooled(p)
	})
}

// A parker that was kept for a watch, but no longer sleeps in the cheapest way, leaves the watch.
func TestWatchPartsFromParkersOfTheOtherKind(t *testing.T) {
	defer xsync.UseChannels(xsync.UseChannels(false))
	if !xsync.Parks() {
		t.Skip("there is one kind")
	}
	w := others()
	p := w.get()
	w.put(p)
	xsync.UseChannels(true)
	q := w.get()
	require.Nil(t, p.watch)
	require.True(t, w.list == q && q.wnx == nil, "the watch has another parker besides")
	require.False(t, w.remove(q))
}

// A list that parkers leave in any order holds the others, and a parker that has left holds none.
func TestParkersLeaveTheirWatchInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w := others()
		ps := []*Parker{w.get(), w.get(), w.get()}
		linked := []*Parker{ps[2], ps[1], ps[0]}
		for _, i := range order {
			require.False(t, w.remove(ps[i]), "nudged")
			require.Nil(t, ps[i].watch)
			require.Nil(t, ps[i].wnx)
			require.Nil(t, ps[i].wpv)
			linked = slices.DeleteFunc(linked, func(p *Parker) bool { return p == ps[i] })
			var last *Parker
			rest := w.list
			for _, p := range linked {
				require.True(t, rest == p)
				require.True(t, p.wpv == last)
				last, rest = p, p.wnx
			}
			require.Nil(t, rest)
		}
	}
}
