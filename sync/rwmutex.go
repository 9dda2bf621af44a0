package sync

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An RWMutex is a read-write lock, held by any number of readers or by one writer, for short
// sections that many goroutines want. It is several times as fast then as a lock in strict order,
// and neither readers nor writers starve. The zero RWMutex is unlocked. It must not be copied after
// first use. It implements [Locker], as does its RLocker, and is not tied to a goroutine.
//
// Order: that of [Mutex], with platoons of one and an express lane of [Express] places. A goroutine
// that finds the lock available takes it, if the express lane has a place left: a reader, while no
// writer holds it; a writer, while no goroutine does. Otherwise it queues, readers and writers in
// one line. The first of the line is admitted to compete for the lock. When an admitted reader has
// entered, or an admitted writer unlocks, the next is admitted, and the express lane has all its
// places again, or fewer if it lasts long. Readers next to each other in the line are let in at one
// instant. Readers that arrive while a writer waits delay it by no more acquisitions than the lane
// has places. The places count only while a goroutine waits.
//
// Bound: the waiter at place p of the line, where p = 0 has been admitted, is overtaken by at most
// (p + 1) · Express later arrivals, readers and writers together.
//
// A goroutine that holds a read lock must not lock for reading again: a writer may wait, and the
// lane may be full.
//
// An RWMutex synchronizes like a sync.RWMutex. It takes 24 bytes.
//
// Source: the capacitor is Dice and Kogan's, with B = 1; the express lane and the shares are ours.
// See docs/design/capacitor.md.
type RWMutex struct {
	_ noCopy

	// word:
	//
	//	63      32   31   30  29  28  27               2   1   0
	//	+---------+---+---+---+---+---------------------+---+---+
	//	| readers | X | B | O | C | places used so far  | A | S |
	//	+---------+---+---+---+---+---------------------+---+---+
	//
	//	readers  X  A  S   means
	//	0        0  0  .   unlocked
	//	n        0  0  .   n readers hold it, or are about to leave
	//	.        1  0  .   a writer holds it
	//	.        1  1  0   the admitted one holds it, a writer
	//
	// With B the rest is in a row: see bubble.go. With O the lock is observed: see observed.go.
	// With S the admitted one sleeps, or is about to. With C somebody waits, and the places of the
	// lane count. RLock adds itself first, and then looks. If there is a writer, or with C no place
	// is left, it has come in vain: it removes itself again, as RUnlock does. So a read lock is one
	// addition, and two with C, and does not fail because of other readers.
	//
	// What keeps a reader off the fast path is in the lower half, and what keeps a writer off is
	// anywhere: one comparison with rwCrowded tells, of the half or of the whole.
	//
	// Invariants:
	//
	//  1. The step that sets X finds no reader, and the goroutine that makes it holds the lock
	//     alone until it clears X. A reader that is added while X is clear, and the lane has a
	//     place or the reader is the admitted one, shares it until it is removed.
	//     (TestModelRWMutex)
	//  2. Only the admitted goroutine waits for the word. It sets S in a step that finds the lock
	//     not available to it. The unlock that makes the lock available afterwards finds S, clears
	//     it, and wakes the sleeper: a writer in the step that clears X, a reader after it has
	//     removed itself, if it was the last. Both do so under the lock of the sleepers' line. So
	//     beside readers it is a writer that sleeps. (TestModelRWMutex: a lost wake-up is a
	//     deadlock)
	//  3. With C, between two renewals no more goroutines come in by the express lane than it has
	//     places. Each admitted goroutine renews the lane once, as it gets the lock; one that gives
	//     up does not. A reader that comes in vain may use up a place, and never returns one: its
	//     own may be of an earlier lane. With the order of the gate and with invariant 8 that is
	//     the bound. (TestModelRWBypass)
	//  4. A is set exactly while the admitted goroutine holds the lock as a writer. The step that
	//     clears A unlocks. The goroutine that made it opens the gate, once.
	//     (TestModelRWMutex/double_unlock)
	//  5. While a goroutine queues at the gate, another is admitted. That one is not asleep while
	//     the lock is available to it, or is about to be woken. (TestModelRWMutex: a lost wake-up
	//     is a deadlock)
	//  6. Only RLock uses a place in vain, and only if there was one when it added itself. So the
	//     count of places never grows into C: that takes 2²⁵ goroutines at once.
	//     (TestModelRWPlacesInVainAreFew)
	//  7. O may be set and cleared at any time. No step of the lock changes it, and none depends on
	//     it, but that all leave their fast paths. So a reader that is added while O is set has
	//     come in vain only if it would have without. (TestModelObservedRWMutex)
	//  8. C is set while a goroutine sleeps at the gate or in front of the lock. It is set in the
	//     step that sets S, and, under the lock of the line, by each that joins the line. Only the
	//     admitted one clears it, under the same lock, and only if the line is empty, before it
	//     opens the gate. (TestModelRWBypass)
	word xsync.Int64
	gate gate
	lane lane // the admitted one's

	reads xsync.RaceMark // where readers release what they did, for writers

	opening xsync.Uint32 // how often the gate is about to be opened, by reopenAll
}

