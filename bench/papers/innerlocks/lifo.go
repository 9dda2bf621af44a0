package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A LIFO is a lock that is as unfair as possible: an unlock hands it to the newest waiter. Two
// goroutines that lock it all the time keep it to themselves, and all others starve.
//
//	top   nil    unlocked
//	      held   locked, no waiters
//	      else   locked; the waiters' nodes, the newest at the top
//
// Invariants:
//
//  1. A node is pushed by its owner, and popped by the holder of the lock only. So what the holder
//     found below the top stays the same as long as the top does. (TestModelLocks)
//  2. The goroutine that changes the top from nil holds the lock, and so does the owner of a node
//     that is popped. (TestModelLocks)
//
// Source: Dice and Kogan, Capacitors, section 4.
type LIFO struct {
	top xsync.Pointer[node]
	_   [apart - 8]byte
}

// Lock locks l, and waits until it can.
func (l *LIFO) Lock() {
	if !l.TryLock() {
		l.lockSlow()
	}
}

//go:noinline
func (l *LIFO) lockSlow() {
	n := newNode()
	for { // A retry follows another's success.
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
	for { // A retry follows an arrival.
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
