//go:build interleave

package waiter

import (
	"context"

	"github.com/farad-go/farad/internal/interleave"
)

// watchAfter is small, so that a scenario reaches the watch.
const watchAfter = 1

// slotsFor sends all channels to the same slots, where they collide.
func slotsFor(uintptr) (first, second *watchSlot) { return &watchTable[0], &watchTable[1] }

// registerWith has the watch fire and be vacated when ctx is cancelled.
func (w *watch) registerWith(ctx context.Context, vacate func(*watch)) {
	ctx.(*interleave.Context).AfterFunc(func() {
		w.fire()
		vacate(w)
	})
}

// cancellable returns ctx if the explorer can watch it. Real contexts get no watch.
func cancellable(ctx context.Context) context.Context {
	if c, ok := ctx.(*interleave.Context); ok && c.Watchable {
		return c
	}
	return nil
}
