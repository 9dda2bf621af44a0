//go:build interleave

package waiting

import (
	"context"

	"github.com/farad-go/farad/internal/xsync/model"
)

// watchAfter is small, so that a scenario reaches the watch.
const watchAfter = 1

func mayWatch() {}

func watchOf(ctx context.Context, done <-chan struct{}) *watch { return watchFor(ctx, done) }

// slotsFor sends all channels to the same slots, where they collide.
func slotsFor(uintptr) (first, second *watchSlot) { return &watchTable[0], &watchTable[1] }

// registerWith has the watch fire and be vacated when ctx is cancelled.
func (w *watch) registerWith(ctx context.Context, vacate func(*watch)) {
	model.AfterFunc(ctx, func() {
		w.fire()
		vacate(w)
	})
}

// cancellable returns ctx if the explorer can watch it. Real contexts get no watch.
func cancellable(ctx context.Context) context.Context {
	if model.Watchable(ctx) {
		return ctx
	}
	return nil
}
