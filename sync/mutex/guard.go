package mutex

import "context"

// A Guard is a value and the lock that protects it: there is no way to the value but by locking.
// The zero Guard has a zero value, and is unlocked. It must not be copied after first use.
//
//	var sessions mutex.Guard[map[string]Session]
//
//	sessions.Do(func(m *map[string]Session) { delete(*m, id) })
//
// The pointer that a method gives out is good until the unlock. Order, cancellation, allocation and
// synchronization are those of [Mutex].
type Guard[T any] struct {
	mu    Mutex
	value T
}

// NewGuard returns a guard of value.
func NewGuard[T any](value T) *Guard[T] { return &Guard[T]{value: value} }

// Do calls f with the value, locked. It unlocks however f ends: by a panic or runtime.Goexit, too.
// The value is then as f has left it. It panics, and does not lock, if f is nil.
func (g *Guard[T]) Do(f func(value *T)) {
	if f == nil {
		panic("mutex: Do of a nil function")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.value)
}

// DoContext is Do, but gives up when ctx is done, and then returns ctx.Err() without having called
// f. It panics if ctx or f is nil.
func (g *Guard[T]) DoContext(ctx context.Context, f func(value *T)) error {
	if f == nil {
		panic("mutex: DoContext of a nil function")
	}
	if err := g.mu.LockContext(ctx); err != nil {
		return err
	}
	defer g.mu.Unlock()
	f(&g.value)
	return nil
}

// Lock locks, and returns the value.
func (g *Guard[T]) Lock() *T {
	g.mu.Lock()
	return &g.value
}

// TryLock returns the value, locked, if it is unlocked and nobody waits for it; otherwise nil.
func (g *Guard[T]) TryLock() *T {
	if !g.mu.TryLock() {
		return nil
	}
	return &g.value
}

// LockContext is Lock, but gives up when ctx is done, and then returns nil and ctx.Err().
func (g *Guard[T]) LockContext(ctx context.Context) (*T, error) {
	if err := g.mu.LockContext(ctx); err != nil {
		return nil, err
	}
	return &g.value, nil
}

// Unlock ends what a Lock has begun. It panics if the guard is not locked.
func (g *Guard[T]) Unlock() { g.mu.Unlock() }

// Mutex returns the lock, for a [LockFuture]. Who has locked it so gets at the value by Value. It
// must not be unlocked while somebody uses the value.
func (g *Guard[T]) Mutex() *Mutex { return &g.mu }

// Value returns the value, for a caller that has locked the guard: by Lock, or by a future of its
// Mutex. It is good until the unlock. Value panics if nobody has locked the guard. That another
// has, and not the caller, it cannot tell.
func (g *Guard[T]) Value() *T {
	if g.mu.e.Available(base) > 0 {
		panic("mutex: Guard.Value of a guard that nobody has locked")
	}
	return &g.value
}
