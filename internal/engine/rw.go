package engine

import "github.com/farad-go/farad/internal/xsync"

// What the read-write lock needs of the engine: three kinds of holders, who are told apart in the
// number of permits held.
//
//	held      bits 55         54       53 … 0
//	Everyone  1               1        1 … 1 0       a writer, and nobody else
//	others    an upgradable   the      how many
//	          reader          bias     readers
//
// (Not all ones: then what a writer returns to become an upgradable reader would be as much as what
// that one returns to become a reader, and a wrong downgrade would go unnoticed.)
//
// An upgradable reader weighs more than half, so there is at most one; beside it there is room for
// any number of readers. To upgrade is to wait, at the front, for all that is left: nobody can be
// in the way for ever, because those who hold are readers, and they go. To downgrade is to return a
// part.
//
// A reader who returns its permit never needs the slot: somebody stands there only while nothing is
// free, so while a writer holds, and then nobody has a read permit to return.
//
// Invariants, besides those of engine.go:
//
//  1. Writers exclude everybody, upgradable readers each other. (TestModelRW)
//  2. What is returned was held: not by kind and number of permits alone, but by the kind of
//     holder. (TestRWMisuse)

// The weights. Everyone is also the base from which a read-write lock's permits count.
const (
	Reader     int64 = 1
	hiding     int64 = 1 << 54 // what the bias holds for the readers that hide: see bias.go
	Upgradable int64 = 1 << 55
	Everyone   int64 = 1<<56 - 2

	readers = hiding - 1 // the bits that count readers
)

// legalRW is legal for read-write locks: of the shares that can be returned, n must be that of
// somebody who can be there.
func legalRW(held, n int64) bool {
	switch {
	case held == Everyone: // a writer returns all, or keeps a reader's share or an upgradable reader's
		return n == Everyone || n == Everyone-Reader || n == Everyone-Upgradable
	case n == Reader:
		return held&readers != 0
	default: // an upgradable reader returns all, or keeps a reader's share
		return held&Upgradable != 0 && (n == Upgradable || n == Upgradable-Reader)
	}
}

// heldRW returns how many permits are held of a read-write lock, whose size never changes.
func (o State) heldRW() int64 { return -int64(o >> permitShift) }

// IsUpgradable reports whether somebody holds the upgradable read lock.
func (o State) IsUpgradable() bool {
	h := o.heldRW()
	return h&Upgradable != 0 && h != Everyone
}

// TakeFirstRead takes a reader's permit if nobody holds and nobody waits. Small enough to be
// inlined, with its caller, as are the next three: there is not room for a look at the word and an
// exchange.
func (e *Engine) TakeFirstRead() bool { return e.word.CompareAndSwap(0, -Reader<<permitShift) }

// GiveLastRead returns it, if nobody else holds and nobody waits.
func (e *Engine) GiveLastRead() bool { return e.word.CompareAndSwap(-Reader<<permitShift, 0) }

// TakeAll takes all permits if nobody holds and nobody waits.
func (e *Engine) TakeAll() bool { return e.word.CompareAndSwap(0, -Everyone<<permitShift) }

// GiveAll returns them, if they are held and nobody waits.
func (e *Engine) GiveAll() bool { return e.word.CompareAndSwap(-Everyone<<permitShift, 0) }

// TryRead takes a reader's permit if nobody waits and no writer holds.
func (e *Engine) TryRead() bool {
	for { // A turn is lost only to another's success.
		o := e.Look()
		switch {
		case o.heldRW() == Everyone:
			return false
		case o&flagWaiters != 0:
			return e.Opts != nil && e.tryReadLocked()
		case o.isBiased() && e.Hide(xsync.Hint()):
			return true
		case e.Take(o, Reader):
			if o != 0 {
				e.Rebias() // others read, too
			}
			return true
		}
	}
}

// tryReadLocked is TryRead where W may be set for a moment although nobody waits: while the bias is
// ended.
func (e *Engine) tryReadLocked() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.waitingLocked() == 0 { // so W is clear: a turn is lost only to another's success
		o := e.Look()
		if o.heldRW() == Everyone {
			return false
		}
		if e.Take(o, Reader) {
			return true
		}
	}
	return false
}

// TryExclusive takes n permits, the rest or all, that hidden readers may be in the way of: at the
// front, whoever waits; at the back, if nobody does.
func (e *Engine) TryExclusive(n int64, at Place) (ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	biased := e.Look().isBiased()
	if biased { // so nobody waits: see bias.go
		e.word.Or(flagWaiters)
		e.revealLocked()
	}
	if at == AtFront || e.waitingLocked() == 0 {
		for o := e.Look(); o.free(Everyone) >= n; o = e.Look() { // W may be clear: a turn is lost only to another's success
			ok = e.Take(o, n) // all that there was: there is no second success
		}
	}
	if biased {
		e.word.Store(int64(e.Look() &^ flagWaiters)) // ours, while W is set
	}
	return ok
}

// ReleaseRead is Release of a reader's permit.
func (e *Engine) ReleaseRead() bool {
	for { // A turn is lost only to another's success.
		o := e.Look()
		switch {
		case o.isBiased():
			if e.Leave(xsync.Hint()) {
				return true
			}
			// Whoever is not hidden is counted; but among so many who come and go we may have
			// missed what was there.
			if o&flagWaiters != 0 || o.heldRW()&readers == 0 {
				e.Unbias()
			} else if e.Give(o, Reader) {
				return true
			}
		case o&flagWaiters != 0:
			return e.releaseSlow(Everyone, Reader)
		case !legalRW(o.heldRW(), Reader):
			return false
		case e.Give(o, Reader):
			return true
		}
	}
}
