package waiter

import "github.com/farad-go/farad/internal/xsync"

// An Outcome is how a request ended. It travels with the wake-up, so that whoever was woken, and
// whoever lost the race to cancel, knows whether there is anything to give back.
type Outcome uint8

// The outcomes.
const (
	// Pending means that the request has not ended.
	Pending Outcome = iota
	// Granted means that the permits belong to the waiter.
	Granted
	// Closed, TooLarge and QueueFull mean that the waiter got nothing: [ErrClosed], [ErrTooLarge],
	// [ErrQueueFull].
	Closed
	TooLarge
	QueueFull
)

var outcomeErrors = [...]error{
	Pending: ErrPending, Granted: nil, Closed: ErrClosed, TooLarge: ErrTooLarge, QueueFull: ErrQueueFull,
}

// Err returns the error that the outcome stands for, nil for [Granted].
func (o Outcome) Err() error { return outcomeErrors[o] }

// A Waiter is the node that stands in a queue for one request. It is intrusive: it is embedded in
// what waits (a [Parker] for a goroutine, a future for a task or a select), so that queueing
// allocates nothing.
//
// A node has an owner, who waits, and at most one claimer, who has unlinked it and thereby alone
// decides that the request ends, and how. A goroutine's node is told through its signal channel. A
// future's node is told through its state word:
//
//	state        who may move it, and to what                    waker, done are
//	idle         owner: armed (Arm), complete (Finish)            the owner's
//	registering  owner: armed (Rearm); claimer: complete          written by the owner
//	armed        owner: registering, abandoned (Abandon); and,    nobody's
//	             in no queue, idle (Reset) or complete (Finish)
//	             claimer: claiming
//	claiming     claimer: complete; owner: claimingAbandoned      read by the claimer
//	complete     owner: idle (Reset)                              the owner's
//	abandoned, claimingAbandoned   claimer: idle                  nobody's
//
//	         Arm           claim                publish
//	  idle ------> armed ---------> claiming -----------> complete
//	    ^          |   ^               |                    |   ^
//	    |   Abandon|   |Rearm   Abandon|                    |   | claim while registering
//	    |          v   v               v                    |   |
//	    |  abandoned  registering   claimingAbandoned       |   |
//	    |<---(claimer refuses)---------|                    |   |
//	    |<------------------------Reset---------------------+   |
//	                  registering ------------------------------+
//
// Invariants:
//
//  1. The waker and the done channel are written only in idle and registering and read by the
//     claimer only in claiming: no wake-up goes to a waker that has been replaced.
//     (TestContract/RepollWithAnotherWakerIsNeverLost)
//  2. A claimer that meets registering completes without a waker; the owner, whose step back to
//     armed then fails, sees the outcome itself, and tells whoever it does not return it to: the
//     channel, and in Chan the waker of an earlier poll.
//     (TestContract/RepollWithAnotherWakerIsNeverLost, TestContract/DoneAfterPollWakesThePoller)
//  3. The claimer touches the node for the last time when it moves the state to complete or idle.
//     The waker that it calls afterwards is a copy. So the owner of a complete or idle node may use
//     it again. (TestContract/FutureIsReusable)
//  4. An abandoned node returns to idle by its claimer's hand only; a claimer that finds it
//     abandoned is told so (Deliver returns false) and gives back what it had granted, once.
//     (TestContract/StressConservesPermits)
//
// A Waiter must not be copied after first use.
type Waiter struct {
	next, prev *Waiter // guarded by the lock of the queue; next belongs to the wake list after the claim
	queued     bool    // in a Queue; guarded by the same lock

	outcome Outcome // written by the claimer before it publishes, or by the owner
	state   xsync.Uint32

	// N is how many permits the request is for. The owner sets it while the node is idle.
	N int64

	signal xsync.Signal // a goroutine's node: how its parker is told; nil in a future
	waker  Waker        // a future's node: invariant 1
	done   xsync.Signal // a future's node: invariant 1; capacity 1, nil until somebody selects on it
}

const (
	stateIdle uint32 = iota
	stateRegistering
	stateArmed
	stateClaiming
	stateComplete
	stateAbandoned
	stateClaimingAbandoned
)

// Deliver ends the request with outcome o, which must not be [Pending]. The caller must have
// claimed the node: it, and nobody else, took it out of the queue. It reports whether the owner
// will see the outcome; if not, the owner has gone and whatever was granted is the caller's to give
// back. The caller holds no lock, and must not touch the node again.
//
// What happened before Deliver happens before the owner's return from its wait.
func (w *Waiter) Deliver(o Outcome) bool {
	w.outcome = o
	if w.signal != nil {
		w.signal.Send() // the token
		return true
	}
	return w.complete()
}

// complete tells a future's owner the outcome.
func (w *Waiter) complete() bool {
	for { // Each turn follows a step of the owner, who takes two for each poll.
		switch w.state.Load() {
		case stateRegistering:
			if w.state.CompareAndSwap(stateRegistering, stateComplete) {
				return true
			}
		case stateArmed:
			if !w.state.CompareAndSwap(stateArmed, stateClaiming) {
				continue
			}
			waker := w.waker
			// Before publishing: a value that came later could reach the channel's next round.
			w.done.TrySend()
			if w.state.CompareAndSwap(stateClaiming, stateComplete) {
				if waker != nil {
					waker.Wake()
				}
				return true
			}
			w.state.Store(stateIdle)
			return false
		case stateAbandoned:
			w.state.Store(stateIdle)
			return false
		default:
			panic("waiter: delivery to a waiter that does not wait")
		}
	}
}

