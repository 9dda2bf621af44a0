package waiting

import (
	"errors"

	"github.com/farad-go/farad/internal/xsync"
)

// An Outcome is how a request ended. It travels with the wake-up, so a waiter that loses the race
// to cancel knows whether it has permits to give back.
type Outcome uint8

// The outcomes. Package waiter has their meanings.
const (
	Pending Outcome = iota
	Granted
	Closed
	TooLarge
	QueueFull
	Shed
	WouldExpire
)

// The errors of outcomes, with the meanings of those of package waiter.
var (
	ErrClosed      = errors.New("farad: closed")
	ErrTooLarge    = errors.New("farad: request exceeds size")
	ErrQueueFull   = errors.New("farad: too many waiters")
	ErrShed        = errors.New("farad: shed after too long a wait")
	ErrWouldExpire = errors.New("farad: no permit expected before the deadline")
	ErrPending     = errors.New("farad: request is pending")
)

var outcomeErrors = [...]error{
	Pending: ErrPending, Granted: nil, Closed: ErrClosed, TooLarge: ErrTooLarge, QueueFull: ErrQueueFull,
	Shed: ErrShed, WouldExpire: ErrWouldExpire,
}

// Err returns the error that the outcome stands for, nil for [Granted].
func (o Outcome) Err() error { return outcomeErrors[o] }

// A node has an owner, which waits, and at most one claimer, which has unlinked the node. The
// claimer alone decides how the request ends. The outcome reaches the owner of a goroutine's node
// through its sleeper, that of a future's node through its state word:
//
//	state        who may move it, and to what                    waker, done are
//	idle         owner: armed (Arm), complete (Finish)            the owner's
//	registering  owner: armed (Rearm); claimer: complete          written by the owner
//	armed        owner: registering, abandoned (Abandon); and,    left alone
//	             in no queue, idle (Reset) or complete (Finish)
//	             claimer: claiming
//	claiming     claimer: complete; owner: claimingAbandoned      read by the claimer
//	complete     owner: idle (Reset)                              the owner's
//	abandoned, claimingAbandoned   claimer: idle                  left alone
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
//     (FutureRepollWithAnotherWakerIsNeverLost of internal/locktest/futuretest)
//  2. A claimer that meets registering completes without a waker; the owner's step back to
//     armed then fails, and the owner sees the outcome itself. It closes the channel and, in Chan,
//     wakes the waker of an earlier poll.
//     (FutureRepollWithAnotherWakerIsNeverLost, FutureDoneAfterPollWakesBoth)
//  3. The claimer touches the node for the last time when it moves the state to complete or idle.
//     The waker that it calls afterwards and the channel that it closes are copies. So the owner
//     of a complete or idle node may use the node again. (FutureIsReusable)
//  4. Only the claimer of an abandoned node moves it to idle. Deliver returns false to this
//     claimer, which gives back what it had granted, once.
//     (TestContract/StressConservesPermits)

