package interleave

import (
	"runtime"
	"sync/atomic"
)

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
	object
	v A
}

// run returns the run that schedules the operation, nil if nothing does.
//
//go:norace
func (c *cell[T, A, P]) run() *Run {
	x := current
	if x == nil {
		return nil
	}
	if c.epoch != x.epoch {
		c.adopt(x)
		var zero T
		if P(&c.v).Load() != zero { // A needless store would be an edge to the race detector.
			P(&c.v).Store(zero)
		}
	}
	if x.quiet {
		return nil
	}
	return x
}

// Load returns the value.
//
//go:norace
func (c *cell[T, A, P]) Load() T {
	x := c.run()
	if x == nil {
		return P(&c.v).Load()
	}
	x.step(&c.object, opRead)
	r := P(&c.v).Load()
	x.running.saw(&c.object)
	if x.tracing {
		x.say(&c.object, "Load() = ", r)
	}
	return r
}

// Store sets the value.
//
//go:norace
func (c *cell[T, A, P]) Store(n T) {
	x := c.run()
	if x == nil {
		P(&c.v).Store(n)
		return
	}
	x.step(&c.object, opWrite)
	old := P(&c.v).Load()
	P(&c.v).Store(n)
	x.wrote(&c.object, old != n)
	if x.tracing {
		x.say(&c.object, "Store(", n, ")")
	}
}

// Swap sets the value and returns the old one.
//
//go:norace
func (c *cell[T, A, P]) Swap(n T) T {
	x := c.run()
	if x == nil {
		return P(&c.v).Swap(n)
	}
	x.step(&c.object, opWrite)
	old := P(&c.v).Swap(n)
	x.wrote(&c.object, old != n)
	if x.tracing {
		x.say(&c.object, "Swap(", n, ") = ", old)
	}
	return old
}

// CompareAndSwap sets the value to n if it is o. If it is not, that was a read.
//
//go:norace
func (c *cell[T, A, P]) CompareAndSwap(o, n T) bool {
	x := c.run()
	if x == nil {
		return P(&c.v).CompareAndSwap(o, n)
	}
	x.step(&c.object, opWrite)
	ok := P(&c.v).CompareAndSwap(o, n)
	if !ok {
		x.exec.kind = opRead
	}
	x.wrote(&c.object, ok && o != n)
	if x.tracing {
		x.say(&c.object, "CompareAndSwap(", o, ", ", n, ") = ", ok)
	}
	return ok
}

// peek is how traces look at the value.
func (c *cell[T, A, P]) peek() any { return P(&c.v).Load() }

type integer[T comparable, A any, P atomicInteger[T, A]] struct {
	cell[T, A, P]
}

// Add adds d and returns the new value.
//
//go:norace
func (c *integer[T, A, P]) Add(d T) T {
	x := c.run()
	if x == nil {
		return P(&c.v).Add(d)
	}
	x.step(&c.object, opWrite)
	old := P(&c.v).Load()
	r := P(&c.v).Add(d)
	x.wrote(&c.object, old != r)
	if x.tracing {
		x.say(&c.object, "Add(", d, ") = ", r)
	}
	return r
}

// Or sets the bits of mask and returns the old value.
//
//go:norace
func (c *integer[T, A, P]) Or(mask T) T {
	x := c.run()
	if x == nil {
		return P(&c.v).Or(mask)
	}
	x.step(&c.object, opWrite)
	old := P(&c.v).Or(mask)
	x.wrote(&c.object, old != P(&c.v).Load())
	if x.tracing {
		x.say(&c.object, "Or(", mask, ") = ", old)
	}
	return old
}

// And keeps only the bits of mask and returns the old value.
//
//go:norace
func (c *integer[T, A, P]) And(mask T) T {
	x := c.run()
	if x == nil {
		return P(&c.v).And(mask)
	}
	x.step(&c.object, opWrite)
	old := P(&c.v).And(mask)
	x.wrote(&c.object, old != P(&c.v).Load())
	if x.tracing {
		x.say(&c.object, "And(", mask, ") = ", old)
	}
	return old
}

// wrote notes that a write of o has been done.
//
//go:norace
func (x *Run) wrote(o *object, changed bool) {
	if changed {
		o.version++
	}
	x.running.saw(o)
}

func realYield() { runtime.Gosched() }