// Arm readies an idle node for a queue: waker will be woken, unless nil, when the request ends.
func (w *Waiter) Arm(waker Waker) {
	w.done.TryReceive()
	w.waker = waker
	w.state.Store(stateArmed)
}

// Finish completes a node with an outcome that its owner has found itself, without any claimer: the
// request did not have to wait. The node is idle, or armed but in no queue.
func (w *Waiter) Finish(o Outcome) {
	w.outcome = o
	w.waker = nil
	w.done.TrySend() // a value that is still there from an earlier round serves as well
	w.state.Store(stateComplete)
}

// A Status is what the owner of a future's node learns about it.
type Status uint8

// The statuses.
const (
	// StatusIdle: no request is under way.
	StatusIdle Status = iota
	// StatusWaiting: the request waits, and the waker that was given will be woken.
	StatusWaiting
	// StatusBusy: a claimer is at its last few steps with this node. A poll wakes itself and comes
	// back.
	StatusBusy
	// StatusComplete: Outcome says how the request ended.
	StatusComplete
)

// Status tells how things stand, without changing anything.
func (w *Waiter) Status() Status {
	switch w.state.Load() {
	case stateIdle:
		return StatusIdle
	case stateComplete:
		return StatusComplete
	case stateArmed, stateRegistering:
		return StatusWaiting
	default:
		return StatusBusy
	}
}

// Rearm replaces the waker of a waiting node.
func (w *Waiter) Rearm(waker Waker) Status {
	if o, ok := w.waker.(Owner); ok {
		o.Displaced(waker)
	}
	if !w.state.CompareAndSwap(stateArmed, stateRegistering) {
		return w.Status()
	}
	w.waker = waker
	return w.endRegistering()
}

// Chan returns the channel that carries one value when the request has ended, and makes it on first
// use; in a waiting node that is a registration like that of a waker. In a complete node the value
// is there, even if it has been received before. Status tells how things stood then: after
// [StatusBusy] the channel may be nil.
func (w *Waiter) Chan() (<-chan struct{}, Status) {
	if w.done != nil { // The owner alone writes the field, so it may always read it.
		s := w.Status()
		if s == StatusComplete { // the claimer does not touch the node any more: invariant 3
			w.done.TrySend()
		}
		return w.done.C(), s
	}
	switch s := w.Status(); s {
	case StatusIdle:
		w.done = xsync.NewSignal(1)
		return w.done.C(), s
	case StatusComplete:
		w.done = xsync.NewSignal(1)
		w.done.TrySend()
		return w.done.C(), s
	case StatusWaiting:
		if !w.state.CompareAndSwap(stateArmed, stateRegistering) {
			return nil, w.Status()
		}
		w.done = xsync.NewSignal(1)
		s := w.endRegistering()
		if s == StatusComplete && w.waker != nil { // whom the claimer, meeting registering, could not wake
			w.waker.Wake()
		}
		return w.done.C(), s
	default:
		return nil, s
	}
}

// endRegistering steps back to armed. If a claimer came by meanwhile it found nobody to wake
// (invariant 2), and the owner is here to see the outcome; only the channel has to be told.
func (w *Waiter) endRegistering() Status {
	if w.state.CompareAndSwap(stateRegistering, stateArmed) {
		return StatusWaiting
	}
	w.done.TrySend()
	return StatusComplete
}

// Outcome returns how the request ended. Its owner may ask when it has been told.
func (w *Waiter) Outcome() Outcome { return w.outcome }

// Forget lets go of the waker of a complete node, which nobody will wake any more, so that the node
// does not keep it alive.
func (w *Waiter) Forget() { w.waker = nil }

// Abandon leaves a node to its claimer: the owner wants nothing more of it and must not touch it
// until it is idle again. It reports false if the request is complete after all, so that the owner
// still has to deal with the outcome. It is called after an attempt to unlink the node has failed,
// so a claimer exists.
func (w *Waiter) Abandon() bool {
	for { // Each turn follows a step of the claimer, who makes at most two.
		switch w.state.Load() {
		case stateArmed:
			if w.state.CompareAndSwap(stateArmed, stateAbandoned) {
				return true
			}
		case stateClaiming:
			if w.state.CompareAndSwap(stateClaiming, stateClaimingAbandoned) {
				return true
			}
		default:
			return false
		}
	}
}

// OfGoroutine reports whether a goroutine sleeps behind w, and not a future waits. Whoever has
// unlinked the node may ask.
func (w *Waiter) OfGoroutine() bool { return w.signal != nil }

// Reset returns a complete node, or one that its owner has unlinked itself, to idle.
func (w *Waiter) Reset() {
	w.waker = nil
	w.done.TryReceive()
	w.state.Store(stateIdle)
}
