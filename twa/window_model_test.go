//go:build interleave

package twa

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/waiter"
)

// Between any two steps others may have gone on by as many permits as can be told from none, as
// soon as no goroutine is in line and it is open: all find what they would have found without
// that.
func TestModelOthersHaveGoneOn(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked there, and they are what goes on here")
	}
	for _, s := range []struct {
		name string
		size int64
		body func(w *world)
	}{
		{"try", 1, func(w *world) {
			w.Go("t", func() {
				for range 2 {
					w.Assert(w.s.TryAcquire(1), "a try fails while all is free")
					w.use(1, nil)
				}
			})
		}},
		{"acquire", 2, func(w *world) {
			w.Same(2, "t", func(int) { w.lock(1); w.lock(1) })
		}},
		{"wait", 1, func(w *world) {
			w.Same(2, "t", func(int) { w.lock(1) })
		}},
		{"timeout", 1, func(w *world) {
			w.Go("a", func() { w.lock(1) })
			w.Go("b", func() { w.timeout(1) })
		}},
		{"cancel", 1, func(w *world) {
			ctx := w.NewContext()
			w.Go("a", func() { w.lock(1) })
			w.Go("b", func() { w.within(ctx, 1) })
			w.Go("canceller", ctx.Cancel)
		}},
		{"futures", 2, func(w *world) {
			w.begin(2)
			fs := []*waiter.Future{w.queued(1, nil), w.queued(1, nil), w.queued(1, nil)}
			w.Go("holder", func() { w.give(2) })
			w.Go("owner", func() {
				fs[1].Release()
				w.useOr(1, w.await1(fs[0]))
				fs[2].Release()
			})
		}},
		{"resize", 2, func(w *world) {
			w.begin(1)
			w.Go("resizer", func() { w.s.Resize(0); w.s.Resize(1); w.s.Resize(2) })
			w.Go("holder", func() { w.give(1) })
		}},
		{"close", 1, func(w *world) {
			w.Same(2, "a", func(int) { w.lock1() })
			w.Go("closer", w.s.Close)
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			for i, permits := range []uint64{1 << 61, 1<<62 - 1, 1 << 62, 3 << 61} {
				if testing.Short() && i%2 == 0 {
					continue
				}
				o := interleave.Options{Mode: interleave.Plain, Bound: 2}
				interleave.Check(t, o, func(x *interleave.Run) {
					w := newWorld(x, s.size, wrap-1, 1)
					var late interleave.Bool
					x.Always(func() { // between two steps
						if late.Load() && !w.gone && w.s.t.free(zero) >= 0 && !w.s.t.isClosed() {
							w.gone = true
							goOn(w.s, permits)
						}
					})
					s.body(w)
					x.Go("others", func() { late.Store(true) })
					x.Wait()
					w.finish()
				})
			}
		})
	}
}

// The line is as long as it may be: a new request is refused or waits. Either way no permit is lost
// or made, and no waiter is left behind.
func TestModelLineHasAnEnd(t *testing.T) {
	for _, s := range []struct {
		name string
		room int64 // what the line has room for
		body func(w *world)
	}{
		{"two come", 1, func(w *world) {
			w.Same(2, "t", func(int) { w.useOr(1, w.s.Acquire(bg, 1), ErrQueueFull) })
		}},
		{"a future comes", 0, func(w *world) {
			w.Go("t", func() { w.useOr(1, w.await1(w.future(1)), ErrQueueFull) })
		}},
		{"one comes, and one tries", 0, func(w *world) {
			w.Go("t", func() { w.useOr(1, w.s.Acquire(bg, 1), ErrQueueFull) })
			w.Go("try", func() { w.try(1) })
		}},
		{"close", 0, func(w *world) {
			w.Go("t", func() { w.useOr(1, w.s.Acquire(bg, 1), ErrQueueFull, ErrClosed) })
			w.Go("closer", w.s.Close)
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
			if testing.Short() || interleave.RaceEnabled {
				o.Bound = 1
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				w := newWorld(x, 1, wrap, 1)
				w.begin(1)
				first := w.queued(1, nil)
				between := window - 2 - s.room
				end := w.s.t.take(between)
				last := w.queued(1, nil)
				w.s.t.abandon(zero, between, end)
				s.body(w)
				w.Go("holder", func() {
					w.give(1)
					w.useOr(1, w.await1(first), ErrClosed)
				})
				w.Go("owner", func() { last.Release() })
				x.Wait()
				w.finish()
			})
		})
	}
}

// A request that removes the mark of a long line checks the line where the mark cannot be set. If
// the line has become too long again meanwhile, the mark stays, and the next request checks before
// it takes.
func TestModelMarkOfALongLineStays(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := New(1, WithWaitingArray(NewArray(1)))
		x.Name("s", s)
		x.Assert(s.TryAcquire(1), "not free")
		s.t.mu.Lock()
		s.t.markLocked(long) // the line has been too long, and is short by now
		s.t.mu.Unlock()
		x.Go("looks", func() { s.t.precheck(zero, 1) })
		x.Go("come", func() {
			s.t.take(window)
			end := s.t.take(1)
			x.Assert(isTooLong(zero, s.t.grant.Load(), end), "not refused")
			s.t.refuse(zero, 1, end)
		})
		x.Wait()
		x.Assert(s.t.free(zero) == -window, "the line is for %d", -s.t.free(zero))
		x.Assert(s.t.limit.Load() == long|1, "the mark is lost: limit is %x", s.t.limit.Load())
	})
}
