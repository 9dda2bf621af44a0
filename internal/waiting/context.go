//go:build !interleave

package waiting

import (
	"context"
	"reflect"
	"runtime"

	"github.com/farad-go/farad/internal/xsync"
)

// watchAfter is how many waits on a done channel pass before a watch is made for it.
const watchAfter = 8

// watches is watchFor from the first limit with a context on. So the linker leaves what watches
// contexts out of programs that make no such limit, and most of packages context and time with it.
var watches xsync.Pointer[func(ctx context.Context, done <-chan struct{}) *watch]

// mayWatch is called when a limit with a context is made.
func mayWatch() {
	if watches.Load() == nil {
		f := watchFor
		watches.Store(&f)
	}
}

// watchOf is watchFor, for the context of a limit.
func watchOf(ctx context.Context, done <-chan struct{}) *watch { return (*watches.Load())(ctx, done) }

// slotsFor returns the two slots of the channel with this key.
func slotsFor(key uintptr) (first, second *watchSlot) {
	const golden = 0x9E3779B9 // Fibonacci hashing
	i := uint32(key>>5) * golden >> (32 - watchTableBits)
	return &watchTable[i], &watchTable[i^1]
}

// registerWith has the watch fire and be vacated when ctx is cancelled. A context that is dropped
// without a cancel takes its AfterFunc with it, and so the anchor; then the watch is vacated, too.
func (w *watch) registerWith(ctx context.Context, vacate func(*watch)) {
	anchor := new(*watch)
	runtime.AddCleanup(anchor, vacate, w)
	context.AfterFunc(ctx, func() {
		w.fire()
		vacate(w)
		runtime.KeepAlive(anchor)
	})
}

// cancellable returns the context of package context whose done channel ctx has, without the values
// around it, which a registration would keep alive; or nil if there is none, because ctx, or what
// it wraps, is a foreign type. With the contexts that it returns, context.AfterFunc makes an entry
// in the context and starts no goroutine.
func cancellable(ctx context.Context) context.Context {
	for {
		switch xsync.KindOf(ctx) {
		case xsync.Cancellable, xsync.Timed:
			return ctx
		case xsync.Valued:
			embedded := reflect.ValueOf(ctx).Elem().FieldByName("Context")
			if !embedded.IsValid() {
				return nil
			}
			parent, ok := reflect.TypeAssert[context.Context](embedded)
			if !ok {
				return nil
			}
			ctx = parent
		default:
			return nil
		}
	}
}
