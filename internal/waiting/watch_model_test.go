//go:build interleave

package waiting

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/xsync"
)

// waitOnce waits with ctx until another thread empties the slot, as a lock would.
func waitOnce(x *interleave.Run, ctx *interleave.Context, slot *xsync.Pointer[Waiter]) {
	l := UntilDone(ctx)
	p := GetParker(l)
	x.Assert(p.watch != nil || p.sleeper.Pending() == 0, "a parker with a wake-up left over")
	slot.Store(&p.Waiter)
	if p.Park(l) {
		x.Assert(slot.Load() != &p.Waiter, "woken in the queue")
		p.Put()
		return
	}
	claimed := !slot.CompareAndSwap(&p.Waiter, nil)
	o := p.Withdraw(claimed)
	x.Assert(claimed == (o == Granted), "withdrawn: claimed %v, outcome %v", claimed, o)
}

func tableSlots(ctx *interleave.Context) [2]*watchSlot {
	first, second := slotsFor(keyOf(ctx.Done()))
	return [2]*watchSlot{first, second}
}

func grant(slot *xsync.Pointer[Waiter]) {
	if w := slot.Swap(nil); w != nil {
		w.Deliver(Granted)
	}
}

// Waits on a context that is cancelled end, with and without a watch; no parker goes back to the
// pool with a wake-up in it; and after the cancel the watch holds none.
func TestModelWaitsEndWithTheirContext(t *testing.T) {
	for _, s := range []struct {
		name      string
		watchable bool
		body      func(x *interleave.Run, ctx *interleave.Context)
	}{
		{"select", false, func(x *interleave.Run, ctx *interleave.Context) {
			var slot xsync.Pointer[Waiter]
			x.Go("owner", func() { waitOnce(x, ctx, &slot); waitOnce(x, ctx, &slot); waitOnce(x, ctx, &slot) })
			x.Go("claimer", func() { grant(&slot); grant(&slot) })
		}},
		{"watch", true, func(x *interleave.Run, ctx *interleave.Context) {
			var slot xsync.Pointer[Waiter]
			x.Go("owner", func() { waitOnce(x, ctx, &slot); waitOnce(x, ctx, &slot); waitOnce(x, ctx, &slot) })
			x.Go("claimer", func() { grant(&slot); grant(&slot) })
		}},
		{"watch of two", true, func(x *interleave.Run, ctx *interleave.Context) {
			x.Same(2, "owner", func(int) {
				var slot xsync.Pointer[Waiter]
				waitOnce(x, ctx, &slot)
				waitOnce(x, ctx, &slot)
			})
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				ctx := x.NewContext()
				ctx.Watchable = s.watchable
				x.Always(func() {
					for _, s := range tableSlots(ctx) {
						if w := s.watch.Load(); w != nil && w.done == ctx.Done() && !w.mu.Locked() && w.fired {
							x.Assert(w.list == nil, "invariant 2: fired, and a parker has not been nudged")
						}
					}
				})
				s.body(x, ctx)
				x.Go("canceller", ctx.Cancel)
				x.Wait()
				for _, s := range tableSlots(ctx) {
					w := s.watch.Load()
					x.Assert(w == nil || w.done != ctx.Done(), "a watch outlives its context in the table")
				}
			})
		})
	}
}

// Waits that are counted at the same time all count: none takes back what others have counted. (The
// context is of the kind that gets no watch: all that they do is count.)
func TestModelCountOfWaitsNeverGoesDown(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		ctx := x.NewContext()
		s := tableSlots(ctx)[0]
		s.watch.Store(nil)
		s.key.Store(keyOf(ctx.Done()))
		s.hits.Store(0)
		last := uint32(0)
		x.Always(func() {
			hits := s.hits.Load()
			x.Assert(hits >= last, "%d waits were counted, and now %d", last, hits)
			last = hits
		})
		x.Same(3, "t", func(int) { x.Assert(watchFor(ctx, ctx.Done()) == nil, "a watch") })
		x.Wait()
		x.Assert(s.hits.Load() > 0, "no wait has counted")
	})
}

// Of two channels that want the same slot at the same time one gets it, and the other one no watch.
func TestModelSlotServesOneChannel(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		var s watchSlot
		var got [2]*watch
		for i := range got {
			ctx := x.NewContext()
			x.Go("t", func() { got[i] = newWatch(ctx, ctx.Done(), &s) })
		}
		x.Wait()
		x.Assert((got[0] == nil) != (got[1] == nil), "watches in one slot: %v", got)
		x.Assert(s.watch.Load() == got[0] || s.watch.Load() == got[1], "a watch that is not in its slot")
	})
}

// Two waits that begin at the same time both get a parker from a watch that lives, each its own,
// though one of them takes the idle one.
func TestModelWaitsOnALiveWatchHaveTheirOwnParkers(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		ctx := x.NewContext()
		var s watchSlot
		w := newWatch(ctx, ctx.Done(), &s)
		w.put(w.get())
		var got [2]*Parker
		x.Same(2, "t", func(i int) { got[i] = w.get() })
		x.Wait()
		for _, p := range got {
			x.Assert(p != nil && p.watch == w, "a wait without the watch, which lives")
		}
		x.Assert(got[0] != got[1], "one parker for two waits")
	})
}

// Of two parkers that are put back at the same time the watch keeps one, and does not hold the
// other.
func TestModelWaitsLeaveOneIdleParker(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		ctx := x.NewContext()
		var s watchSlot
		w := newWatch(ctx, ctx.Done(), &s)
		x.Same(2, "t", func(int) { w.put(w.get()) })
		x.Wait()
		idle := w.idle.Load()
		x.Assert(idle != nil && w.list == idle && idle.wnx == nil, "linked, and of no use to any wait")
	})
}
