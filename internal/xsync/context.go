package xsync

import (
	"context"
	"unsafe"
)

// MayEnd reports whether ctx can end, as far as is known at no cost: it is false for
// [context.Background], and true for a nil context.
//
// An acquire asks a context twice, before and after. For the one context that most waits without an
// end are given this comparison of one word is cheaper than asking once; the comparison that the
// language offers costs two calls, of the runtime and of the type.
func MayEnd(ctx context.Context) bool { return dynamicType(ctx) != background }

// background stands for the type of the background context, of which there is one value.
var background = func() uintptr {
	var none context.Context
	if b := dynamicType(context.Background()); b != dynamicType(context.TODO()) && b != dynamicType(none) {
		return b
	}
	return ^uintptr(0) // no address: should interfaces begin with something else one day, every context may end
}()

// dynamicType returns the first word of an interface, which tells its dynamic types apart. It is
// only ever a number: it is not turned back into a pointer, and what it is of is never collected,
// nor moved.
func dynamicType(ctx context.Context) uintptr { return *(*uintptr)(unsafe.Pointer(&ctx)) }
