package engine

import (
	"context"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An RW is a read-write lock: an engine whose permits have three kinds of holders. The zero RW is
// unlocked. It queues and serves as any engine does. What it adds is which parts of a share can be
// returned, and readers that hide in a table. Its permits count from Everyone, their number never
// changes, and it is never closed. Opts are set if it has a bias.
//
// It is the [waiting.Request] of its futures.
type RW Engine

// The number of permits held distinguishes the kinds of holders.
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
// Invariants, besides those of engine.go:
//
//  1. A writer excludes all others, and an upgradable reader another one. (TestModelRW)
//  2. What is returned was held, not only by the number of permits, but by the kind of holder. Who
//     is refused returns what nobody holds. (TestRWMisuse)
//  3. When mu is free and a waiter stands in the slot, a writer holds: only then nothing is free.
//     So a reader that returns its permit never needs the slot, and an upgrade finds it empty.
//     (TestModelRWConforms)
//  4. At most one upgrade waits, and it is the first of the line. (TestModelRW)
//  5. When W is set although nobody waits, and mu is free, a writer holds. So a try to read that
//     has mu, and finds nobody, sees a writer or takes its permit. (TestModelRW)

// The weights. Everyone is also the base from which the permits count.
const (
	Reader     int64 = 1
	hiding     int64 = 1 << 54 // what the bias holds for hidden readers: see bias.go
	Upgradable int64 = 1 << 55
	Everyone   int64 = 1<<56 - 2

	readers = hiding - 1 // the bits that count readers
)

// legalRW reports whether n permits are the share, or a part that can be returned, of a kind of
// holder that can be there if held permits are held in all.
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

// heldRW returns the number of permits held of an RW.
func (o State) heldRW() int64 { return -int64(o >> permitShift) }

// permits are those of l: all, if l is unlocked. Their Release, Cancel and Enqueue are for engines
// whose permits are all alike; l has its own.
func (l *RW) permits() Permits { return (*Engine)(l).From(Everyone) }

// Waiting returns the number of queued requests.
func (l *RW) Waiting() int { return (*Engine)(l).Waiting() }

// Glance is that of [Permits]. The share of the bias is not free.
func (l *RW) Glance() (free int64, waiting int) { return l.permits().Glance() }

// MayRelease reports whether n permits are a share, or a part of one, that can be returned now.
// Some readers may hide if the lock is not observed.
func (l *RW) MayRelease(n int64) bool { return legalRW(l.permits().Look().heldRW(), n) }

// IsUnlocked reports whether no permit is held.
func (l *RW) IsUnlocked() bool { return l.permits().Look().heldRW() == 0 }

// IsUpgradable reports whether the upgradable read lock is held.
func (l *RW) IsUpgradable() bool { return l.permits().Look().isUpgradable() }

func (o State) isUpgradable() bool {
	h := o.heldRW()
	return h&Upgradable != 0 && h != Everyone
}

// TakeFirstRead takes a reader's permit if the lock is free, no request waits, and the lock is not
// observed. Like the next three it is small enough to be inlined together with its caller. There is
// no room for a look at the word before the exchange.
func (l *RW) TakeFirstRead() bool { return l.word.CompareAndSwap(0, -Reader<<permitShift) }

// GiveLastRead returns it if there is no other holder and no request waits.
func (l *RW) GiveLastRead() bool { return l.word.CompareAndSwap(-Reader<<permitShift, 0) }

// TakeAll takes all permits if the lock is free and no request waits.
func (l *RW) TakeAll() bool { return l.word.CompareAndSwap(0, -Everyone<<permitShift) }

// GiveAll returns them if they are held and no request waits.
func (l *RW) GiveAll() bool { return l.word.CompareAndSwap(-Everyone<<permitShift, 0) }

// TryAcquire takes n permits, a share or the rest of one, if that many are free, no request waits,
// and the lock is not observed. For a reader's permit there is TryRead, and TryExclusive where
// readers may hide.
func (l *RW) TryAcquire(n int64) bool { return l.permits().TryAcquire(n) }

// TryObserved is TryAcquire whether the lock is observed or not.
func (l *RW) TryObserved(n int64) bool { return l.permits().TryObserved(n) }

// IsObserved is [Engine.IsObserved].
func (l *RW) IsObserved() bool { return (*Engine)(l).IsObserved() }

// Observe sets or clears O. A lock that is observed has no bias: all readers are counted.
func (l *RW) Observe(on bool) {
	(*Engine)(l).Observe(on)
	if on && l.MayHide() { // It cannot come back: see Rebias.
		l.Unbias()
	}
}

// Acquire waits for n permits, after a try has failed. It is [Permits.Acquire].
func (l *RW) Acquire(until waiting.Limit, n int64, at Place) error {
	if at == AtBack && l.permits().Look().heldRW() != Everyone {
		until = until.Fixed()
		if l.letReadersRun(n) {
			return waiting.KeepUntil(until, l, n)
		}
	}
	p := waiting.GetParker(until)
	p.N = n
	o := l.enqueue(&p.Waiter, at)
	if o == waiting.Pending {
		p.Start(until)
		p.Sleeper().SleepInline()
	}
	return waiting.EndRequest(p, until, l, o)
}

// letReadersRun is for an arrival that wants n permits and finds readers in its way. It lets others
// run once, tries again, and reports whether it has the permits. It joins no queue before.
//
// Some of the readers may be ready and not run: those that were let in together, and those whose
// slice of time has ended. If the arrival queued, all that come behind it would queue as well. The
// line would never end: it would wait for one turn of the scheduler after another.
func (l *RW) letReadersRun(n int64) bool {
	if n != Reader && l.MayHide() && l.TryExclusive(n, AtBack) {
		return true
	}
	xsync.StepBack()
	if n == Reader {
		return l.TryRead()
	}
	return l.TryAcquire(n)
}

// Keep is [Permits.Keep].
func (l *RW) Keep(ctx context.Context, n int64) error { return waiting.Keep(ctx, l, n) }

// enqueue is [Permits.Enqueue], and ends the bias if w waits.
func (l *RW) enqueue(w *waiting.Waiter, at Place) waiting.Outcome {
	l.mu.Lock()
	outcome := l.permits().enqueueLocked(w, at)
	if outcome == waiting.Pending && l.Opts != nil {
		l.unbiasLocked() // w may be served by that, and will find out
		return waiting.Pending
	}
	l.mu.Unlock()
	return outcome
}

// Release returns n permits, a share or a part of one, to the waiters, in order, or to the word. If
// no holder can return them it changes nothing and reports false.
func (l *RW) Release(n int64) bool {
	if n == Reader {
		return l.ReleaseRead()
	}
	e := l.permits()
	// A turn is lost only to another's success.
	for o := e.Look(); o&flagWaiters == 0; o = e.Look() {
		if !legalRW(o.heldRW(), n) {
			return false
		}
		if e.Give(o, n) {
			return true
		}
	}
	return l.releaseSlow(n)
}

// releaseSlow releases under mu.
func (l *RW) releaseSlow(n int64) bool {
	var wake waiting.WakeList
	l.mu.Lock()
	ok := l.addLocked(n)
	l.permits().serveLocked(&wake) // serves none if nothing was added
	l.mu.Unlock()
	deliver(l, &wake)
	return ok
}

// addLocked adds n permits to the word, unless no holder can return them. If the bias has come back
// since the caller saw W, the reader's permit may be in a slot: then addLocked ends the bias.
func (l *RW) addLocked(n int64) bool {
	e := l.permits()
	for { // W may be clear: a turn is lost only to another's success.
		o := e.Look()
		switch {
		case legalRW(o.heldRW(), n):
			if e.Give(o, n) {
				return true
			}
		case o.isBiased():
			l.word.Or(flagWaiters)
			l.revealLocked()
		default:
			return false
		}
	}
}

// Start implements [waiting.Request].
func (l *RW) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if l.TryAcquire(w.N) {
		return waiting.Granted
	}
	w.Arm(waker)
	return l.enqueue(w, AtBack)
}

