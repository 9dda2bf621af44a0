package keyed

import (
	"context"
	"time"
)

// An RWMutex is a read-write lock for each key: any number of readers hold a key, or one writer.
// The zero RWMutex is ready: no key is locked. An RWMutex must not be copied after first use. A
// lock is not tied to a goroutine.
//
// A call panics, and has changed nothing, if a key is not equal to itself or cannot be compared.
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

// Lock locks k for a writer. If k is locked the caller waits.
func (m *RWMutex[K]) Lock(k K) {
	m.lines.acquire(everyone, k, everyone, everyone)
}

// TryLock locks k for a writer if it is unlocked, and reports whether it did.
func (m *RWMutex[K]) TryLock(k K) bool {
	return m.table().tryAcquire(k, everyone, everyone)
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *RWMutex[K]) LockContext(ctx context.Context, k K) error {
	return m.table().acquireContext(ctx, k, everyone, everyone)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it never does; TryLock locks without waiting.
func (m *RWMutex[K]) LockTimeout(d time.Duration, k K) bool {
	return m.table().acquireTimeout(d, k, everyone, everyone)
}

// Unlock ends a writer's lock of k. If there is none Unlock panics, names k, and has changed
// nothing.
func (m *RWMutex[K]) Unlock(k K) {
	if !m.lines.release(everyone, k, everyone, everyone) {
		panicNoWriter(k)
	}
}

//go:noinline
func panicNoWriter[K comparable](k K) {
	panic("keyed: Unlock of key " + name(k) + ", which is unlocked or read-locked")
}

// RLock locks k for a reader. If a writer has k locked, or any request waits for k, the caller
// waits.
func (m *RWMutex[K]) RLock(k K) {
	m.lines.acquire(everyone, k, 1, mostReaders)
}

// TryRLock locks k for a reader if that is possible at once, and reports whether it did. It fails
// while another request waits for k.
func (m *RWMutex[K]) TryRLock(k K) bool {
	return m.table().tryAcquire(k, 1, mostReaders)
}

// RLockContext is to RLock as LockContext is to Lock.
func (m *RWMutex[K]) RLockContext(ctx context.Context, k K) error {
	return m.table().acquireContext(ctx, k, 1, mostReaders)
}

// RLockTimeout is to RLock as LockTimeout is to Lock.
func (m *RWMutex[K]) RLockTimeout(d time.Duration, k K) bool {
	return m.table().acquireTimeout(d, k, 1, mostReaders)
}

// RUnlock ends a reader's lock of k. If there is none RUnlock panics, names k, and has changed
// nothing.
func (m *RWMutex[K]) RUnlock(k K) {
	if !m.lines.release(everyone, k, 1, mostReaders) {
		panicNoReader(k)
	}
}

//go:noinline
func panicNoReader[K comparable](k K) {
	panic("keyed: RUnlock of key " + name(k) + ", which is unlocked or write-locked")
}

// LockAll locks all the keys for a writer. It enters all their lines at one instant, and waits
// until it has every lock. So calls of LockAll and RLockAll do not deadlock with each other,
// whatever the order of their keys. Meanwhile it holds those locks that it has got. A key that is
// named twice counts once.
func (m *RWMutex[K]) LockAll(keys ...K) {
	_ = m.table().acquireAll(context.Background(), keys, everyone, everyone)
}

// LockAllContext is LockAll, but gives up when ctx is done. Then it holds none of the locks, and
// returns ctx.Err(). In all else it is as LockContext.
func (m *RWMutex[K]) LockAllContext(ctx context.Context, keys ...K) error {
	return m.table().acquireAll(ctx, keys, everyone, everyone)
}

// UnlockAll ends a writer's locks of all the keys at one instant. A key that is named twice counts
// once. If a key has no writer UnlockAll panics, names it, and has changed nothing.
func (m *RWMutex[K]) UnlockAll(keys ...K) {
	if k, ok := m.table().releaseAll(keys, everyone, everyone); !ok {
		panicNoWriter(k)
	}
}

// RLockAll is LockAll for a reader.
func (m *RWMutex[K]) RLockAll(keys ...K) {
	_ = m.table().acquireAll(context.Background(), keys, 1, mostReaders)
}

// RLockAllContext is LockAllContext for a reader.
func (m *RWMutex[K]) RLockAllContext(ctx context.Context, keys ...K) error {
	return m.table().acquireAll(ctx, keys, 1, mostReaders)
}

// RUnlockAll is UnlockAll for a reader.
func (m *RWMutex[K]) RUnlockAll(keys ...K) {
	if k, ok := m.table().releaseAll(keys, 1, mostReaders); !ok {
		panicNoReader(k)
	}
}

// Len returns the number of keys that are locked. (A key that is waited for is locked.) It looks at
// one shard after the other, so while keys come and go it may be a number that never was.
func (m *RWMutex[K]) Len() int { return m.lines.len() }

// Waiting returns the number of callers that wait for k. It is meant for tests and statistics.
func (m *RWMutex[K]) Waiting(k K) int {
	_, n := m.lines.look(everyone, k)
	return n
}