// What the word is made of. The holds, rwReader and rwWriter, also stand for what a request wants.
const (
	rwSleeping int64 = 1 << 0
	rwAdmitted int64 = 1 << 1
	rwPlace    int64 = 1 << 2
	rwWriter   int64 = 1 << 31
	rwReader   int64 = 1 << 32

	rwBubbled  int64 = 1 << 30
	rwObserved int64 = 1 << 29
	rwCrowded  int64 = 1 << 28

	rwFull       = Express * rwPlace
	rwLane       = rwCrowded - rwPlace
	rwButReaders = rwReader - 1
	rwWriting    = rwWriter | rwAdmitted | rwSleeping // rwWriter, if a writer holds it and nobody else matters

	rwMissing = -1 << 63 // the sign: more readers have been removed than were there
)

// RLock locks l for reading, and waits for it if need be. Nothing ends the wait early.
func (l *RWMutex) RLock() {
	if xsync.Races {
		l.rLockRaced()
		return
	}
	if w := uint32(l.word.Add(rwArrival)); w >= rwTooFar { //nolint:gosec // the lower half
		l.rLockSlow(w)
	}
}

// rLockSlow is the rest of RLock, which has left w in the lower half of the word.
//
//go:noinline
//go:norace
func (l *RWMutex) rLockSlow(w uint32) {
	if !canBubble {
		seen := w &^ uint32(rwObserved)
		hadPlace := seen < 2*rwTooFar && int64(seen)&rwLane < rwFull // a first look: invariant 6
		if seen < rwTooFar || hadPlace && l.word.Add(rwPlace)&rwLane <= rwFull {
			if w != seen {
				l.record().Tried(l.requested(rwReader), true)
			}
			return
		}
		l.drop(rwReader) // it has come in vain
	}
	_ = l.lock(waiting.Limit{}, rwReader)
}

// Lock locks l for writing, and waits for it if need be. Nothing ends the wait early.
func (l *RWMutex) Lock() {
	if w := l.word.Load(); canBubble || uint64(w) >= uint64(rwCrowded) || !l.word.CompareAndSwap(w, w+rwWriter) {
		l.lockSlow()
	}
	if xsync.Races {
		xsync.RaceAcquire(&l.reads)
	}
}

// express takes the express lane, if the state is still w, and seen, what matters of it, allows it.
func (l *RWMutex) express(w, seen, hold int64) bool {
	to := w + hold + w&rwCrowded/rwCrowded*rwPlace
	switch {
	case !hasRoom(seen, hold):
		return false
	case xsync.Races:
		return l.expressRaced(w, to, hold)
	}
	return l.word.CompareAndSwap(w, to)
}

// hasRoom reports whether the lock is available in w to one on the express lane.
func hasRoom(w, hold int64) bool {
	return inTheWay(w, hold) < uint64(rwCrowded) || inTheWay(w&^rwCrowded, hold) < uint64(rwFull)
}

// inTheWay returns what of w may keep a goroutine out.
func inTheWay(w, hold int64) uint64 {
	if hold == rwReader {
		w &= rwButReaders
	}
	return uint64(w) //nolint:gosec // if it is less than zero, for a moment, then all is in the way
}

// isAvailable reports whether the lock is, to the admitted one: whether or not the lane is full.
func isAvailable(w, hold int64) bool { return inTheWay(w, hold) < uint64(rwWriter) }

//go:noinline
func (l *RWMutex) lockSlow() { _ = l.lock(waiting.Limit{}, rwWriter) }

