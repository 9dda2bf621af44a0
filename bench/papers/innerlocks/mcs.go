package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// An MCS is the queue lock of Mellor-Crummey and Scott: each arrival appends a node by one
// exchange, and waits at that.
//
// Order: strictly first come, first served, by the exchange.
//
// Invariants:
//
//  1. last is the node of who came last, nil if the lock is free. Whoever has exchanged nil holds
//     the lock; anybody else is granted it by the one before. (TestModelLocks)
//  2. Who has come writes its node into that of the one before, who therefore keeps it until it has
//     seen that, or until nobody can come any more, because last is not its node any more.
//     (TestModelLocks)
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

// Lock locks l, and waits for it if need be.
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
		for ; next == nil; next = n.next.Load() { // Who has come is about to say so.
			xsync.Yield()
		}
		next.grant()
	}
	n.free()
}
