package model

import "sync/atomic"

// The modelled atomics are the real ones with a scheduling point in front. So they work outside
// explorations, too, and the race detector sees the edges that the memory model gives them.
type (
	// Bool models [atomic.Bool].
	Bool struct {
		cell[bool, atomic.Bool, *atomic.Bool]
	}
	// Int32 models [atomic.Int32].
	Int32 struct {
		integer[int32, atomic.Int32, *atomic.Int32]
	}
	// Int64 models [atomic.Int64].
	Int64 struct {
		integer[int64, atomic.Int64, *atomic.Int64]
	}
	// Uint32 models [atomic.Uint32].
	Uint32 struct {
		integer[uint32, atomic.Uint32, *atomic.Uint32]
	}
	// Uint64 models [atomic.Uint64].
	Uint64 struct {
		integer[uint64, atomic.Uint64, *atomic.Uint64]
	}
	// Uintptr models [atomic.Uintptr].
	Uintptr struct {
		integer[uintptr, atomic.Uintptr, *atomic.Uintptr]
	}
	// Pointer models [atomic.Pointer].
	Pointer[T any] struct {
		cell[*T, atomic.Pointer[T], *atomic.Pointer[T]]
	}
)

// atomicValue is what all types of sync/atomic have.
type atomicValue[T, A any] interface {
	*A
	Load() T
	Store(n T)
	Swap(n T) T
	CompareAndSwap(o, n T) bool
}

// atomicInteger is what its integers have besides.
type atomicInteger[T, A any] interface {
	atomicValue[T, A]
	Add(d T) T
	Or(mask T) T
	And(mask T) T
}

type cell[T comparable, A any, P atomicValue[T, A]] struct {
	Object
	v A
}

// step reports whether the operation is a step, and returns when it may be done.
//
//go:norace
func (c *cell[T, A, P]) step(k Kind) bool {
	e := explorer
	if e == nil {
		return false
	}
	if c.Epoch != epoch { // Every execution begins with zero.
		c.Object = Object{Epoch: epoch}
		var zero T
		if P(&c.v).Load() != zero { // A needless store would be an edge to the race detector.
			P(&c.v).Store(zero)
		}
	}
	return e.Step(&c.Object, k)
}

// Load returns the value.
//
//go:norace
func (c *cell[T, A, P]) Load() T {
	step := c.step(Read)
	r := P(&c.v).Load()
	if step && explorer.Done(&c.Object, Read, false) {
		explorer.Say(&c.Object, "Load() = ", r)
	}
	return r
}

// Store sets the value.
//
//go:norace
func (c *cell[T, A, P]) Store(n T) {
	if !c.step(Write) {
		P(&c.v).Store(n)
		return
	}
	old := P(&c.v).Load()
	P(&c.v).Store(n)
	if explorer.Done(&c.Object, Write, old != n) {
		explorer.Say(&c.Object, "Store(", n, ")")
	}
}

// Swap sets the value and returns the old one.
//
//go:norace
func (c *cell[T, A, P]) Swap(n T) T {
	step := c.step(Write)
	old := P(&c.v).Swap(n)
	if step && explorer.Done(&c.Object, Write, old != n) {
		explorer.Say(&c.Object, "Swap(", n, ") = ", old)
	}
	return old
}

// CompareAndSwap sets the value to n if it is o. If it is not, that was a read.
//
//go:norace
func (c *cell[T, A, P]) CompareAndSwap(o, n T) bool {
	step := c.step(Write)
	ok, did := P(&c.v).CompareAndSwap(o, n), Write
	if !ok {
		did = Read
	}
	if step && explorer.Done(&c.Object, did, ok && o != n) {
		explorer.Say(&c.Object, "CompareAndSwap(", o, ", ", n, ") = ", ok)
	}
	return ok
}

// Peek returns the value without a step, for traces.
func (c *cell[T, A, P]) Peek() any { return P(&c.v).Load() }

type number interface {
	int32 | int64 | uint32 | uint64 | uintptr
}

type integer[T number, A any, P atomicInteger[T, A]] struct {
	cell[T, A, P]
}

// Add adds d and returns the new value.
//
//go:norace
func (c *integer[T, A, P]) Add(d T) T {
	step := c.step(Write)
	r := P(&c.v).Add(d)
	if step && explorer.Done(&c.Object, Write, d != 0) {
		explorer.Say(&c.Object, "Add(", d, ") = ", r)
	}
	return r
}

// Or sets the bits of mask and returns the old value.
//
//go:norace
func (c *integer[T, A, P]) Or(mask T) T {
	step := c.step(Write)
	old := P(&c.v).Or(mask)
	if step && explorer.Done(&c.Object, Write, old|mask != old) {
		explorer.Say(&c.Object, "Or(", mask, ") = ", old)
	}
	return old
}

// And keeps only the bits of mask and returns the old value.
//
//go:norace
func (c *integer[T, A, P]) And(mask T) T {
	step := c.step(Write)
	old := P(&c.v).And(mask)
	if step && explorer.Done(&c.Object, Write, old&mask != old) {
		explorer.Say(&c.Object, "And(", mask, ") = ", old)
	}
	return old
}
