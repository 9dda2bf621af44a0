package keyed

import (
	"context"
	"time"
)

// A Mutex is a mutual exclusion lock for each key. The zero Mutex is ready: no key is locked. A
// Mutex must not be copied after first use. A lock is not tied to a goroutine: one goroutine may
// lock a key, and another unlock it.
//
// Every method that takes several keys locks or unlocks all of them or none. A key that is named
// twice counts once. A call panics, and has changed nothing, if a key is not equal to itself or
// cannot be compared.
//
// Order: FIFO for each key, over all ways to lock. Cost: two hashes and two short critical sections
// for a Lock and its Unlock, whatever the number of keys in use. If that number multiplies entries
// are allocated, and as it falls they are freed.
//
// Memory model: an unlock of a key synchronizes before the return of every later lock of that key.
type Mutex[K comparable] struct{ lines lines[K] }

// table has one permit for each key.
func (m *Mutex[K]) table() *table[K] { return m.lines.table(1) }

// Lock locks the keys. If one of them is locked the caller waits. It enters the lines of all keys
// at one instant, and waits until it has every lock, so calls do not deadlock with each other,
// whatever the order of their keys. Meanwhile it holds those locks that it has got.
func (m *Mutex[K]) Lock(keys ...K) {
	m.lines.acquire(1, 1, 1, keys...)
}

// TryLock locks the keys if all are unlocked, and reports whether it did. It fails while another
// waits for one of them.
func (m *Mutex[K]) TryLock(keys ...K) bool {
	return m.table().tryAcquire(1, 1, keys...)
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err(). Then the caller holds
// none of the locks.
func (m *Mutex[K]) LockContext(ctx context.Context, keys ...K) error {
	return m.table().acquireContext(ctx, 1, 1, keys...)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// locks. If d <= 0 it never does; TryLock locks without waiting.
func (m *Mutex[K]) LockTimeout(d time.Duration, keys ...K) bool {
	return m.table().acquireTimeout(d, 1, 1, keys...)
}

// Unlock unlocks the keys at one instant, or hands each to the caller that has waited longest for
// it. They need not be those of one Lock. If a key is not locked Unlock panics, names the key, and
// has changed nothing.
func (m *Mutex[K]) Unlock(keys ...K) {
	if k, ok := m.lines.release(1, 1, 1, keys...); !ok {
		panicUnlocked(k)
	}
}

//go:noinline
func panicUnlocked[K comparable](k K) { panic("keyed: unlock of unlocked key " + name(k)) }

// Len returns the number of keys that are locked. (A key that is waited for is locked.) It looks at
// one shard after the other, so while keys come and go it may be a number that never was.
func (m *Mutex[K]) Len() int { return m.lines.len() }

// Waiting returns the number of callers that wait for k. It is meant for tests and statistics.
func (m *Mutex[K]) Waiting(k K) int {
	_, n := m.lines.look(1, k)
	return n
}
