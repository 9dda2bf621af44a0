package sync

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Mutex is a mutual exclusion lock for short critical sections that many goroutines want. Without
// contention it is as fast as sync.Mutex, under contention several times as fast, and no waiter
// starves. The zero Mutex is unlocked. A Mutex takes 16 bytes, and must not be copied after first
// use. It implements [Locker], and is not tied to a goroutine.
//
// Order: platoons of one, and an express lane of [Express] places. A goroutine that finds the mutex
// free takes it, if the express lane has a place left. Otherwise it queues. The first of the queue
// is admitted to compete for the mutex. When it unlocks, the next is admitted, and the express lane
// has all its places again. So running goroutines go on running, and the switch to another is paid
// for once in many acquisitions. A lane that has lasted for more than 100 µs is followed by one
// with half as many places. The unlock that ends the lane lets the admitted goroutine run at once.
//
// Bound: the waiter at place p of the queue, where p = 0 has been admitted, is overtaken by at most
// (p + 1) · Express later arrivals. There is no other way past a waiter.
//
// A Mutex synchronizes like a sync.Mutex: the n'th unlock happens before the return of the m'th
// lock, for n < m.
//
// Source: the capacitor is Dice and Kogan's, with B = 1; the express lane is ours. See
// docs/design/capacitor.md.
type Mutex struct {
	_ noCopy

	// word has the two bits of twobit.Bits, and the bits admitted, full, bubbled and observing.
	//
	// Invariants:
	//
	//  1. The goroutine that changes the lock's bits from unlocked holds the mutex alone, until
	//     they are unlocked again, or handed over. (TestModelMutex)
	//  2. Only the admitted goroutine waits for the word. While it sleeps the word says so, or
	//     another is about to wake it. So an unlock need not remember that others may sleep, as
	//     that of a mutex.Word must. (TestModelMutex)
	//  3. Between two admitted holders no more places of the express lane are used than there are:
	//     the step that unlocks at the end of the last place sets full. With the order of the gate
	//     that is the bound. (TestModelBypass)
	//  4. The bit admitted is set exactly while the admitted goroutine holds the mutex. The step
	//     that clears it unlocks, and clears full. The goroutine that made it opens the gate, once.
	//     (TestModelMutex/double_unlock)
	//  5. While a goroutine stands in line at the gate, another is admitted. That one is not asleep
	//     while the mutex is free, or is about to be woken. (TestModelMutex: a lost wake-up is a
	//     deadlock)
	//  6. Observing may be set and cleared at any time, also by the record, in renew. No other step
	//     of the lock reads or changes it, but that Lock and Unlock leave their fast paths.
	//     (TestModelObservedMutex)
	word xsync.Uint32
	gate gate

	lane lane // the holder's, when it is the admitted one

	// used is the holder's. Its lower half is how many places of the express lane have been used
	// since the admitted one got the mutex last, and at first those that a shorter lane does not
	// have. So neither a lock nor an unlock on the express lane has to look at the word before it
	// changes it, which would cost as much as a call. If a goroutine unlocks that cannot know yet
	// that another has locked, used is wrong, and perhaps larger than Express. Then the lane ends
	// with the next unlock that sees so. (TestLaneEndsThoughAnotherUnlocksTooSoon)
	//
	// The upper half is how many of those places were not used on the fast path. So the mutex
	// counts there at no cost, for the record: see [Mutex.passed].
	used uint32
}

const (
	sleeping = parking.Sleepers

	admitted  uint32 = parking.Mask + 1 // the holder has come through the gate
	full             = admitted << 1    // no place of the express lane is left
	bubbled          = full << 1        // the rest is in a row: see bubble.go
	observing        = bubbled << 1     // the mutex is observed: see observed.go

	slow = 1 << 16 // one in the upper half of used
)

// Lock locks m, and waits for it if need be. Nothing ends the wait early.
func (m *Mutex) Lock() {
	if !canBubble && m.word.CompareAndSwap(parking.Unlocked, parking.Locked) {
		m.used++
		return
	}
	m.lockSlow()
}

// express locks m on the express lane, if the state is still w, m is free and a place is left.
func (m *Mutex) express(w uint32) bool {
	if w&^observing != parking.Unlocked || !m.word.CompareAndSwap(w, w|parking.Locked) {
		return false
	}
	m.used += 1 + slow
	return true
}

// enter locks m for the admitted goroutine, whether it has waited or not, if the state is still w.
// It renews the express lane.
func (m *Mutex) enter(w uint32, waited bool) bool {
	if !m.word.CompareAndSwap(w, w|admitted|parking.Locked) {
		return false
	}
	m.renew(waited)
	return true
}

