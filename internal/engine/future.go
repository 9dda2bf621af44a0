package engine

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Future is a request for permits that is waited for by polling or by a channel, owned and embedded by its user. The
// methods are for one goroutine at a time, the owner; grants come from anywhere.
//
// Life: Init · Poll or Done (starts the request) · complete · taken, when the owner has asked for the outcome (Err) ·
// Cancel or Init (a new round). Until it is taken, a granted request belongs to the future, and Cancel gives it back: so
// futures can be combined, and one that is complete be dropped because another was quicker.
type Future struct {
	w     waiter.Waiter
	e     *Engine
	base  int64
	taken bool // the owner has asked for the outcome: a grant is the owner's to release
	fresh bool // since the last Init nothing has been started: what the node says is of an earlier request
}

// Init makes f a request for n permits, n >= 0, of e. The previous request must have been taken or cancelled: Init
// reports false, and changes nothing, if it was not.
func (f *Future) Init(e *Engine, base, n int64) bool {
	f.awaitClaimer()
	switch f.status() {
	case waiter.StatusIdle:
	case waiter.StatusComplete:
		if !f.taken {
			return false
		}
		f.fresh = true // which is cheaper than to reset the node
	default:
		return false
	}
	f.e, f.base, f.taken = e, base, false
	f.w.N = n
	return true
}

// status is the node's, unless that is of an earlier request.
func (f *Future) status() waiter.Status {
	if f.fresh {
		return waiter.StatusIdle
	}
	return f.w.Status()
}

// Engine returns what f is a request to, nil before Init.
func (f *Future) Engine() *Engine { return f.e }

// Poll reports whether the request is complete, and starts it if need be. If not complete, waker (which may be nil)
// will be woken when it is worth polling again; it replaces the one of the previous poll.
func (f *Future) Poll(waker waiter.Waker) bool {
	s := f.status()
	switch s {
	case waiter.StatusIdle:
		s = f.start(waker)
	case waiter.StatusWaiting:
		s = f.w.Rearm(waker)
	default:
	}
	if s == waiter.StatusBusy && waker != nil {
		waker.Wake()
	}
	return s == waiter.StatusComplete
}

// Done starts the request if need be, and returns a channel that carries one value when it is complete.
func (f *Future) Done() <-chan struct{} {
	if f.fresh {
		f.w.Reset()
	}
	for { // Each turn waits for a claimer's last steps.
		f.awaitClaimer()
		ch, s := f.w.Chan()
		if ch == nil {
			continue
		}
		if s == waiter.StatusIdle {
			f.start(nil)
		}
		return ch
	}
}

// Complete reports whether the last request that was started has ended and was not cancelled. Anybody may ask.
func (f *Future) Complete() bool { return f.w.Status() == waiter.StatusComplete }

// Err returns nil if the permits are the owner's, [waiter.ErrPending] if there is no outcome yet, or why there are
// none.
func (f *Future) Err() error {
	f.awaitClaimer() // a value on the channel comes a few instructions before the outcome
	if f.status() != waiter.StatusComplete {
		return waiter.ErrPending
	}
	f.taken = true
	return f.w.Outcome().Err()
}

// Cancel ends the round. Whatever was granted and not taken is given back, now or by whoever is granting it. A future
// that is idle or taken holds nothing to give back.
func (f *Future) Cancel() {
	switch f.status() {
	case waiter.StatusIdle:
		return
	case waiter.StatusComplete:
	default:
		if f.e.Cancel(f.base, &f.w) {
			f.w.Reset()
			return
		}
		if f.w.Abandon() {
			return
		}
		if f.w.Status() != waiter.StatusComplete {
			return // cancelled twice: it has been left to its claimer
		}
	}
	granted := !f.taken && f.w.Outcome() == waiter.Granted
	n := f.w.N
	f.w.Reset()
	if granted {
		f.e.giveBack(f.base, n)
	}
}

// start begins the request of an idle future.
func (f *Future) start(waker waiter.Waker) waiter.Status {
	f.taken, f.fresh = false, false
	n := f.w.N
	switch {
	case n > 0 && f.e.TryAcquire(f.base, n):
		f.w.Finish(waiter.Granted)
		return waiter.StatusComplete
	case f.e.IsClosed():
		f.w.Finish(waiter.Closed)
		return waiter.StatusComplete
	case n == 0:
		f.w.Finish(waiter.Granted)
		return waiter.StatusComplete
	}
	f.w.Arm(waker)
	if o := f.e.Enqueue(f.base, &f.w, AtBack); o != waiter.Pending {
		f.w.Finish(o)
		return waiter.StatusComplete
	}
	return waiter.StatusWaiting
}

// awaitClaimer waits for the last steps of a claimer that has begun with this node.
func (f *Future) awaitClaimer() {
	for f.w.Status() == waiter.StatusBusy {
		xsync.Yield()
	}
}
