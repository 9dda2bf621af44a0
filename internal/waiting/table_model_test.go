//go:build interleave

package waiting

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
)

// look has a wait begin and end at once: it counts, and makes the watch when it is time.
func look(x *interleave.Run, ctx *interleave.Context) *watch {
	p := GetParker(UntilDone(ctx))
	w := p.watch
	x.Assert(w == nil || w.done == ctx.Done(), "the watch of another context")
	p.Put()
	return w
}

// tabled returns the watch of ctx in the table, nil if there is none.
func tabled(ctx *interleave.Context) (w *watch) {
	for _, s := range tableSlots(ctx) {
		if v := s.watch.Load(); v != nil && v.done == ctx.Done() {
			w = v
		}
	}
	return w
}

// Contexts that come to the same two slots: each wait is ended by its own context and by no other,
// whether it has found a slot, or none, or that of one which is being cancelled; the slot of a
// context that lives is not taken from it; those of contexts that are cancelled are free for the
// next.
func TestModelContextsShareTheTable(t *testing.T) {
	for _, s := range []struct {
		name  string
		taken int     // slots that contexts have which live on
		has   bool    // the first context has its slot before the threads run
		want  [2]bool // who gets a slot, in some execution
	}{
		{name: "two in two slots", want: [2]bool{true, true}},
		{name: "two in one slot", taken: 1, want: [2]bool{true, true}},
		{name: "one after the other", taken: 1, has: true, want: [2]bool{true, true}},
		{name: "two without a slot", taken: 2},
	} {
		t.Run(s.name, func(t *testing.T) {
			o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
			if !testing.Short() && !interleave.RaceEnabled {
				o.Bound = 3
			}
			var had [2]bool
			interleave.Check(t, o, func(x *interleave.Run) {
				newContext := func(has bool) *interleave.Context {
					ctx := x.NewContext()
					ctx.Watchable = true
					if has {
						look(x, ctx)
						look(x, ctx)
						x.Assert(tabled(ctx) != nil, "no watch for a context that is used again and again")
					}
					return ctx
				}
				var living []*interleave.Context
				for range s.taken {
					living = append(living, newContext(true))
				}
				ctx := [2]*interleave.Context{newContext(s.has), newContext(false)}
				for _, c := range ctx {
					x.Go("owner", func() {
						look(x, c)
						look(x, c)
						waitOnce(x, c, new(xsync.Pointer[Waiter]))
					})
				}
				x.Go("canceller", func() { ctx[0].Cancel(); ctx[1].Cancel() })
				x.Always(func() {
					for i, c := range ctx {
						had[i] = had[i] || tabled(c) != nil
					}
					for _, c := range living {
						x.Assert(tabled(c) != nil, "a slot was taken from a living context")
					}
				})
				x.Wait()
				for _, c := range ctx {
					x.Assert(tabled(c) == nil, "a watch outlives its context in the table")
				}
				for _, c := range living {
					w := tabled(c)
					x.Assert(!w.fired && w.list == w.idle.Load(), "a living context's watch has changed")
				}
				next := x.NewContext()
				next.Watchable = true
				look(x, next)
				look(x, next)
				x.Assert((tabled(next) != nil) == (s.taken < 2), "the slots of the cancelled are not free")
			})
			if !interleave.RaceEnabled { // under which nothing is looked at
				require.Equal(t, s.want, had)
			}
		})
	}
}
