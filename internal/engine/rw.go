package engine

import "github.com/farad-go/farad/internal/xsync"

// What only the read-write lock needs of the engine: three kinds of holders, which are told apart
// by the number of permits held.
//
//	held      bits 55         54       53 … 0
//	Everyone  1               1        1 … 1 0       a writer, and no other holder
//	others    an upgradable   the      how many
//	          reader          bias     readers
//
// (Everyone is not all ones. Otherwise a writer that becomes an upgradable reader would return as
// much as an upgradable reader that becomes a reader, and a wrong downgrade would go unnoticed.)
//
// An upgradable reader weighs more than half of all, so there is at most one. Beside it there is
// room for any number of readers. To upgrade is to wait, at the front, for the rest. The holders
// are readers, which leave, so the wait ends. To downgrade is to return a part.
//
// A reader that returns its permit never needs the slot. A waiter stands there only while nothing
// is free, which means that a writer holds, and then there is no read permit to return.
//
// Invariants, besides those of engine.go:
//
//  1. A writer excludes all others, and an upgradable reader another one. (TestModelRW)
//  2. What is returned was held, not only by the number of permits, but by the kind of holder.
//     (TestRWMisuse)

// The weights. Everyone is also the base from which a read-write lock's permits count.
const (
	Reader     int64 = 1
	hiding     int64 = 1 << 54 // what the bias holds for hidden readers: see bias.go
	Upgradable int64 = 1 << 55
	Everyone   int64 = 1<<56 - 2

	readers = hiding - 1 // the bits that count readers
)

// legalRW is legal for read-write locks: n must be the share, or a part that can be returned, of a
// kind of holder that can be there.
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

// heldRW returns the number of permits held of a read-write lock, whose size never changes.
func (o State) heldRW() int64 { return -int64(o >> permitShift) }

// IsUpgradable reports whether the upgradable read lock is held.
func (o State) IsUpgradable() bool {
	h := o.heldRW()
	return h&Upgradable != 0 && h != Everyone
}

// TakeFirstRead takes a reader's permit if the lock is free and no request waits. Like the next
// three it is small enough to be inlined together with its caller. There is no room for a look at
// the word before the exchange.
func (e *Engine) TakeFirstRead() bool { return e.word.CompareAndSwap(0, -Reader<<permitShift) }

// GiveLastRead returns it if there is no other holder and no request waits.
func (e *Engine) GiveLastRead() bool { return e.word.CompareAndSwap(-Reader<<permitShift, 0) }

// TakeAll takes all permits if the lock is free and no request waits.
func (e *Engine) TakeAll() bool { return e.word.CompareAndSwap(0, -Everyone<<permitShift) }

// GiveAll returns them if they are held and no request waits.
func (e *Engine) GiveAll() bool { return e.word.CompareAndSwap(-Everyone<<permitShift, 0) }

// TryRead takes a reader's permit if no request waits and no writer holds.
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

// tryReadLocked is TryRead where W may be set for a moment although no request waits, because the
// bias is being ended.
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

// TryExclusive takes n permits, the rest or all, where hidden readers may be in the way. AtFront it
// ignores waiters; AtBack it fails if a request waits.
func (e *Engine) TryExclusive(n int64, at Place) (ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	biased := e.Look().isBiased()
	if biased { // so nobody waits: see bias.go
		e.word.Or(flagWaiters)
		e.revealLocked()
	}
	if at == AtFront || e.waitingLocked() == 0 {
		// W may be clear: a turn is lost only to another's success.
		for o := e.Look(); e.From(Everyone).free(o) >= n; o = e.Look() {
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
			// A reader that is not hidden is counted. But while many readers come and go, Leave may
			// have missed a slot.
			if o&flagWaiters != 0 || o.heldRW()&readers == 0 {
				e.Unbias()
			} else if e.Give(o, Reader) {
				return true
			}
		case o&flagWaiters != 0:
			return e.From(Everyone).releaseSlow(Reader)
		case !legalRW(o.heldRW(), Reader):
			return false
		case e.Give(o, Reader):
			return true
		}
	}
}
