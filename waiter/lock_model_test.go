//go:build interleave

package waiter_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/waiter"
)

// Goroutines and futures wait for a lock of another author. Whatever happens meanwhile, none waits
// for ever, a cancelled wait holds nothing, and no permit is lost.
func TestModelWait(t *testing.T) {
	type world struct {
		*interleave.Run
		*permits
		ctx *interleave.Context
	}
	use := func(w *world, n int64) {
		if waiter.Wait(waiter.UntilDone(w.ctx), w.permits, n) == nil {
			w.release(n)
		}
	}
	for name, body := range map[string]func(w *world){
		"cancel": func(w *world) {
			w.Same(2, "waiter", func(int) { use(w, 1) })
			w.Go("canceller", w.ctx.Cancel)
		},
		"cancel of a large request": func(w *world) {
			w.Go("large", func() { use(w, 2) })
			w.Go("small", func() { w.Assert(waiter.Wait(waiter.Limit{}, w.permits, 1) == nil, "an error"); w.release(1) })
			w.Go("canceller", w.ctx.Cancel)
		},
		"future": func(w *world) {
			w.Go("waiter", func() { use(w, 1) })
			w.Go("future", func() {
				var f waiter.Future
				waiter.Bind(&f, w.permits, 1)
				f.Poll(nil)
				f.Release()
			})
			w.Go("canceller", w.ctx.Cancel)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := interleave.Options{}
			if testing.Short() || interleave.RaceEnabled {
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				w := &world{x, &permits{}, x.NewContext()}
				w.Go("holder", func() { w.release(2) })
				body(w)
				x.Wait()
				x.Assert(w.free == 2 && len(w.line) == 0, "%d permits, %d wait", w.free, len(w.line))
			})
		})
	}
}
