package keyed

import (
	"context"
	"time"
)

// A Mutex is a mutual exclusion lock for each key. The zero Mutex is ready: no key is locked. A
// Mutex must not be copied after first use. A lock is not tied to a goroutine: one goroutine may
// lock a key, and another unlock it.
//
// A call panics, and has changed nothing, if a key is not equal to itself or cannot be compared.
//
// Order: FIFO for each key, over all ways to lock. Cost: two hashes and two short critical sections
// for a Lock and its Unlock, whatever the number of keys. If the number of keys in use multiplies
// entries are allocated, and as it falls they are freed.
//
// Memory model: an unlock of a key synchronizes before the return of every later lock of that key.
type Mutex[K comparable] struct{ lines lines[K] }

// table has one permit for each key.
func (m *Mutex[K]) table() *table[K] { return m.lines.table(1) }

// Lock locks k. If k is locked the caller waits.
func (m *Mutex[K]) Lock(k K) {
	m.lines.acquire(1, k, 1, 1)
}

// TryLock locks k if it is unlocked, and reports whether it did. It fails while another waits.
func (m *Mutex[K]) TryLock(k K) bool {
	return m.table().tryAcquire(k, 1, 1)
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *Mutex[K]) LockContext(ctx context.Context, k K) error {
	return m.table().acquireContext(ctx, k, 1, 1)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it never does; TryLock locks without waiting.
func (m *Mutex[K]) LockTimeout(d time.Duration, k K) bool {
	return m.table().acquireTimeout(d, k, 1, 1)
}

// Unlock unlocks k, or hands it to the caller that has waited longest. If k is not locked Unlock
// panics, names k, and has changed nothing.
func (m *Mutex[K]) Unlock(k K) {
	if !m.lines.release(1, k, 1, 1) {
		panicUnlocked(k)
	}
}

//go:noinline
func panicUnlocked[K comparable](k K) { panic("keyed: unlock of unlocked key " + name(k)) }

// LockAll locks all the keys. It enters all their lines at one instant, and waits until it has
// every lock. So calls of LockAll do not deadlock with each other, whatever the order of their
// keys. Meanwhile it holds those locks that it has got. A key that is named twice counts once.
func (m *Mutex[K]) LockAll(keys ...K) {
	_ = m.table().acquireAll(context.Background(), keys, 1, 1)
}

// LockAllContext is LockAll, but gives up when ctx is done. Then it holds none of the locks, and
// returns ctx.Err(). In all else it is as LockContext.
func (m *Mutex[K]) LockAllContext(ctx context.Context, keys ...K) error {
	return m.table().acquireAll(ctx, keys, 1, 1)
}

// UnlockAll unlocks all the keys at one instant. A key that is named twice counts once. If a key is
// not locked UnlockAll panics, names it, and has changed nothing.
func (m *Mutex[K]) UnlockAll(keys ...K) {
	if k, ok := m.table().releaseAll(keys, 1, 1); !ok {
		panicUnlocked(k)
	}
}

// Len returns the number of keys that are locked. (A key that is waited for is locked.) It looks at
// one shard after the other, so while keys come and go it may be a number that never was.
func (m *Mutex[K]) Len() int { return m.lines.len() }

// Waiting returns the number of callers that wait for k. It is meant for tests and statistics.
func (m *Mutex[K]) Waiting(k K) int {
	_, n := m.lines.look(1, k)
	return n
}
