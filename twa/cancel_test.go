package twa_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/twa"
)

// A cancel that comes before what is waited for wins, wherever it comes: inside each call to the
// context, too. What has come is still there for the next. (Semaphores and mutexes promise it in
// their contracts.)
func TestEarlierCancelWinsInTheArray(t *testing.T) {
	type wait = func(ctx context.Context, a *twa.Array, v *atomic.Bool) error
	for name, await := range map[string]wait{
		"WaitUntil": func(ctx context.Context, a *twa.Array, v *atomic.Bool) error {
			return a.WaitUntil(ctx, v, v.Load)
		},
		"Wait": func(ctx context.Context, a *twa.Array, v *atomic.Bool) error {
			return a.Wait(ctx, v, 0)
		},
		"WaitLazy": func(ctx context.Context, a *twa.Array, v *atomic.Bool) error {
			var seq twa.Sequence
			return a.WaitLazy(ctx, v, &seq)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hold := func() locktest.Held {
				a, v := twa.NewArray(1), new(atomic.Bool)
				return locktest.Held{
					Wait: func(ctx context.Context) error { return await(ctx, a, v) },
					Waiting: func() bool {
						all := func(parking.Key) bool { return true }
						return (*parking.Table)(a).OrDefault().Count(all) > 0
					},
					Free:  func() { v.Store(true); a.Signal(v) },
					After: func(t *testing.T) { require.NoError(t, await(bg, a, v)) },
				}
			}
			locktest.RequireEarlierCancelWins(t, hold)
			panictest.RequireNothingLost(t, hold)
		})
	}
	t.Run("EventCount", func(t *testing.T) {
		hold := func() locktest.Held {
			e := new(twa.EventCount)
			return locktest.Held{
				Wait: func(ctx context.Context) error { return e.Await(ctx, 1) },
				Waiting: func() bool {
					return parking.Default().Count(func(k parking.Key) bool { return k.Object == e }) > 0
				},
				Free:  func() { e.Advance() },
				After: func(t *testing.T) { require.NoError(t, e.Await(bg, 1)) },
			}
		}
		locktest.RequireEarlierCancelWins(t, hold)
		panictest.RequireNothingLost(t, hold)
	})
}