// A Waiter is the node of one request in a queue: part of a [Parker] for a goroutine, of a [Future]
// for a task or a select. So queueing allocates nothing. It must not be copied after first use.
type Waiter struct {
	next, prev *Waiter // guarded by the lock of the queue; next belongs to the wake list after the claim
	queued     bool    // in a Queue; guarded by the same lock

	ofGoroutine bool    // a goroutine's node, not a future's; never changes
	outcome     Outcome // written by the claimer before it publishes, or by the owner
	state       xsync.Uint32

	// N is how many permits the request is for. The owner sets it while the node is idle.
	N int64

	waker Waker        // a goroutine's node: its *sleeping, for ever; a future's: invariant 1
	done  xsync.Signal // a future's node: invariant 1; this round's, nil until Chan has made it
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
// claimed the node, which means taken it out of its queue. It holds no lock and must not touch the
// node again. Deliver reports whether the owner will see the outcome. If not, the owner has given
// up, and the caller takes back what it granted.
//
// A call of Deliver synchronizes before the owner's return from its wait.
func (w *Waiter) Deliver(o Outcome) bool {
	w.outcome = o
	if w.ofGoroutine {
		w.waker.(*sleeping).Wake()
		return true
	}
	return w.complete()
}

// HandOff is Deliver of [Granted] for what the caller has held until now. If w is a goroutine's
// node its owner runs at once, on the caller's processor, and the caller later: see [xsync.Cede].
// Otherwise what was handed over would lie idle until the caller blocks. A convoy would form: all
// who come meanwhile queue, and so the queue never ends.
func (w *Waiter) HandOff() bool {
	goroutine := w.ofGoroutine
	ok := w.Deliver(Granted)
	if goroutine {
		xsync.Cede()
	}
	return ok
}

// complete tells a future's owner the outcome.
func (w *Waiter) complete() bool {
	for { // Each turn follows a step of the owner, which takes two for each poll.
		switch w.state.Load() {
		case stateRegistering:
			if w.state.CompareAndSwap(stateRegistering, stateComplete) {
				return true
			}
		case stateArmed:
			if !w.state.CompareAndSwap(stateArmed, stateClaiming) {
				continue
			}
			waker, done := w.waker, w.done
			if w.state.CompareAndSwap(stateClaiming, stateComplete) {
				done.Close()
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

// Arm prepares an idle node for a queue. When the request ends waker is woken, unless it is nil. A
// goroutine's node needs no preparation.
func (w *Waiter) Arm(waker Waker) {
	if w.ofGoroutine {
		return
	}
	w.waker, w.done = waker, nil
	w.state.Store(stateArmed)
}

// Finish completes a node whose request did not have to wait. The owner calls it; there is no
// claimer. The node is idle, or armed but in no queue.
func (w *Waiter) Finish(o Outcome) {
	w.outcome = o
	w.waker, w.done = nil, nil // The channel may be one of an abandoned round.
	w.state.Store(stateComplete)
}

// A Status is what the owner of a future's node learns about it.
type Status uint8

// The statuses.
const (
	// StatusIdle: no request is under way.
	StatusIdle Status = iota
	// StatusWaiting: the request waits, and its waker will be woken.
	StatusWaiting
	// StatusBusy: a claimer is about to finish with this node. A poll wakes its own waker.
	StatusBusy
	// StatusComplete: Outcome says how the request ended.
	StatusComplete
)

// Status returns the status. It changes nothing.
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

// Chan returns the channel that is closed when the request ends. Only a request that waits needs a
// channel of its own, and Chan makes it on first use. The channel is nil if the node is idle, or if
// a claimer is about to finish with it.
func (w *Waiter) Chan() <-chan struct{} {
	s := w.Status()
	switch {
	case s == StatusIdle: // An abandoned round may have left its channel.
		return nil
	case w.done != nil: // The owner alone writes the field, so it may always read it.
		return w.done.C()
	case s == StatusComplete:
		return xsync.Closed().C()
	case s == StatusBusy || !w.state.CompareAndSwap(stateArmed, stateRegistering):
		return nil
	}
	w.done = xsync.NewSignal(0)
	if w.endRegistering() == StatusComplete && w.waker != nil { // The claimer met registering and could not wake it.
		w.waker.Wake()
	}
	return w.done.C()
}

// endRegistering steps back to armed. If a claimer has come meanwhile it called no waker (invariant
// 2). The owner is here to see the outcome, so only the channel is left to close.
func (w *Waiter) endRegistering() Status {
	if w.state.CompareAndSwap(stateRegistering, stateArmed) {
		return StatusWaiting
	}
	w.done.Close()
	return StatusComplete
}

// Outcome returns how the request ended. The owner may call it after the delivery.
func (w *Waiter) Outcome() Outcome { return w.outcome }

// forget drops the waker of a complete node, so that the node does not keep it alive.
func (w *Waiter) forget() { w.waker = nil }

// Abandon leaves a node to its claimer. The owner calls it when it could not unlink the node, so a
// claimer exists. The owner must not touch the node again until it is idle. Abandon reports false
// if the request is complete after all: then the owner has to deal with the outcome.
func (w *Waiter) Abandon() bool {
	for { // Each turn follows a step of the claimer, which makes at most two.
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

// OfGoroutine reports whether w is a goroutine's node and not a future's. The claimer may call it.
func (w *Waiter) OfGoroutine() bool { return w.ofGoroutine }

// Reset moves a node to idle. The node is complete, or its owner has unlinked it.
func (w *Waiter) Reset() {
	w.waker, w.done = nil, nil
	w.state.Store(stateIdle)
}
