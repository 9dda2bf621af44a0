// Package future is what the futures of all locks have in common: a request for permits that is waited for by polling or by a channel.
package future

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Request is how a lock begins to serve a future, and how it stops. The future calls it, for its owner.
type Request interface {
	// Start makes the request for the w.N permits of w, which is idle, and returns how it has ended; or [waiter.Pending] if w waits,
	// armed with waker.
	Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome
	// Unlink ends the wait of w, and reports false if a claimer was faster: then the outcome is on its way to w.
	Unlink(w *waiter.Waiter) bool
	// GiveBack gives back the n permits that were granted.
	GiveBack(n int64)
}

// Future is the life of a request. The methods are for one goroutine at a time, the owner; grants come from anywhere.
//
// Life: Init · Poll or Done (starts the request) · complete · taken, when the owner has asked for the outcome (Err) ·
// Cancel or Init (a new round). Until it is taken, a granted request belongs to the future, and Cancel gives it back: so
// futures can be combined, and one that is complete be dropped because another was quicker.
type Future struct {
	Node  waiter.Waiter // what stands in line
	taken bool          // the owner has asked for the outcome: a grant is the owner's to release
	fresh bool          // since the last Init nothing has been started: what the node says is of an earlier request
}

// Init makes f a request for n permits, n >= 0. The previous request must have been taken or cancelled: Init
// reports false, and changes nothing, if it was not.
func (f *Future) Init(n int64) bool {
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
	f.Node.N = n
	return true
}

// status is the node's, unless that is of an earlier request.
func (f *Future) status() waiter.Status {
	if f.fresh {
		return waiter.StatusIdle
	}
	return f.Node.Status()
}

// Poll reports whether the request is complete, and starts it if need be. If not complete, waker (which may be nil)
// will be woken when it is worth polling again; it replaces the one of the previous poll.
func (f *Future) Poll(r Request, waker waiter.Waker) bool {
	s := f.status()
	switch s {
	case waiter.StatusIdle:
		return f.start(r, waker)
	case waiter.StatusWaiting:
		s = f.Node.Rearm(waker)
	default:
	}
	if s == waiter.StatusBusy && waker != nil {
		waker.Wake()
	}
	return s == waiter.StatusComplete
}

// Done starts the request if need be, and returns a channel that carries one value when it is complete.
func (f *Future) Done(r Request) <-chan struct{} {
	if f.fresh {
		f.Node.Reset()
	}
	for { // Each turn waits for a claimer's last steps.
		f.awaitClaimer()
		ch, s := f.Node.Chan()
		if ch == nil {
			continue
		}
		if s == waiter.StatusIdle {
			f.start(r, nil)
		}
		return ch
	}
}

// Complete reports whether the last request that was started has ended and was not cancelled. Anybody may ask.
func (f *Future) Complete() bool { return f.Node.Status() == waiter.StatusComplete }

// Err returns nil if the permits are the owner's, [waiter.ErrPending] if there is no outcome yet, or why there are
// none.
func (f *Future) Err() error {
	f.awaitClaimer() // a value on the channel comes a few instructions before the outcome
	if f.status() != waiter.StatusComplete {
		return waiter.ErrPending
	}
	f.taken = true
	f.Node.Forget()
	return f.Node.Outcome().Err()
}

// Cancel ends the round. Whatever was granted and not taken is given back, now or by whoever is granting it. A future
// that is idle or taken holds nothing to give back.
func (f *Future) Cancel(r Request) {
	switch f.status() {
	case waiter.StatusIdle:
		return
	case waiter.StatusComplete:
	default:
		if r.Unlink(&f.Node) {
			f.Node.Reset()
			return
		}
		if f.Node.Abandon() {
			return
		}
		if f.Node.Status() != waiter.StatusComplete {
			return // cancelled twice: it has been left to its claimer
		}
	}
	granted := !f.taken && f.Node.Outcome() == waiter.Granted
	n := f.Node.N
	f.Node.Reset()
	if granted {
		r.GiveBack(n)
	}
}

// start begins the request of an idle future, and reports whether it is complete.
func (f *Future) start(r Request, waker waiter.Waker) bool {
	f.taken, f.fresh = false, false
	o := r.Start(&f.Node, waker)
	if o == waiter.Pending {
		return false
	}
	f.Node.Finish(o)
	return true
}

// awaitClaimer waits for the last steps of a claimer that has begun with this node.
func (f *Future) awaitClaimer() {
	for f.Node.Status() == waiter.StatusBusy {
		xsync.Yield()
	}
}