// lock locks l, or gives up when until, which is no context, ends the wait.
//
//go:norace
func (l *RWMutex) lock(until waiting.Limit, hold int64) error {
	if l.mayBeObserved() {
		return lockObserved(l, hold, until, l.acquire)
	}
	return l.acquire(until, hold)
}

// acquire waits for l, or returns the error of until if that ends the wait before.
func (l *RWMutex) acquire(until waiting.Limit, hold int64) error {
	if canBubble {
		if here, err := lockBubbled(l, hold, until); here {
			return err
		}
	}
	if l.spin(hold) {
		return nil
	}
	until = until.Fixed()
	if l.letReadersRun() && l.spin(hold) {
		return nil
	}
	waited, in, err := l.gate.pass(l, hold, until)
	if in || err != nil {
		return err
	}
	return l.compete(until, hold, waited)
}

// spin takes the express lane within a moment, if it makes sense to wait so.
func (l *RWMutex) spin(hold int64) bool {
	for i := 0; ; {
		w := l.word.Load()
		seen := w &^ rwObserved
		switch {
		case l.express(w, seen, hold):
			return true
		case hasRoom(seen, hold): // A retry follows a success, mostly a reader's.
		case w&rwCrowded != 0 && w&rwLane >= rwFull && !l.isRenewed(w) || !xsync.Spin(i):
			return false
		default:
			i++
		}
	}
}

// letReadersRun is for an arrival that is about to queue. If readers are in its way it lets others
// run once, and reports true. Some of the readers may be ready and not run: those that were let in
// together, and those whose slice of time has ended. If the arrival queued, all that come behind it
// would queue as well. The line would never end: it would wait for one turn of the scheduler after
// another.
func (l *RWMutex) letReadersRun() bool {
	if l.word.Load()&rwWriter != 0 {
		return false
	}
	xsync.StepBack()
	return true
}

// isRenewed reports whether the lane, full in w, may have places within a moment: the admitted one
// is awake, and nobody is in line.
func (l *RWMutex) isRenewed(w int64) bool {
	return w&rwSleeping == 0 && l.gate.state.Load() == gateClosed
}

// compete locks l for the admitted goroutine, whether it has waited at the gate or not. It gives
// up, and leaves the gate to the next, when until ends the wait.
func (l *RWMutex) compete(until waiting.Limit, hold int64, waited bool) error {
	for !l.attempt(hold, waited) { // A retry follows one of the lane's few users.
		if canBubble && l.isBubbled() {
			l.gate.open(l)
			return l.acquire(until, hold)
		}
		if sleepAdmitted(until, l) {
			l.word.And(^rwSleeping) // invariant 2
			l.gate.open(l)
			return until.Err()
		}
		waited = true
	}
	if hold == rwReader {
		l.gate.open(l)
	}
	return nil
}

// attempt implements [admitting].
func (l *RWMutex) attempt(hold int64, waited bool) bool {
	for { // A retry follows one of the few users of the lane, or a reader who comes in vain or leaves.
		w := l.word.Load()
		switch {
		case canBubble && w&rwBubbled != 0:
			return false
		case isAvailable(w, hold):
			if l.enter(w, w, hold, waited) {
				return true
			}
		case l.word.CompareAndSwap(w, w|rwSleeping|rwCrowded): // by invariant 2 S was clear
			return false
		}
	}
}

// enter locks l for the admitted goroutine if the state is still w, and renews the express lane.
// free is the part of w with which l is available. The caller opens the gate for a reader, which no
// longer needs it.
func (l *RWMutex) enter(w, free, hold int64, waited bool) bool {
	renewed := l.lane
	renewed.renew(waited, w&rwLane >= rwFull)
	to := free&^(rwButReaders-rwObserved-rwCrowded) + hold + int64(Express-renewed.places())*rwPlace
	if hold == rwWriter {
		to |= rwAdmitted
	}
	if !l.word.CompareAndSwap(w, to) {
		return false
	}
	l.lane = renewed
	if hold == rwWriter {
		xsync.RaceAcquire(&l.reads)
	}
	return true
}

// The rest of [admitting].

func (l *RWMutex) takeLane(hold int64) bool {
	w := l.word.Load()
	return l.express(w, w&^rwObserved, hold)
}

