//go:build interleave

package waiter

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/xsync"
)

// waitOnce waits with ctx for whoever empties the slot, as a lock would.
func waitOnce(x *interleave.Run, ctx *interleave.Context, slot *xsync.Pointer[Waiter]) {
	done := ctx.Done()
	p := GetParker(ctx, done)
	x.Assert(p.watch != nil || len(p.signal.C()) == 0, "a parker with a wake-up left over")
	slot.Store(&p.Waiter)
	if p.Park(ctx, done) {
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

// Waits on a context that is cancelled end, with and without a watch; no parker goes back to the pool with a wake-up in
// it; and after the cancel the watch holds nobody.
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
