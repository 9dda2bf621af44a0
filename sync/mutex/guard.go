package mutex

import (
	"context"

	"github.com/farad-go/farad/internal/observed"
)

// A Guard is a value and the lock that protects it. Its methods give out the value only to a caller
// that locks. The zero Guard has a zero value and is unlocked. It must not be copied after first
// use.
//
//	var sessions mutex.Guard[map[string]Session]
//
//	sessions.Do(func(m *map[string]Session) { delete(*m, id) })
//
// The pointer that a method gives out is valid until the function returns. Order, cancellation,
// allocation and synchronization are those of [Mutex].
type Guard[T any] struct {
	mu    Mutex
	value T
}

// NewGuard returns a guard of value.
func NewGuard[T any](value T) *Guard[T] {
	g := &Guard[T]{value: value}
	if observed.Everything() != observed.Off {
		kind.Join(&g.mu)
	}
	return g
}

// observable returns the lock, which is observed if the guard is.
func (g *Guard[T]) observable() *Mutex {
	if g == nil {
		panic("observe: a nil *mutex.Guard")
	}
	return &g.mu
}

// Do locks, calls f with the value, and unlocks however f ends: by a return, a panic or
// runtime.Goexit. It panics, and does not lock, if f is nil.
func (g *Guard[T]) Do(f func(value *T)) {
	if f == nil {
		panic("mutex: Do of a nil function")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.value)
}

// DoContext is Do, but gives up when ctx is done and returns ctx.Err() without calling f. It panics
// if ctx or f is nil.
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

// Mutex returns the lock, for what a function cannot do: a [waiter.Future], a try, a timeout. A
// caller that has locked it gets the value from Value. The lock must not be unlocked while the
// value is used.
func (g *Guard[T]) Mutex() *Mutex { return &g.mu }

// Value returns the value. The caller has locked the Mutex of the guard, and uses the value until
// the unlock. Value panics if the guard is not locked. It does not know
// whether the caller or another goroutine has locked it.
func (g *Guard[T]) Value() *T {
	if g.mu.permits().Available() > 0 {
		panic("mutex: Guard.Value of a guard that is not locked")
	}
	return &g.value
}
