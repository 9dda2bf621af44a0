package peers

import (
	"context"
	"sync"
	"sync/atomic"
)

// A MinimalLock is the least that a lock in strict order does if it parks its goroutines itself: a
// word, a list under a mutex, and the runtime's gopark. It is the floor of the contended rows, and
// no lock to use: it has no TryLock, cannot end a wait, checks no misuse, and the caller brings a
// node for each wait. [HasMinimalLock] reports whether this build has it.
type MinimalLock struct {
	word       atomic.Int64 // 0: free; 1: locked; 2: locked, and the list is not empty
	mu         sync.Mutex
	head, tail *MinimalNode
}

// A MinimalNode is a place in the list, for one wait at a time. It is on the heap.
type MinimalNode struct {
	state uintptr //nolint:unused // 0: nothing; 1: a wake-up; else the g that sleeps. See minimal_gopark.go.
	next  *MinimalNode
}

// Lock locks l, with a node that no other goroutine uses.
func (l *MinimalLock) Lock(n *MinimalNode) {
	if l.word.CompareAndSwap(0, 1) {
		return
	}
	l.mu.Lock()
	for { // again only if another goroutine has locked or unlocked meanwhile
		w := l.word.Load()
		if w == 0 {
			if l.word.CompareAndSwap(0, 1) {
				l.mu.Unlock()
				return
			}
			continue
		}
		if w == 2 || l.word.CompareAndSwap(1, 2) {
			break
		}
	}
	n.next = nil
	if l.tail == nil {
		l.head = n
	} else {
		l.tail.next = n
	}
	l.tail = n
	l.mu.Unlock()
	n.park()
}

// Unlock unlocks l, or hands it to the goroutine that has waited longest.
func (l *MinimalLock) Unlock() {
	if l.word.CompareAndSwap(1, 0) {
		return
	}
	l.mu.Lock()
	n := l.head
	l.head = n.next
	if l.head == nil {
		l.tail = nil
		l.word.Store(1)
	}
	l.mu.Unlock()
	n.wake()
}

// An OfGoroutines locker has something of its own for each goroutine.
type OfGoroutines interface {
	Locker
	// OfGoroutine returns the locker for one goroutine.
	OfGoroutine() Locker
}

// OfGoroutine returns what one goroutine calls of l.
func OfGoroutine(l Locker) Locker {
	if all, ok := l.(OfGoroutines); ok {
		return all.OfGoroutine()
	}
	return l
}

// Minimal is a MinimalLock as a semaphore of one permit.
type Minimal struct {
	*MinimalLock
	node *MinimalNode // of the only goroutine that uses this copy
}

// NewMinimal returns a free one.
func NewMinimal() *Minimal { return &Minimal{new(MinimalLock), new(MinimalNode)} }

// OfGoroutine implements [OfGoroutines].
func (l *Minimal) OfGoroutine() Locker { return &Minimal{l.MinimalLock, new(MinimalNode)} }

// Acquire locks. It ignores the context.
func (l *Minimal) Acquire(context.Context, int64) error {
	l.Lock(l.node)
	return nil
}

// Release unlocks.
func (l *Minimal) Release(int64) { l.Unlock() }