func (l *RWMutex) gateOf() *gate { return &l.gate }

func (l *RWMutex) entered(hold int64, w *waiting.Waiter) {
	outermost := hold == rwReader && l.opening.Add(1) == 1 // before a waker may try the lock
	grantTo(l, w, hold)
	if outermost {
		l.reopenAll()
	}
}

func (l *RWMutex) leave() {
	l.word.And(^rwSleeping) // invariant 2
	if l.opening.Add(1) == 1 {
		l.reopenAll()
	}
}

//go:norace
func (l *RWMutex) isBubbled() bool { return l.peek()&rwBubbled != 0 }

func (l *RWMutex) toBubbled() (readers int64, writing, admission bool) {
	for { // A retry follows a lock or an unlock.
		w := l.word.Load()
		// The lane ends here: when the lock is plain again, the next comes through the gate.
		if l.word.CompareAndSwap(w, w&rwObserved|rwBubbled|rwCrowded|rwFull) {
			xsync.RaceAcquire(&l.reads)
			return w / rwReader, w&rwWriter != 0, w&rwAdmitted != 0
		}
	}
}

func (l *RWMutex) fromBubbled() { l.word.And(^rwBubbled) }

func (l *RWMutex) giveBack(hold int64) bool {
	if hold == rwReader {
		return l.rUnlock()
	}
	return l.unlock()
}

// reopenAll opens the gate, as often as opening says. Futures of readers may stand there one behind
// the other, and each is to open the gate from inside the call that has admitted it. So that the
// stack does not grow with the line, the outermost call opens the gate for all of them.
func (l *RWMutex) reopenAll() {
	for { // Each turn admits another.
		l.gate.open(l)
		if l.opening.Add(^uint32(0)) == 0 {
			return
		}
	}
}

func (l *RWMutex) cedes() bool { return l.word.Load()&rwBubbled == 0 && l.lane.cut() > 0 }

func (l *RWMutex) letIn() bool {
	for { // A retry follows a reader, or a writer who is quicker.
		w := l.word.Load()
		if !isAvailable(w, rwReader) || w&rwBubbled != 0 {
			return false
		}
		if l.word.CompareAndSwap(w, w+rwReader) {
			return true
		}
	}
}

func (l *RWMutex) isCrowded() bool { return l.word.Load()&rwCrowded != 0 }

func (l *RWMutex) setCrowded(on bool) {
	if on {
		l.word.Or(rwCrowded)
	} else {
		l.word.And(^rwCrowded)
	}
}

// isSleeping reports whether an unlock has to wake the admitted one.
func (l *RWMutex) isSleeping() bool { return l.word.Load()&rwSleeping != 0 }

func (l *RWMutex) key() parking.Key { return parking.Key{Object: l, Hash: l.gate.key().Hash} }

// TryRLock locks l for reading if no writer holds it, and reports whether it did. If the express
// lane is full it does not if any goroutine waits, or a future that has the lock is about to be
// completed. It may let others run, if a goroutine is about to come in beside it.
func (l *RWMutex) TryRLock() bool { return l.try(rwReader, true) }

// TryLock locks l for writing if no goroutine holds it, and reports whether it did. It does not if
// a goroutine is about to come in for reading. If the express lane is full it does not if any
// goroutine waits.
func (l *RWMutex) TryLock() bool { return l.try(rwWriter, true) }

// try is TryLock or TryRLock. Record says whether to record it if l is observed.
func (l *RWMutex) try(hold int64, record bool) bool {
	if canBubble {
		if record && l.isObserved() {
			return tryObserved(l, hold)
		}
		if ok, here := tryBubbled(l, hold); here {
			return ok
		}
	}
	for { // A retry follows only another's success, or one that gives up.
		w := l.peek()
		switch {
		case record && w&rwObserved != 0:
			return tryObserved(l, hold)
		case canBubble && w&rwBubbled != 0:
			return l.try(hold, record)
		case !isAvailable(w, hold):
			return false
		case l.express(w, w&^rwObserved, hold):
			return true
		case hasRoom(w&^rwObserved, hold):
			continue
		}
		switch {
		case l.gate.tryPass():
			entered := l.enter(w, w, hold, false)
			if !entered || hold == rwReader {
				l.gate.open(l)
			}
			if entered {
				return true
			}
		case hold == rwWriter || w&rwSleeping != 0 || l.gate.state.Load() == gateWaiting:
			return false
		case l.opening.Load() != 0: // perhaps by a caller of ours, that is about to tell others
			return false
		case !l.gate.isOpen():
			// No goroutine is queued, and the admitted one is awake: a few instructions more, and
			// it is in, asleep, or gone. If it is a reader there is room for another; a writer need
			// not know.
			xsync.Yield()
		default: // It is gone.
		}
	}
}

