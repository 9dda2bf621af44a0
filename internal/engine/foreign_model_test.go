//go:build interleave

package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
)

// Whatever a context says: a wait ends without an error if and only if it has got its permits, none
// are lost, and no wait lasts for ever. One that ends with an error has the context's, or
// context.Canceled where that has none.
func TestModelForeignContexts(t *testing.T) {
	for _, s := range semtest.ForeignEnds {
		for kind, watchable := range map[string]bool{"select": false, "watch": true} {
			for _, n := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d waits", s.Name, kind, n), func(t *testing.T) {
					o := interleave.Options{}
					if n > 1 && (testing.Short() || interleave.RaceEnabled) {
						o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
					}
					interleave.Check(t, o, func(x *interleave.Run) {
						w, c := newWorld(x, scenario{size: 1}), semtest.NewForeign(x)
						// A watchable foreign context wraps one of package context.
						if c.Watchable = watchable; watchable {
							for range 3 {
								waiting.GetParker(waiting.UntilDone(c.Context)).Put()
							}
						}
						w.begin(1)
						x.Go("waiter", func() {
							for range int(n) {
								w.useOr(c, 1, semtest.ErrForeign, context.Canceled)
							}
						})
						x.Go("holder", func() {
							w.release(1)
							if n > 1 {
								w.use(1)
							}
						})
						x.Go("canceller", func() { s.End(c) })
						x.Wait()
						w.finish()
					})
				})
			}
		}
	}
}
