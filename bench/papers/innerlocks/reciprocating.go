package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A Reciprocating is the reciprocating lock of Dice and Kogan. Arrivals push a node each by one
// exchange. When the holder has nobody to hand the lock to it takes all of them off at once: they
// are the next segment, and are served from the newest to the oldest, while new arrivals gather for
// the one after.
//
//	arrivals   nil    unlocked
//	           held   locked, and nobody has come since the segment was taken off
//	           else   locked: the nodes of those who have come since, the newest at the top, and below them nothing, or the node of the
//	                  holder that found the lock unlocked
//
//	arrivals -> | F | -> | E |                  come for the next segment
//	segment       C (holds) -> | B | -> | A |   C hands the lock to B, B to A; A has nobody, and takes F and E off
//
// Who has come knows, from its exchange, the node below its own: that is its successor. It does not
// know whether that still waits: the oldest of a segment may have pushed upon the node of the
// holder who has taken the segment off. So with the lock goes the end of the segment, the node
// where it stops.
//
// Order: who arrives is overtaken at most once by each of the others: by those that arrive before
// its segment is taken off. Some may get the lock twice as often as others for long.
// (TestModelOvertaking, TestOrderIsAsDocumented)
//
// Invariants:
//
//  1. Whoever has exchanged nil holds the lock; anybody else is granted it by the one above it in
//     its segment, or, at the top, by who has taken the segment off. (TestModelLocks)
//  2. A successor waits, if it is not the end of the segment. (TestModelLocks: else the lock is
//     handed to nobody)
//  3. The node of a holder that found the lock unlocked stays its own until it has unlocked. From
//     then on it may be used again, although it still is the end of the segment: before that
//     segment has come to its end, no other is taken off, in which it could be a successor.
//     (TestModelLocks/2x3, TestModelTwoLocks)
//
// Source: Dice and Kogan, Reciprocating Locks (2025), arXiv:2501.02380, Listing 1. There each
// thread has one node for ever.
type Reciprocating struct {
	arrivals xsync.Pointer[node]
	_        [apart - 8]byte

	// The holder's, guarded by the lock: who is next in the segment, nil if nobody is; and the end
	// of the segment. That is, if nobody is next, what arrivals has if nobody has come: held, or
	// the node of a holder that found the lock unlocked. Nil: the lock is unlocked.
	successor, end *node
	_              [apart - 2*8]byte
}

// Lock locks l, and waits for it if need be.
func (l *Reciprocating) Lock() {
	n := newNode()
	below := l.arrivals.Swap(n)
	if below == nil {
		l.end = n
		return
	}
	n.await()
	end := n.link // which came with the lock
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
