package sync

import (
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// A request is what a future asks of a Mutex or an RWMutex. It has two nodes. The owner waits by w,
// the node of its future. The node place stands at the gate; its waker is the request itself. Both
// lines are in one bucket of the table, and the sleeper s is in one of them at most.
//
//	Start:      express lane --> granted
//	            gate open ------> admit --> granted, or asleep
//	            gate closed ----> at the gate
//	at the gate:  a claimer opens the gate, and calls Wake: admit, for the owner
//	asleep:       an unlock hands the lock over
//
// A goroutine that is admitted competes with the express lane, and sleeps again if that was
// quicker. A future cannot compete, because it does not run. So the goroutine that opens the gate
// makes the attempt for it. An unlock that finds a future asleep does not unlock: it hands the lock
// over.
//
// Invariants:
//
//  1. The sleeper s stands at the gate, for place, or in front of the lock, for w, or nowhere. The
//     goroutine that has taken it out of the gate's line owns the admission until s is in the
//     lock's line or the lock is entered. (TestModelFuturesOfMutex)
//  2. The owner gives up in one of three ways, which it distinguishes under the bucket's lock. S
//     was at the gate: the gate has nothing to do. S was in front of the lock: the owner has the
//     admission, and opens the gate. Otherwise a claimer is at work: the owner abandons the node.
//     (TestModelFuturesOfMutex)
//  3. No abandoned node sleeps: before s is put to sleep, and under the same lock, the claimer asks
//     whether the node has been abandoned, and then opens the gate instead. So the future is its
//     owner's again after a few steps of the claimer. (TestModelFuturesOfMutex,
//     TestModelFutureIsLeftAtOnce)
//  4. A lock that a claimer has taken for an abandoned node is unlocked by that claimer, once. The
//     admission of a writer ends with it; that of a reader ends when the reader is in, whether or
//     not its owner is still there. (TestModelFuturesOfMutex, TestModelFuturesOfRWMutex)
//  5. The claimer touches the request for the last time in Deliver. (TestModelFuturesOfMutex, and
//     the race detector)
//
// Bound: a future stands in the line of the gate like all others, and is overtaken on the express
// lane only, by no more than the lane has places. Between admission and attempt there is no sleep.
// (TestModelFutureBypass.)
type request struct {
	w     *waiting.Waiter // of the future; its N is the hold that is wanted
	lock  admitting
	place waiting.Waiter
	s     parking.Sleeper
}

// admitting is a lock behind a gate, as a request sees it. The request has been admitted when it
// calls attempt, isSleeping, entered or leave.
type admitting interface {
	observable
	// takeLane takes the express lane if the lock is free and a place is left.
	takeLane(hold int64) bool
	gateOf() *gate
	// attempt enters the lock for an admitted request that has waited or not. If the lock is not
	// available it says in the word that the admitted one sleeps, and returns false.
	attempt(hold int64, waited bool) bool
	// isSleeping reports whether the word still says so.
	isSleeping() bool
	key() parking.Key
	// entered is called once after an admitted request has entered the lock. It delivers to w,
	// which may be nil.
	entered(hold int64, w *waiting.Waiter)
	// leave ends the admission of a request that has not entered the lock.
	leave()
	// isCrowded reports whether the places of the express lane count, and setCrowded says so.
	isCrowded() bool
	setCrowded(on bool)
	// letIn takes a hold for a reader in line, if there is room. The line is locked.
	letIn() bool
	// cedes reports whether open lets the next run at once. It does not while bubbles have the
	// lock: then a holder whose admission they have taken over may still renew the lane. The look
	// that finds the lock plain again comes after that.
	cedes() bool
	// isBubbled reports whether bubbles have the lock: then it is entered by join only.
	isBubbled() bool
	// toBubbled gives the lock to bubbles, and says how it is held. If a holder has an admission,
	// that is the caller's from now on. The line of key is locked. FromBubbled takes the lock back,
	// when it is free.
	toBubbled() (readers int64, writing, admission bool)
	fromBubbled()
	// giveBack unlocks. It reports false, and changes nothing, if the lock is not held so.
	giveBack(hold int64) bool
}

// admit makes the attempt for an admitted request, which has waited or not: it returns
// [waiting.Granted], or [waiting.Pending] if the request sleeps, and is not the caller's any more.
// It returns [waiting.Closed] if the owner has abandoned the node; the admission is the caller's
// then.
func (r *request) admit(waited bool) waiting.Outcome {
	for !r.lock.attempt(r.w.N, waited) { // A retry follows an unlock.
		l := parking.Default().Line(r.lock.key())
		switch {
		case r.w.Status() == waiting.StatusBusy: // invariant 3
			l.Unlock()
			return waiting.Closed
		case r.lock.isSleeping():
			l.Insert(&r.s, r.w, true)
			l.Unlock()
			return waiting.Pending
		case canBubble && r.lock.isBubbled():
			lock := r.lock
			o, here := joinFrom(lock, r.w)
			l.Unlock()
			if here {
				lock.leave()
				return o | inRow
			}
			continue
		}
		l.Unlock()
		waited = true
	}
	return waiting.Granted
}

// inRow is part of the outcome of a request that has left the gate, because bubbles have the lock.
const inRow waiting.Outcome = 1 << 7

// Start implements [waiting.Request].
func (r *request) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if r.lock.mayBeObserved() {
		return observed.StartFuture(r.lock.record(), r.lock.requested(w.N), (*starter)(r), w, waker)
	}
	return r.start(w, waker)
}

