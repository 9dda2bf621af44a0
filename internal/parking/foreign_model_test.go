//go:build interleave

package parking

import (
	"context"
	"errors"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
)

// With any context: a sleep ends without an error only if it was woken; a wake for a sleeper that
// gives up goes to the other; and none sleeps for ever.
func TestModelForeignContexts(t *testing.T) {
	for _, s := range semtest.ForeignEnds {
		t.Run(s.Name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				table, k, c := New(1), Key{Object: new(int)}, semtest.NewForeign(x)
				var changed, woken interleave.Bool // changed: what they sleep for has come
				still := func() bool { return !changed.Load() }
				x.Go("sleeper", func() {
					_, err := table.Sleep(waiting.UntilDone(c), k, 0, still)
					if err == nil {
						x.Assert(changed.Load(), "woken without a wake")
					} else {
						x.Assert(errors.Is(err, semtest.ErrForeign) || errors.Is(err, context.Canceled), "the error is %v", err)
					}
				})
				x.Go("other", func() {
					_, err := table.Sleep(waiting.UntilDone(context.Background()), k, 0, still)
					x.Assert(err == nil && changed.Load(), "woken without a wake: %v", err)
					woken.Store(true)
				})
				x.Go("waker", func() {
					table.WakeOrHand(k, func(bool) bool { changed.Store(true); return true })
					table.Wake(k)
				})
				x.Go("canceller", func() { s.End(c) })
				x.Wait()
				x.Assert(woken.Load() && table.Sleeping(k) == 0, "left behind")
			})
		})
	}
}
