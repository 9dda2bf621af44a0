//go:build interleave

package parking

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/waiting"
)

// No goroutine sleeps for ever, the lock is handed only to a sleeper for that lock, and a wake for
// a sleeper that gives up goes to the next. (An earlier version handed over the wrong lock: "hand
// and cancel", schedule a1.b9.c3.b1.d7.a3.b7.a3.d5.)
func TestModelTable(t *testing.T) {
	for _, s := range []struct {
		name        string
		wakes       int
		failedWakes []int // one for each sleeper
		gives       bool  // the last sleeper may give up
	}{
		{"wake", 1, []int{0}, false},
		{"two", 2, []int{0, 0}, false},
		{"hand", 2, []int{0, 1}, false},
		{"cancel", 2, []int{0, 0}, true},
		{"hand and cancel", 2, []int{1, 0}, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				table, object := New(1), new(int)
				k := Key{Object: object}
				var hands, handed, woken, asleep interleave.Int32
				ctx := x.NewContext()
				for i, failedWakes := range s.failedWakes {
					x.Go("sleeper"+string(rune('1'+i)), func() {
						c := context.Context(context.Background())
						if s.gives && i == len(s.failedWakes)-1 {
							c = ctx
						}
						how, err := table.Sleep(waiting.UntilDone(c), k, failedWakes,
							func() bool { asleep.Add(1); return true })
						if how == Handed {
							handed.Add(1)
						}
						if err == nil || how == Handed {
							woken.Add(1)
						}
					})
				}
				if s.gives {
					x.Go("canceller", ctx.Cancel)
				}
				x.Go("waker", func() {
					for range s.wakes {
						for asleep.Load() == 0 { // a wake without a waiter would be lost, as it should
							interleave.Yield()
						}
						table.WakeOrHand(k, func(hand bool) bool {
							if hand {
								hands.Add(1)
							}
							return true
						})
						asleep.Add(-1)
					}
				})
				x.Wait()
				x.Assert(
					hands.Load() == handed.Load(),
					"handed %d times, received %d times",
					hands.Load(),
					handed.Load(),
				)
				x.Assert(s.gives || int(woken.Load()) == len(s.failedWakes), "%d woken", woken.Load())
				x.Assert(table.Sleeping(k) == 0, "left behind")
			})
		})
	}
}
