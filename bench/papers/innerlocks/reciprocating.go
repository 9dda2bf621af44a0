package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A Reciprocating is the reciprocating lock of Dice and Kogan. Each arrival pushes a node with one
// exchange. A holder without a successor takes all of them off at once: they are the next segment.
// A segment is served from the newest node to the oldest, while new arrivals gather for the next
// one.
//
//	arrivals   nil    unlocked
//	           held   locked; no arrivals since the segment was taken off
//	           else   locked; the nodes of later arrivals, the newest at the top. Below them:
//	                  nothing, or the node of the holder that found the lock unlocked
//
//	arrivals -> | F | -> | E |                  wait for the next segment
//	segment       C (holds) -> | B | -> | A |   C hands over to B, B to A; A takes F and E off
//
// An arrival learns from its exchange which node is below its own: that is its successor. It does
// not know whether the successor waits: the oldest of a segment may have pushed on top of the node
// of the holder that took the segment off. So the end of the segment, the node where it stops, is
// handed over with the lock.
//
// Order: every other goroutine overtakes an arrival at most once: if it arrives before the segment
// is taken off. Some may get the lock twice as often as others for a long time.
// (TestModelOvertaking, TestOrderIsAsDocumented)
//
// Invariants:
//
//  1. The goroutine that has exchanged nil holds the lock. All others are granted it by the one
//     above them in their segment or, at the top, by the one that took the segment off.
//     (TestModelLocks)
//  2. A successor that is not the end of the segment waits. (TestModelLocks: otherwise the lock is
//     lost)
//  3. The node of a holder that found the lock unlocked stays its own until it has unlocked. Then
//     it may be reused, although it still is the end of the segment: no other segment, in which it
//     could be a successor, is taken off before that segment has ended. (TestModelLocks/2x3,
//     TestModelTwoLocks)
//
// Source: Dice and Kogan, Reciprocating Locks (2025), arXiv:2501.02380, Listing 1. There each
// thread keeps one node for ever.
type Reciprocating struct {
	arrivals xsync.Pointer[node]
	_        [apart - 8]byte

	// Guarded by the lock: the successor in the segment, or nil; and the end of the segment.
	// Without a successor, the end is the value of arrivals without arrivals: held, or the node of
	// a holder that found the lock unlocked. A nil end means that the lock is unlocked.
	successor, end *node
	_              [apart - 2*8]byte
}

// Lock locks l, and waits until it can.
func (l *Reciprocating) Lock() {
	n := newNode()
	below := l.arrivals.Swap(n)
	if below == nil {
		l.end = n
		return
	}
	n.await()
	end := n.link // handed over with the lock
	n.free()
	if below == end {
		below, end = nil, &held // it was the oldest of its segment
	}
	l.successor, l.end = below, end
}

// TryLock locks l if it is unlocked, and reports whether it did.
func (l *Reciprocating) TryLock() bool {
	n := newNode()
	if l.arrivals.Load() != nil || !l.arrivals.CompareAndSwap(nil, n) {
		n.free()
		return false
	}
	l.end = n
	return true
}

// Unlock unlocks l, or hands it over. It panics if l is not locked.
func (l *Reciprocating) Unlock() {
	next, end := l.successor, l.end
	if end == nil {
		panic(notLocked)
	}
	l.successor, l.end = nil, nil
	if next != nil {
		next.link = end
		next.grant()
		return
	}
	if !l.arrivals.CompareAndSwap(end, nil) {
		newest := l.arrivals.Swap(&held)
		newest.link = end
		newest.grant()
	}
	if end != &held {
		end.free() // invariant 3
	}
}
