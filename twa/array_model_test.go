//go:build interleave

package twa

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// No signal is missed, with any way to wait, and a signal to a waiter that gives up is not lost.
func TestModelArray(t *testing.T) {
	until := func(ctx context.Context, a *Array, v *interleave.Int32, want int32) error {
		return a.WaitUntil(ctx, v, func() bool { return v.Load() >= want })
	}
	monitor := func(ctx context.Context, a *Array, v *interleave.Int32, want int32) error {
		for {
			seq := a.Monitor(v)
			if v.Load() >= want {
				return nil
			}
			if err := a.Wait(ctx, v, seq); err != nil {
				return err
			}
		}
	}
	lazy := func(ctx context.Context, a *Array, v *interleave.Int32, want int32) error {
		for seq := Sequence(0); v.Load() < want; {
			if err := a.WaitLazy(ctx, v, &seq); err != nil {
				return err
			}
		}
		return nil
	}
	for name, way := range map[string]struct {
		within func(context.Context, *Array, *interleave.Int32, int32) error
		signal func(a *Array, key any)
	}{
		"until": {until, (*Array).Signal}, "polite": {until, (*Array).SignalPolite},
		"monitor": {monitor, (*Array).Signal}, "lazy": {lazy, (*Array).Signal},
	} {
		wait := func(x *interleave.Run, a *Array, v *interleave.Int32, want int32) {
			x.Assert(way.within(bg, a, v, want) == nil, "gave up")
		}
		for _, s := range []struct {
			name string
			body func(x *interleave.Run, a *Array, v, other *interleave.Int32)
		}{
			{"one", func(x *interleave.Run, a *Array, v, _ *interleave.Int32) {
				x.Go("waiter", func() { wait(x, a, v, 1) })
				x.Go("signaller", func() { v.Add(1); way.signal(a, v) })
			}},
			{"two", func(x *interleave.Run, a *Array, v, _ *interleave.Int32) {
				x.Same(2, "waiter", func(int) { wait(x, a, v, 1) })
				x.Go("signaller", func() { v.Add(1); way.signal(a, v) })
			}},
			{"two signallers", func(x *interleave.Run, a *Array, v, _ *interleave.Int32) {
				x.Go("waiter", func() { wait(x, a, v, 2) })
				x.Same(2, "signaller", func(int) { v.Add(1); way.signal(a, v) })
			}},
			{"another key", func(x *interleave.Run, a *Array, v, other *interleave.Int32) {
				x.Go("waiter", func() { wait(x, a, v, 1) })
				x.Go("other", func() { wait(x, a, other, 1) })
				x.Go("signaller", func() { v.Add(1); way.signal(a, v); other.Add(1); way.signal(a, other) })
			}},
			{"another key's signaller", func(x *interleave.Run, a *Array, v, other *interleave.Int32) {
				x.Go("waiter", func() { wait(x, a, v, 2) })
				x.Go("signaller", func() { v.Add(1); way.signal(a, v); v.Add(1); way.signal(a, v) })
				x.Go("other", func() { way.signal(a, other) })
			}},
			{"cancel", func(x *interleave.Run, a *Array, v, _ *interleave.Int32) {
				ctx := x.NewContext()
				x.Go("waiter", func() { wait(x, a, v, 1) })
				x.Go("quitter", func() {
					if err := way.within(ctx, a, v, 1); err == nil {
						x.Assert(v.Load() >= 1, "too early")
					} else {
						x.Assert(err == ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
					}
				})
				x.Go("canceller", ctx.Cancel)
				x.Go("signaller", func() { v.Add(1); way.signal(a, v) })
			}},
		} {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				o := interleave.Options{}
				if s.name == "cancel" {
					o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					a, v, other := NewArray(1), new(interleave.Int32), new(interleave.Int32)
					x.Name("v", v)
					s.body(x, a, v, other)
					x.Wait()
					x.Assert(!a.table().Announced(keyOf(bg, v)), "a goroutine is still announced")
				})
			})
		}
	}
}

// No goroutine waits for an event that has happened.
func TestModelEvents(t *testing.T) {
	for _, s := range []struct {
		name string
		body func(x *interleave.Run, e *EventCount)
	}{
		{"one", func(x *interleave.Run, e *EventCount) {
			x.Go("waiter", func() { x.Assert(e.Await(bg, 1) == nil && e.Read() >= 1, "too early") })
			x.Go("advancer", func() { e.Advance() })
		}},
		{"two numbers", func(x *interleave.Run, e *EventCount) {
			x.Go("first", func() { x.Assert(e.Await(bg, 1) == nil && e.Read() >= 1, "too early") })
			x.Go("second", func() { x.Assert(e.Await(bg, 2) == nil && e.Read() >= 2, "too early") })
			x.Same(2, "advancer", func(int) { e.Advance() })
		}},
		{"the same number", func(x *interleave.Run, e *EventCount) {
			x.Same(2, "waiter", func(int) { x.Assert(e.Await(bg, 1) == nil && e.Read() >= 1, "too early") })
			x.Go("advancer", func() { e.Advance() })
		}},
		{"cancel", func(x *interleave.Run, e *EventCount) {
			ctx := x.NewContext()
			x.Go("waiter", func() { x.Assert(e.Await(bg, 1) == nil && e.Read() >= 1, "too early") })
			x.Go("quitter", func() { _ = e.Await(ctx, 1) })
			x.Go("canceller", ctx.Cancel)
			x.Go("advancer", func() { e.Advance() })
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
				e := new(EventCount)
				x.Name("e", e)
				s.body(x, e)
				x.Wait()
			})
		})
	}
}

// No number is handed out twice, and none is left out.
func TestModelSequencer(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s, sum := new(Sequencer), new(interleave.Int64)
		x.Same(3, "taker", func(int) { sum.Add(1 << (8 * s.Ticket())) })
		x.Wait()
		x.Assert(sum.Load() == 0x010101, "numbers %x", sum.Load())
		x.Assert(s.Ticket() == 3, "the next")
	})
}
