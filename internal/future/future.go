// Package future is what the futures of all locks have in common: a request for permits that is
// waited for by polling or by a channel.
package future

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Request is how a lock begins to serve a future, and how it stops. The future calls it, for its
// owner.
type Request interface {
	// Start makes the request for the w.N permits of w, which is idle, and returns how it has
	// ended; or [waiter.Pending] if w waits, armed with waker.
	Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome
	// Unlink ends the wait of w, and reports false if a claimer was faster: then the outcome is on
	// its way to w.
	Unlink(w *waiter.Waiter) bool
	// GiveBack gives back the n permits that were granted. It reports false, and changes nothing,
	// if fewer are held: somebody has given them back already, past the future.
	GiveBack(n int64) bool
}

// Future is the life of a request. The methods are for one goroutine at a time, the owner; grants
// come from anywhere.
//
// Life: Init · Poll or Done (starts the request) · complete · taken, when the owner has asked for
// the outcome (Err) · Release, Cancel or Init (a new round). Release gives back whatever the future
// has: the place in line, or what was granted. Cancel does the same, but leaves with the owner what
// was taken. So futures can be combined: one who waits for several cancels those that were slower,
// and takes nothing from an owner who has been told.
type Future struct {
	Node  waiter.Waiter // what stands in line
	taken bool          // the owner has asked for the outcome: Cancel leaves the grant with it
}

// Init makes f a request for n permits, n >= 0. The previous request must have been taken, released
// or cancelled: Init
// reports false, and changes nothing, if it was not.
func (f *Future) Init(n int64) bool {
	f.awaitClaimer()
	switch f.Node.Status() {
	case waiter.StatusIdle:
	case waiter.StatusComplete:
		if !f.taken {
			return false
		}
		f.Node.Reset()
	default:
		return false
	}
	f.Node.N = n
	return true
}

// Poll reports whether the request is complete, and starts it if need be. If not complete, waker
// (which may be nil) will be woken when it is worth polling again; it replaces the one of the
// previous poll.
func (f *Future) Poll(r Request, waker waiter.Waker) bool {
	s := f.Node.Status()
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

// Done starts the request if need be, and returns a channel that carries one value when it is
// complete. A receive takes the value out, and the next Done puts it back.
func (f *Future) Done(r Request) <-chan struct{} {
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

// Complete reports whether the request has ended; after Init, Release or Cancel it has not. Anybody
// may ask.
func (f *Future) Complete() bool { return f.Node.Status() == waiter.StatusComplete }

// Err returns nil if the permits are the owner's, [waiter.ErrPending] if there is no outcome yet,
// or why there are none.
func (f *Future) Err() error {
	f.awaitClaimer() // a value on the channel comes a few instructions before the outcome
	if f.Node.Status() != waiter.StatusComplete {
		return waiter.ErrPending
	}
	f.taken = true
	f.Node.Forget()
	return f.Node.Outcome().Err()
}

// Release ends the round, and gives back whatever the future has, now or by one who is granting it.
// A future that is idle has nothing. Release reports false if what was granted has been given back
// already, past the future.
func (f *Future) Release(r Request) bool { return f.end(r, true) }

// Cancel is Release, but for a request that was granted and taken: that stays with the owner, who
// gives it back.
func (f *Future) Cancel(r Request) bool { return f.end(r, false) }

func (f *Future) end(r Request, evenTaken bool) bool {
	switch f.Node.Status() {
	case waiter.StatusIdle:
		return true
	case waiter.StatusComplete:
	default:
		if r.Unlink(&f.Node) {
			f.Node.Reset()
			return true
		}
		if f.Node.Abandon() {
			return true
		}
		if f.Node.Status() != waiter.StatusComplete {
			return true // ended twice: it has been left to its claimer
		}
	}
	mine := f.Node.Outcome() == waiter.Granted && (evenTaken || !f.taken)
	n := f.Node.N
	f.Node.Reset()
	return !mine || r.GiveBack(n)
}

// start begins the request of an idle future, and reports whether it is complete.
func (f *Future) start(r Request, waker waiter.Waker) bool {
	f.taken = false
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