// renew reopens the express lane for the admitted goroutine, which has just got the mutex.
func (m *Mutex) renew(waited bool) {
	passed := m.passed()
	m.lane.renew(waited, uint16(m.used) >= Express)
	m.used = m.lane.missing() * (1 + slow)
	if observed.Any() {
		observed.Of(m).Renewed(passed, m.isObserved(), waited)
	}
}

//go:noinline
func (m *Mutex) lockSlow() { _ = m.lock(waiting.Limit{}) }

// lock locks m, or gives up when until, which is no context, ends the wait.
func (m *Mutex) lock(until waiting.Limit) error {
	if m.mayBeObserved() {
		return lockObserved(m, rwWriter, until, m.acquire)
	}
	return m.acquire(until, rwWriter)
}

// acquire waits for m, or returns the error of until if that ends the wait before.
func (m *Mutex) acquire(until waiting.Limit, _ int64) error {
	if canBubble {
		if here, err := lockBubbled(m, rwWriter, until); here {
			return err
		}
	}
	if m.spin() {
		return nil
	}
	until = until.Fixed()
	waited, _, err := m.gate.pass(m, rwWriter, until)
	if err != nil {
		return err
	}
	return m.compete(until, waited)
}

// spin takes the express lane within a moment, if it makes sense to wait so.
func (m *Mutex) spin() bool {
	for i := 0; ; i++ {
		w := m.word.Load()
		if m.express(w) {
			return true
		}
		if w&full != 0 || !xsync.Spin(i) {
			return false
		}
	}
}

// compete locks m for the admitted goroutine, whether it has waited at the gate or not. It gives
// up, and leaves the gate to the next, when until ends the wait.
func (m *Mutex) compete(until waiting.Limit, waited bool) error {
	for !m.attempt(1, waited) { // A retry follows a success on the express lane, whose places are few.
		if canBubble && m.isBubbled() {
			m.leave()
			return m.acquire(until, rwWriter)
		}
		if sleepAdmitted(until, m) {
			m.leave()
			return until.Err()
		}
		waited = true
	}
	return nil
}

// attempt implements [admitting].
func (m *Mutex) attempt(_ int64, waited bool) bool {
	for { // A retry follows a success on the express lane, whose places are few.
		w := m.word.Load()
		if canBubble && w&bubbled != 0 {
			return false
		}
		switch w & parking.Mask {
		case parking.Unlocked:
			if m.enter(w, waited) {
				return true
			}
		case parking.Locked:
			if m.word.CompareAndSwap(w, w^parking.Locked^sleeping) {
				return false
			}
		default:
			return false
		}
	}
}

// The rest of [admitting]. What entered would do, Unlock does: the mutex is one holder's.

func (m *Mutex) takeLane(int64) bool { return m.express(m.word.Load()) }
func (m *Mutex) gateOf() *gate       { return &m.gate }
func (m *Mutex) leave()              { m.gate.open(m) }
func (m *Mutex) giveBack(int64) bool { return m.unlock() }

func (m *Mutex) entered(hold int64, w *waiting.Waiter) { grantTo(m, w, hold) }

// A Mutex counts the places of its lane whether or not somebody waits: that costs nothing.

func (m *Mutex) isCrowded() bool { return false }
func (m *Mutex) setCrowded(bool) {}

func (m *Mutex) cedes() bool { return m.word.Load()&bubbled == 0 && m.lane.cut() > 0 }

func (m *Mutex) letIn() bool { return false } // there are no readers

//go:norace
func (m *Mutex) isBubbled() bool { return m.peek()&bubbled != 0 }

func (m *Mutex) toBubbled() (readers int64, writing, admission bool) {
	for { // A retry follows a lock or an unlock.
		w := m.word.Load()
		// The lane ends here: when the mutex is plain again, the next comes through the gate.
		if m.word.CompareAndSwap(w, w&observing|bubbled|full) {
			return 0, w&parking.Mask != parking.Unlocked, w&admitted != 0
		}
	}
}

func (m *Mutex) fromBubbled() { m.word.And(^bubbled) }

// isSleeping reports whether an unlock has to wake the admitted one.
func (m *Mutex) isSleeping() bool { return m.word.Load()&parking.Mask == sleeping }

func (m *Mutex) key() parking.Key { return parking.Key{Object: m, Hash: m.gate.key().Hash} }

// TryLock locks m if it is unlocked, and reports whether it did. If the express lane is full it
// does not if any goroutine waits.
func (m *Mutex) TryLock() bool {
	if m.mayBeObserved() {
		return tryObserved(m, rwWriter)
	}
	return m.try(rwWriter, false)
}

