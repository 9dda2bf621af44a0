package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// An MCS is the queue lock of Mellor-Crummey and Scott: each arrival appends a node with one
// exchange, and waits at its own node.
//
// Order: strict FIFO, in the order of the exchanges.
//
// Invariants:
//
//  1. last is the node of the newest arrival, or nil if the lock is free. The goroutine that has
//     exchanged nil holds the lock. All others are granted it by their predecessor.
//     (TestModelLocks)
//  2. An arrival links its node into its predecessor's. So the predecessor keeps its node until it
//     has read the link, or until last shows that no arrival can follow. (TestModelLocks)
//
// Source: Mellor-Crummey and Scott, Algorithms for Scalable Synchronization on Shared-Memory
// Multiprocessors (1991). There the caller brings the node; here it comes from a pool, and the lock
// remembers the holder's.
type MCS struct {
	last  xsync.Pointer[node]
	_     [apart - 8]byte
	owner *node // the holder's; guarded by the lock
	_     [apart - 8]byte
}

// Lock locks l, and waits until it can.
func (l *MCS) Lock() {
	n := newNode()
	if before := l.last.Swap(n); before != nil {
		before.next.Store(n)
		n.await()
	}
	l.owner = n
}

// TryLock locks l if it is unlocked, and reports whether it did.
func (l *MCS) TryLock() bool {
	n := newNode()
	if l.last.Load() != nil || !l.last.CompareAndSwap(nil, n) {
		n.free()
		return false
	}
	l.owner = n
	return true
}

// Unlock unlocks l, or hands it over. It panics if l is not locked.
func (l *MCS) Unlock() {
	n := l.owner
	if n == nil {
		panic(notLocked)
	}
	l.owner = nil
	if !l.last.CompareAndSwap(n, nil) {
		next := n.next.Load()
		for ; next == nil; next = n.next.Load() { // The successor is about to link its node.
			xsync.Yield()
		}
		next.grant()
	}
	n.free()
}
