//go:build !interleave

package waiter

import (
	"context"
	"reflect"
	"runtime"
)

// watchAfter is how many waits on a done channel pass before a watch is made for it.
const watchAfter = 8

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
		switch reflect.TypeOf(ctx) {
		case cancelCtxType, timerCtxType:
			return ctx
		case valueCtxType:
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

var cancelCtxType, timerCtxType, valueCtxType = func() (_, _, _ reflect.Type) {
	type key struct{}
	c, cancel := context.WithCancel(context.Background())
	defer cancel()
	// It has ended already. A timer, even a stopped one, would hide deadlocks from the runtime.
	t, stop := context.WithTimeout(context.Background(), 0)
	defer stop()
	return reflect.TypeOf(c), reflect.TypeOf(t), reflect.TypeOf(context.WithValue(c, key{}, 0))
}()