// try is TryLock without recording it.
func (m *Mutex) try(_ int64, _ bool) bool {
	if canBubble {
		if ok, here := tryBubbled(m, rwWriter); here {
			return ok
		}
	}
	for { // A retry follows only another's success, or one that gives up.
		w := m.peek()
		switch {
		case canBubble && w&bubbled != 0:
			return m.try(rwWriter, false)
		case w&parking.Mask != parking.Unlocked:
			return false
		case w&^observing == parking.Unlocked:
			if m.express(w) {
				return true
			}
			continue
		case !m.gate.tryPass():
			return false
		case m.enter(w, false):
			return true
		}
		m.gate.open(m)
	}
}

// peek returns the word for a look after which nothing is ordered: an attempt that fails.
func (m *Mutex) peek() uint32 {
	return xsync.Glance32(&m.word)
}

// Unlock unlocks m. It is a fatal error if m is not locked. If another goroutine has locked m, that
// lock must happen before the unlock: that an attempt to lock has failed is not enough.
func (m *Mutex) Unlock() {
	if uint16(m.used) >= Express || !m.word.CompareAndSwap(parking.Locked, parking.Unlocked) {
		m.unlockSlow()
	}
}

//go:noinline
func (m *Mutex) unlockSlow() {
	if m.mayBeObserved() {
		if r := m.known(); r != nil {
			r.Released(m.requested(rwWriter))
		}
	}
	m.drop(rwWriter)
}

// drop unlocks m without recording it.
func (m *Mutex) drop(int64) {
	if !m.unlock() {
		fatal(unlockOfUnlockedMutex)
	}
}

// unlock unlocks m, and reports false if it is not locked.
func (m *Mutex) unlock() bool {
	for { // A retry follows the admitted goroutine's sleep, or another unlock.
		w := m.word.Load()
		if canBubble && w&bubbled != 0 {
			if ok, here := unjoin(m, rwWriter); here {
				return ok
			}
			continue
		}
		switch w & (admitted | parking.Mask) {
		case parking.Locked:
			free := m.free(w)
			if m.word.CompareAndSwap(w, free) {
				m.cede(free)
				return true
			}
		case admitted | parking.Locked:
			if m.word.CompareAndSwap(w, w&observing) { // and open the express lane
				m.gate.open(m)
				return true
			}
		case sleeping:
			if m.wakeAdmitted(w) {
				return true
			}
		default:
			return false
		}
	}
}

// free returns the word with which a holder on the express lane leaves, if it has found w.
func (m *Mutex) free(w uint32) uint32 {
	if uint16(m.used) >= Express {
		return w&observing | full
	}
	return w & observing
}

// cede lets the admitted one run, who may be ready and not run, if the express lane has ended with
// the unlock that has left w. Until then it pays to go on: see [lane].
func (m *Mutex) cede(w uint32) {
	if w&full != 0 && !m.gate.isOpen() {
		xsync.Cede()
	}
}

// wakeAdmitted unlocks m, if the state is still w, and wakes the admitted one; or hands m over, if
// that is a future. If the future was abandoned the mutex is the caller's again, who tries again.
func (m *Mutex) wakeAdmitted(w uint32) bool {
	l := parking.Default().Line(m.key())
	s := l.First()
	if s == nil || s.Node().OfGoroutine() {
		free := m.free(w)
		ok := m.word.CompareAndSwap(w, free)
		if !ok || s == nil {
			l.Unlock()
			return ok
		}
		l.ClaimAndUnlock(s).Deliver(waiting.Granted)
		m.cede(free)
		return true
	}
	if !m.word.CompareAndSwap(w, w&observing|parking.Locked|admitted) {
		l.Unlock()
		return false
	}
	m.renew(true) // for the future, which cannot know yet that it holds m
	return l.ClaimAndUnlock(s).Deliver(waiting.Granted)
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *Mutex) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		m.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if m.mayBeObserved() {
		return lockObservedContext(ctx, m, rwWriter, m.acquire)
	}
	if !m.try(rwWriter, false) { // the first time it asks, a context allocates its channel
		if err := m.acquire(waiting.UntilDone(ctx), rwWriter); err != nil {
			return err
		}
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil { // perhaps before the unlock that has let us in
		return waiting.Keep(ctx, taken{m}, rwWriter)
	}
	return nil
}

// taken drops a lock that was taken, for [waiting.Keep].
type taken struct{ l interface{ drop(hold int64) } }

// GiveBack drops it.
func (t taken) GiveBack(hold int64) bool {
	t.l.drop(hold)
	return true
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is: to lock without waiting there is TryLock.
func (m *Mutex) LockTimeout(d time.Duration) bool {
	return d > 0 && m.lock(waiting.After(d)) == nil
}

// Waiting returns how many goroutines and futures wait for m. It is meant for tests and statistics.
func (m *Mutex) Waiting() int { return m.gate.waiting() + parking.Sleeping(m.key()) + inLine(m) }

// usable returns why a wait with ctx is none.
func usable(ctx context.Context) error {
	if ctx == nil {
		panic("sync: nil context")
	}
	return ctx.Err()
}
