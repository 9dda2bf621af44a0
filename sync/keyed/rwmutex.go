package keyed

import (
	"context"
	"time"
)

// An RWMutex is a read-write lock for each key: any number of readers hold a key, or one writer.
// The zero RWMutex is ready: no key is locked. An RWMutex must not be copied after first use. A
// lock is not tied to a goroutine.
//
// Every method that takes several keys locks or unlocks all of them or none. A key that is named
// twice counts once. A call panics, and has changed nothing, if a key is not equal to itself or
// cannot be compared.
//
// Order: FIFO for each key, of readers and writers together; readers that are next to each other
// get in together. So a goroutine that has a key read-locked must not read-lock it again: a writer
// may wait in between. Cost: as that of a [Mutex], also for a reader.
//
// Memory model: an unlock of a key synchronizes before the return of every later lock of that key,
// and an RUnlock before the return of every later Lock.
type RWMutex[K comparable] struct{ lines lines[K] }

// The permits of a key. A writer takes them all. As many readers as there are permits would look
// like a writer, so one fewer can be there.
const (
	everyone    int64 = 1 << 60
	mostReaders       = everyone - 1
)

func (m *RWMutex[K]) table() *table[K] { return m.lines.table(everyone) }

// Lock locks the keys for a writer. If one of them is locked the caller waits. It enters the lines
// of all keys at one instant, and waits until it has every lock, so calls of Lock and RLock do not
// deadlock with each other, whatever the order of their keys. Meanwhile it holds those locks that
// it has got.
func (m *RWMutex[K]) Lock(keys ...K) {
	m.lines.acquire(everyone, everyone, everyone, keys...)
}

// TryLock locks the keys for a writer if all are unlocked, and reports whether it did.
func (m *RWMutex[K]) TryLock(keys ...K) bool {
	return m.table().tryAcquire(everyone, everyone, keys...)
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err(). Then the caller holds
// none of the locks.
func (m *RWMutex[K]) LockContext(ctx context.Context, keys ...K) error {
	return m.table().acquireContext(ctx, everyone, everyone, keys...)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// locks. If d <= 0 it never does; TryLock locks without waiting.
func (m *RWMutex[K]) LockTimeout(d time.Duration, keys ...K) bool {
	return m.table().acquireTimeout(d, everyone, everyone, keys...)
}

// Unlock ends a writer's locks of the keys at one instant. They need not be those of one Lock. If a
// key has no writer Unlock panics, names the key, and has changed nothing.
func (m *RWMutex[K]) Unlock(keys ...K) {
	if k, ok := m.lines.release(everyone, everyone, everyone, keys...); !ok {
		panicNoWriter(k)
	}
}

//go:noinline
func panicNoWriter[K comparable](k K) {
	panic("keyed: Unlock of key " + name(k) + ", which is unlocked or read-locked")
}

// RLock locks the keys for a reader. If a writer has one of them locked, or any request waits for
// one, the caller waits. With several keys it is as [RWMutex.Lock].
func (m *RWMutex[K]) RLock(keys ...K) {
	m.lines.acquire(everyone, 1, mostReaders, keys...)
}

// TryRLock locks the keys for a reader if that is possible at once, and reports whether it did. It
// fails while another request waits for one of them.
func (m *RWMutex[K]) TryRLock(keys ...K) bool {
	return m.table().tryAcquire(1, mostReaders, keys...)
}

// RLockContext is to RLock as LockContext is to Lock.
func (m *RWMutex[K]) RLockContext(ctx context.Context, keys ...K) error {
	return m.table().acquireContext(ctx, 1, mostReaders, keys...)
}

// RLockTimeout is to RLock as LockTimeout is to Lock.
func (m *RWMutex[K]) RLockTimeout(d time.Duration, keys ...K) bool {
	return m.table().acquireTimeout(d, 1, mostReaders, keys...)
}

// RUnlock ends a reader's locks of the keys at one instant. If a key has no reader RUnlock panics,
// names the key, and has changed nothing.
func (m *RWMutex[K]) RUnlock(keys ...K) {
	if k, ok := m.lines.release(everyone, 1, mostReaders, keys...); !ok {
		panicNoReader(k)
	}
}

//go:noinline
func panicNoReader[K comparable](k K) {
	panic("keyed: RUnlock of key " + name(k) + ", which is unlocked or write-locked")
}

// Len returns the number of keys that are locked. (A key that is waited for is locked.) It looks at
// one shard after the other, so while keys come and go it may be a number that never was.
func (m *RWMutex[K]) Len() int { return m.lines.len() }

// Waiting returns the number of callers that wait for k. It is meant for tests and statistics.
func (m *RWMutex[K]) Waiting(k K) int {
	_, n := m.lines.look(everyone, k)
	return n
}
