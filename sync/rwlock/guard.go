package rwlock

import (
	"context"

	"github.com/farad-go/farad/internal/observed"
)

// A Guard is a value and the lock that protects it. Its methods give out the value only to a caller
// that locks. The zero Guard has a zero value and is unlocked. It must not be copied after first
// use.
//
//	var routes rwlock.Guard[map[string]Route]
//
//	routes.Read(func(m *map[string]Route) { r = (*m)[name] })
//	routes.Write(func(m *map[string]Route) { (*m)[name] = r })
//
// The pointer that a method gives out is valid until the function returns. A function passed to
// Read must not write through it. A method panics before it locks if the function is nil. Order,
// cancellation, allocation and synchronization are those of [RWLock].
type Guard[T any] struct {
	l     RWLock
	value T
}

// NewGuard returns a guard of value.
func NewGuard[T any](value T) *Guard[T] {
	g := &Guard[T]{value: value}
	if observed.Everything() != observed.Off {
		kind.Join(&g.l)
	}
	return g
}

// observable returns the lock, which is observed if the guard is.
func (g *Guard[T]) observable() *RWLock {
	if g == nil {
		panic("observe: a nil *rwlock.Guard")
	}
	return &g.l
}

// Read locks for reading, calls f with the value, and unlocks however f ends: by a return, a panic
// or runtime.Goexit.
func (g *Guard[T]) Read(f func(value *T)) {
	if f == nil {
		panic("rwlock: Read of a nil function")
	}
	g.l.RLock()
	defer g.l.RUnlock()
	f(&g.value)
}

// Write locks for writing, calls f with the value, and unlocks however f ends.
func (g *Guard[T]) Write(f func(value *T)) {
	if f == nil {
		panic("rwlock: Write of a nil function")
	}
	g.l.Lock()
	defer g.l.Unlock()
	f(&g.value)
}

// ReadContext is Read, but gives up when ctx is done and returns ctx.Err() without calling f.
func (g *Guard[T]) ReadContext(ctx context.Context, f func(value *T)) error {
	if f == nil {
		panic("rwlock: ReadContext of a nil function")
	}
	if err := g.l.RLockContext(ctx); err != nil {
		return err
	}
	defer g.l.RUnlock()
	f(&g.value)
	return nil
}

// WriteContext is Write, but gives up when ctx is done and returns ctx.Err() without calling f.
func (g *Guard[T]) WriteContext(ctx context.Context, f func(value *T)) error {
	if f == nil {
		panic("rwlock: WriteContext of a nil function")
	}
	if err := g.l.LockContext(ctx); err != nil {
		return err
	}
	defer g.l.Unlock()
	f(&g.value)
	return nil
}

// RWLock returns the lock, for a [waiter.Future] or an upgrade. A caller that has locked it gets
// the value from Value. The lock must not be unlocked while the value is used.
func (g *Guard[T]) RWLock() *RWLock { return &g.l }

// Value returns the value, for a caller that has locked the RWLock of the guard. With a read lock
// the caller must not write through it. The pointer is valid until the unlock, for writing until
// the downgrade. Value panics if the guard is not locked. It does not know whether the caller or
// another goroutine has locked it.
func (g *Guard[T]) Value() *T {
	if g.l.e.IsUnlocked() {
		panic("rwlock: Guard.Value of a guard that is not locked")
	}
	return &g.value
}