// Unlink implements [waiting.Line]. It is [Permits.Cancel].
func (l *RW) Unlink(w *waiting.Waiter) bool {
	var wake waiting.WakeList
	l.mu.Lock()
	ok := l.permits().unlinkLocked(w, &wake)
	l.mu.Unlock()
	deliver(l, &wake)
	return ok
}

// GiveBack implements [waiting.Line]. It is Release.
func (l *RW) GiveBack(n int64) bool { return l.Release(n) }

// TryRead takes a reader's permit if no request waits, no writer holds, and the lock is not
// observed.
func (l *RW) TryRead() bool {
	e := l.permits()
	for { // A turn is lost only to another's success.
		o := e.Look()
		switch {
		case o.heldRW() == Everyone:
			return false
		case o&(flagWaiters|flagObserved) != 0:
			return e.Opts != nil && !o.IsObserved() && l.tryReadLocked()
		case o.isBiased() && l.Hide(xsync.Hint()):
			return true
		case e.Take(o, Reader):
			if o != 0 {
				l.Rebias() // others read, too
			}
			return true
		}
	}
}

// TryReadObserved is TryRead whether the lock is observed or not.
func (l *RW) TryReadObserved() bool {
	if l.permits().Opts != nil {
		return l.tryReadLocked() // beside a bias that is being ended
	}
	return l.TryObserved(Reader)
}

// tryReadLocked is TryRead where W may be set for a moment although no request waits, because the
// bias is being ended.
func (l *RW) tryReadLocked() bool {
	e := l.permits()
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
func (l *RW) TryExclusive(n int64, at Place) (ok bool) {
	e := l.permits()
	e.mu.Lock()
	defer e.mu.Unlock()
	biased := e.Look().isBiased()
	if biased { // so there is no waiter: see bias.go
		e.word.Or(flagWaiters)
		l.revealLocked()
	}
	if at == AtFront || e.waitingLocked() == 0 {
		// W may be clear: a turn is lost only to another's success.
		for o := e.Look(); e.free(o) >= n; o = e.Look() {
			ok = e.Take(o, n) // all that there was: there is no second success
		}
	}
	if biased {
		e.word.Store(int64(e.Look() &^ flagWaiters)) // ours, while W is set
	}
	return ok
}

// ReleaseRead is Release of a reader's permit.
func (l *RW) ReleaseRead() bool {
	e := l.permits()
	for { // A turn is lost only to another's success.
		o := e.Look()
		switch {
		case o.isBiased():
			if l.Leave(xsync.Hint()) {
				return true
			}
			// A reader that is not hidden is counted. But while many readers come and go, Leave may
			// have missed a slot.
			if o&flagWaiters != 0 || o.heldRW()&readers == 0 {
				l.Unbias()
			} else if e.Give(o, Reader) {
				return true
			}
		case o&flagWaiters != 0:
			return l.releaseSlow(Reader)
		case !legalRW(o.heldRW(), Reader):
			return false
		case e.Give(o, Reader):
			return true
		}
	}
}
