package xsync

import (
	"context"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// MayEnd reports whether ctx can end, as far as is known at no cost: it is false for
// [context.Background], once [Learn] has seen it, and true for a nil context.
//
// An acquire asks a context twice, before and after. For the one context that most waits without an
// end are given this comparison of one word is cheaper than asking once; the comparison that the
// language offers costs two calls, of the runtime and of the type.
func MayEnd(ctx context.Context) bool { return dynamicType(ctx) != atomic.LoadUintptr(&background) }

// MayPanic reports whether ctx may panic when it is asked, or end the goroutine, because it is of a
// foreign type or wraps another, or Learn has not seen its type. Code that holds something asks
// such a context with a guard, which costs more than the question.
func MayPanic(ctx context.Context) bool {
	t := dynamicType(ctx)
	return t != atomic.LoadUintptr(&cancellable) && t != atomic.LoadUintptr(&timed)
}

// The types of the contexts that never end, that end by a call, and at a time. Each is no address
// until Learn has seen one. (Nil contexts begin with 0.)
var background, cancellable, timed = ^uintptr(0), ^uintptr(0), ^uintptr(0)

// learned is the type that Learn has seen last.
var learned uintptr

// Learn has MayEnd and MayPanic know the type of ctx, if that is one of package context. What
// asks a context with a guard calls it.
//
// To make one context of each type when the program starts would put package context, and the
// formats of times, into every program that has a lock: 130 kB.
func Learn(ctx context.Context) {
	t := dynamicType(ctx)
	if atomic.LoadUintptr(&learned) == t {
		return
	}
	keep(&learned, t)
	if c, d := context.Canceled, context.DeadlineExceeded; first(&c) == first(&d) {
		return // Interfaces begin with something else one day: every context may end, and panic.
	}
	switch KindOf(ctx) {
	case Background:
		keep(&background, t)
	case Cancellable:
		keep(&cancellable, t)
	case Timed:
		keep(&timed, t)
	default:
	}
}

// keep stores the word of a type. It orders nothing in the program.
func keep(at *uintptr, t uintptr) {
	RaceDisable()
	atomic.StoreUintptr(at, t)
	RaceEnable()
}

// A ContextKind is a type of contexts.
type ContextKind uint8

// The kinds.
const (
	Foreign     ContextKind = iota // of another package, or another type of package context
	Background                     // never ends
	Cancellable                    // ends by a call
	Timed                          // ends at a time, too
	Valued                         // has a value, and ends as its parent does
)

// KindOf returns the kind of a context, by the name of its type.
func KindOf(ctx context.Context) ContextKind {
	t := reflect.TypeOf(ctx)
	if t == nil {
		return Foreign
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() != "context" {
		return Foreign
	}
	switch t.Name() {
	case "backgroundCtx":
		return Background
	case "cancelCtx":
		return Cancellable
	case "timerCtx":
		return Timed
	case "valueCtx":
		return Valued
	default:
		return Foreign
	}
}

// dynamicType returns the first word of an interface, which distinguishes its dynamic types. It is
// only ever a number: it is not turned back into a pointer, and what it is of is never collected,
// nor moved.
func dynamicType(ctx context.Context) uintptr { return first(&ctx) }

// first returns the first word of an interface.
func first[I any](i *I) uintptr { return *(*uintptr)(unsafe.Pointer(i)) }