// start is Start, whether or not the lock is observed.
func (r *request) start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if canBubble {
		o, here := join(r.lock, w.N, func(bool) (*waiting.Waiter, *across) {
			w.Arm(waker)
			return w, nil
		})
		if here {
			return o
		}
	}
	if r.lock.takeLane(w.N) {
		return waiting.Granted
	}
	w.Arm(waker)
	if gate := r.lock.gateOf(); !gate.tryPass() {
		r.place.Arm((*admission)(r))
		if gate.enqueue(r.lock, &r.s, &r.place) {
			return waiting.Pending
		}
		r.place.Reset()
	}
	lock, hold := r.lock, w.N // read first: a request that sleeps is not ours any more
	o := r.admit(false)
	if o == waiting.Granted {
		lock.entered(hold, nil)
	}
	return o &^ inRow
}

// Unlink implements [waiting.Request]: invariant 2.
func (r *request) Unlink(w *waiting.Waiter) bool {
	gate := r.lock.gateOf()
	l := parking.Default().Line(gate.key()) // and with it that of the lock
	switch {
	case gate.leaveLocked(l, &r.s):
		l.Unlock()
		r.place.Reset()
		return true
	case l.Remove(&r.s):
		l.Unlock()
		r.lock.leave()
		return true
	}
	if canBubble {
		if claimed, ok := drop(r.lock, w); ok {
			l.Unlock()
			deliver(r.lock, claimed)
			return true
		}
	}
	w.Abandon()
	l.Unlock()
	return false
}

// GiveBack implements [waiting.Request].
func (r *request) GiveBack(hold int64) bool { return r.lock.giveBack(hold) }

// admission is the waker of a request that stands at the gate.
type admission request

// Wake implements [waiter.Waker]. A claimer calls it, without a lock, when the request has been
// admitted.
func (a *admission) Wake() {
	r := (*request)(a)
	lock, hold := r.lock, r.w.N
	r.place.Reset()
	switch r.admit(true) {
	case waiting.Granted:
		lock.entered(hold, r.w)
	case waiting.Granted | inRow:
		grantTo(lock, r.w, hold)
	case waiting.Closed:
		r.w.Deliver(waiting.Closed) // no goroutine sees it: the node becomes its owner's again
		lock.leave()
	default: // It sleeps.
	}
}

// grantTo grants w, unless it is nil, the lock. If w was abandoned grantTo unlocks.
func grantTo(lock admitting, w *waiting.Waiter, hold int64) {
	if w != nil && !w.Deliver(waiting.Granted) && !lock.giveBack(hold) {
		panic("sync: an unlock too many beside a request that was given up")
	}
}