// peek returns the word for a look after which nothing is ordered: an attempt that fails.
func (l *RWMutex) peek() int64 {
	return xsync.Glance64(&l.word)
}

// RUnlock ends what RLock has begun. It is a fatal error if l is not locked for reading.
func (l *RWMutex) RUnlock() {
	if xsync.Races {
		l.rUnlockRaced()
		return
	}
	if w := l.word.Add(-rwReader); w&(rwMissing|rwSleeping|rwObserved) != 0 {
		l.rUnlockSlow(w)
	}
}

//go:noinline
//go:norace
func (l *RWMutex) rUnlockSlow(w int64) {
	if w&rwObserved != 0 {
		l.record().Released(l.requested(rwReader))
	}
	if !l.rUnlocked(w) {
		fatal(rUnlockOfUnlockedRWMutex)
	}
}

// rUnlock is RUnlock, and reports false if l is not locked for reading.
func (l *RWMutex) rUnlock() bool { return l.rUnlocked(l.word.Add(-rwReader)) }

// rUnlocked is the rest of an rUnlock that has left w.
func (l *RWMutex) rUnlocked(w int64) bool {
	missing := w < 0
	if missing {
		w = l.word.Add(rwReader)
	}
	if w&rwSleeping != 0 {
		l.wakeAdmitted()
	}
	if canBubble && missing && w&rwBubbled != 0 {
		if ok, here := unjoin(l, rwReader); here {
			return ok
		}
		return l.rUnlock()
	}
	return !missing
}

// wakeAdmitted lets the admitted one in if it sleeps and nobody is in its way any more. Beside
// readers only a writer sleeps: see invariant 2. If an arrival is faster it does nothing: that one
// finds the sleeper when it leaves.
func (l *RWMutex) wakeAdmitted() {
	for { // A retry follows an arrival that has gone again, or O that has changed.
		w := l.word.Load()
		if w&rwSleeping == 0 || !isAvailable(w, rwWriter) || l.unlockAndWake(w, 0) {
			return
		}
	}
}

// Unlock ends what Lock has begun. It is a fatal error if l is not locked for writing.
func (l *RWMutex) Unlock() {
	if w := l.word.Load(); w&(rwWriting|rwObserved) != rwWriter || !l.word.CompareAndSwap(w, w-rwWriter) {
		l.unlockSlow()
	}
}

//go:noinline
func (l *RWMutex) unlockSlow() {
	if l.isObserved() {
		l.record().Released(l.requested(rwWriter))
	}
	l.drop(rwWriter)
}

// drop ends what Lock or RLock has begun without recording that.
func (l *RWMutex) drop(hold int64) {
	switch {
	case l.giveBack(hold):
	case hold == rwReader:
		fatal(rUnlockOfUnlockedRWMutex)
	default:
		fatal(unlockOfUnlockedRWMutex)
	}
}

// unlock is Unlock, and reports false if l is not locked for writing.
func (l *RWMutex) unlock() bool {
	for { // A retry follows a reader who comes in vain, the admitted goroutine, or another unlock.
		w := l.word.Load()
		if canBubble && w&rwBubbled != 0 {
			if ok, here := unjoin(l, rwWriter); here {
				return ok
			}
			continue
		}
		switch w & rwWriting {
		case rwWriter:
			if l.word.CompareAndSwap(w, w-rwWriter) {
				return true
			}
		case rwWriter | rwAdmitted:
			if l.word.CompareAndSwap(w, w&^(rwWriter|rwAdmitted)) {
				l.gate.open(l)
				return true
			}
		case rwWriter | rwSleeping:
			if l.unlockAndWake(w, rwWriter) {
				return true
			}
		default:
			return false
		}
	}
}

