package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A LIFO is a lock that is as unfair as can be: an unlock hands it to whoever came last. Two
// goroutines that want it all the time keep it to themselves, and all others starve.
//
//	top   nil    unlocked
//	      held   locked, and nobody waits
//	      else   locked, and the nodes of those who wait, the newest at the top
//
// Invariants:
//
//  1. A node is pushed by its owner, and popped by the holder of the lock, nobody else. So what is
//     below the top is what it was when the holder looked, as long as the top is the same.
//     (TestModelLocks)
//  2. Whoever changes the top from nil holds the lock, and so does the owner of a node that is
//     popped. (TestModelLocks)
//
// Source: Dice and Kogan, Capacitors, section 4.
type LIFO struct {
	top xsync.Pointer[node]
	_   [apart - 8]byte
}

// Lock locks l, and waits for it if need be.
func (l *LIFO) Lock() {
	if !l.TryLock() {
		l.lockSlow()
	}
}

//go:noinline
func (l *LIFO) lockSlow() {
	n := newNode()
	for { // A turn is lost only to another's success.
		n.link = l.top.Load()
		if n.link == nil {
			if l.TryLock() {
				break
			}
		} else if l.top.CompareAndSwap(n.link, n) {
			n.await()
			break
		}
	}
	n.free()
}

// TryLock locks l if it is unlocked, and reports whether it did.
func (l *LIFO) TryLock() bool { return l.top.CompareAndSwap(nil, &held) }

// Unlock unlocks l, or hands it over. It panics if l is not locked.
func (l *LIFO) Unlock() {
	for { // A turn is lost only to an arrival.
		top := l.top.Load()
		switch top {
		case nil:
			panic(notLocked)
		case &held:
			if l.top.CompareAndSwap(&held, nil) {
				return
			}
		default:
			if l.top.CompareAndSwap(top, top.link) { // invariant 1
				top.grant()
				return
			}
		}
	}
}
