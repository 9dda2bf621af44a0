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

// MayPanic reports whether ctx may panic when it is asked, or end the goroutine, because it is of a
// foreign type or wraps another. Code that holds something asks such a context with a guard, which
// costs more than the question.
func MayPanic(ctx context.Context) bool {
	t := dynamicType(ctx)
	return t != cancellable && t != timed
}

// cancellable and timed stand for the types of the contexts that end by a call, or at a time.
var cancellable, timed = func() (_, _ uintptr) {
	c, cancel := context.WithCancel(context.Background())
	defer cancel()
	// It has ended already. A timer, even a stopped one, would hide deadlocks from the runtime.
	t, stop := context.WithTimeout(context.Background(), 0)
	defer stop()
	return dynamicType(c), dynamicType(t)
}()

// background stands for the type of the background context, of which there is one value.
var background = func() uintptr {
	var none context.Context
	if b := dynamicType(context.Background()); b != dynamicType(context.TODO()) && b != dynamicType(none) {
		return b
	}
	return ^uintptr(0) // no address: should interfaces begin with something else one day, every context may end
}()

// dynamicType returns the first word of an interface, which distinguishes its dynamic types. It is
// only ever a number: it is not turned back into a pointer, and what it is of is never collected,
// nor moved.
func dynamicType(ctx context.Context) uintptr { return *(*uintptr)(unsafe.Pointer(&ctx)) }