// unlockAndWake gives back hold, a writer's or none, if the state is still w, and wakes the
// admitted one, or hands l over if that is a future. Readers beside a writer have come in vain, and
// are in nobody's way; a goroutine that wants to write may find them, and then sleeps again.
func (l *RWMutex) unlockAndWake(w, hold int64) bool {
	line := parking.Default().Line(l.key())
	s := line.First()
	free := w - hold - rwSleeping
	if s == nil || s.Node().OfGoroutine() {
		ok := l.word.CompareAndSwap(w, free)
		if !ok || s == nil {
			line.Unlock()
			return ok
		}
		admitted := line.ClaimAndUnlock(s)
		if free&rwLane < rwFull { // Until the lane has ended it pays to go on: see [lane].
			admitted.Deliver(waiting.Granted)
		} else {
			admitted.HandOff()
		}
		return true
	}
	wanted := s.Node().N
	if !l.enter(w, free, wanted, true) {
		line.Unlock()
		return false
	}
	l.entered(wanted, line.ClaimAndUnlock(s))
	return true
}

// RLockContext is RLock, but gives up when ctx is done and returns ctx.Err().
func (l *RWMutex) RLockContext(ctx context.Context) error { return l.lockContext(ctx, rwReader) }

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err(). The rest is as with
// RLockContext.
func (l *RWMutex) LockContext(ctx context.Context) error { return l.lockContext(ctx, rwWriter) }

func (l *RWMutex) lockContext(ctx context.Context, hold int64) error {
	if err := usable(ctx); err != nil {
		return err
	}
	if l.mayBeObserved() {
		return lockObservedContext(ctx, l, hold, l.acquire)
	}
	if !l.try(hold, false) { // the first time it asks, a context allocates its channel
		if err := l.acquire(waiting.UntilDone(ctx), hold); err != nil {
			return err
		}
	}
	if !xsync.MayEnd(ctx) {
		return nil
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil { // perhaps before the unlock that has let us in
		return waiting.Keep(ctx, taken{l}, hold)
	}
	return nil
}

// RLockTimeout is RLock, but gives up when d has passed. It reports whether the lock is the
// caller's. If d <= 0 it never is: to lock without waiting there is TryRLock.
func (l *RWMutex) RLockTimeout(d time.Duration) bool { return l.lockTimeout(d, rwReader) }

// LockTimeout is Lock, but gives up when d has passed. The rest is as with RLockTimeout.
func (l *RWMutex) LockTimeout(d time.Duration) bool { return l.lockTimeout(d, rwWriter) }

func (l *RWMutex) lockTimeout(d time.Duration, hold int64) bool {
	return d > 0 && l.lock(waiting.After(d), hold) == nil
}

// RLocker returns a [Locker] whose Lock and Unlock are RLock and RUnlock of l.
func (l *RWMutex) RLocker() Locker { return (*rlocker)(l) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

// Waiting returns how many goroutines and futures wait for l. It is meant for tests and statistics.
func (l *RWMutex) Waiting() int { return l.gate.waiting() + parking.Sleeping(l.key()) + inLine(l) }

// Under the race detector readers order nothing among themselves, so that it sees a reader who
// writes. A reader comes after the writers before, and a writer after the readers before.

func (l *RWMutex) rLockRaced() {
	word := &l.word
	xsync.RaceDisable()
	w := uint32(word.Add(rwArrival)) //nolint:gosec // the lower half
	xsync.RaceEnable()
	if !canBubble || w < rwTooFar { // otherwise it will come in by other ways
		xsync.RaceAcquire(word)
	}
	if w >= rwTooFar {
		l.rLockSlow(w)
	}
}

func (l *RWMutex) rUnlockRaced() {
	xsync.RaceRelease(&l.reads)
	xsync.RaceDisable()
	w := l.word.Add(-rwReader)
	xsync.RaceEnable()
	if w&(rwMissing|rwSleeping|rwObserved) != 0 {
		l.rUnlockSlow(w)
	}
}

func (l *RWMutex) expressRaced(w, to, hold int64) bool {
	if hold != rwReader {
		ok := l.word.CompareAndSwap(w, to)
		xsync.RaceAcquire(&l.reads)
		return ok
	}
	xsync.RaceDisable()
	ok := l.word.CompareAndSwap(w, to)
	xsync.RaceEnable()
	if ok {
		xsync.RaceAcquire(&l.word)
	}
	return ok
}
