package rwlock

import "context"

// A Guard is a value and the lock that protects it: there is no way to the value but by locking.
// The zero Guard has a zero value, and is unlocked. It must not be copied after first use.
//
//	var routes rwlock.Guard[map[string]Route]
//
//	routes.Read(func(m *map[string]Route) { r = (*m)[name] })
//	routes.Write(func(m *map[string]Route) { (*m)[name] = r })
//
// The pointer that a method gives out is good until the function returns, and Read's is not to be
// written through. A nil function is a panic, before anything is locked. Order, cancellation,
// allocation and synchronization are those of [RWLock].
type Guard[T any] struct {
	l     RWLock
	value T
}

// NewGuard returns a guard of value.
func NewGuard[T any](value T) *Guard[T] { return &Guard[T]{value: value} }

// Read calls f with the value, locked for reading. It unlocks however f ends: by a panic or
// runtime.Goexit, too.
func (g *Guard[T]) Read(f func(value *T)) {
	if f == nil {
		panic("rwlock: Read of a nil function")
	}
	g.l.RLock()
	defer g.l.RUnlock()
	f(&g.value)
}

// Write calls f with the value, locked for writing. It unlocks however f ends; the value is then as
// f has left it.
func (g *Guard[T]) Write(f func(value *T)) {
	if f == nil {
		panic("rwlock: Write of a nil function")
	}
	g.l.Lock()
	defer g.l.Unlock()
	f(&g.value)
}

// ReadContext is Read, but gives up when ctx is done, and then returns ctx.Err() without having
// called f. It panics if ctx is nil.
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

// WriteContext is Write, but gives up when ctx is done, and then returns ctx.Err() without having
// called f. It panics if ctx is nil.
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

// RWLock returns the lock, for a [LockFuture] or an upgrade. Who has locked it so gets at the value
// by Value. It must not be unlocked while somebody uses the value.
func (g *Guard[T]) RWLock() *RWLock { return &g.l }

// Value returns the value, for a caller that has locked the RWLock of the guard: for writing, by a
// future for instance; or for reading, and then it is not to be written through. It is good until
// the unlock, or, for writing, until the downgrade. Value panics if nobody has locked the guard.
// That another has, and not the caller, it cannot tell.
func (g *Guard[T]) Value() *T {
	if g.l.e.Available(base) == base {
		panic("rwlock: Guard.Value of a guard that nobody has locked")
	}
	return &g.value
}
