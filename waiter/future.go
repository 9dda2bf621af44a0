package waiter

import "github.com/farad-go/farad/internal/xsync"

// A Request is how a lock starts and ends the request of a future. The future calls its methods, on
// the goroutine of the future's owner.
type Request interface {
	Line

	// Start makes the request for the w.N permits of w, which is idle, and returns its outcome; or
	// [Pending] if w waits, armed with waker.
	Start(w *Waiter, waker Waker) Outcome
}

// A Future is a request that is waited for by polling or by a channel. Its methods are for one
// goroutine at a time, the owner; grants come from any goroutine.
//
// Life: Init; Poll or Done, which starts the request; complete; taken, once the owner has asked for
// the outcome by Err; Release, Cancel or Init, which starts a new round. Release gives back what
// the future has: the place in line, or what was granted. Cancel does the same, but leaves with the
// owner what was taken. So futures can be combined: an owner that waits for several cancels the
// slower ones, and loses nothing that it was told of.
//
// Poll, Done and Err panic before Init. A Future must not be copied after Init.
type Future struct {
	Node  Waiter  // what stands in the line
	r     Request // nil before Init
	taken bool    // the owner has asked for the outcome: Cancel leaves the grant with it
}

// Init makes f a request for n permits, n >= 0, by way of r. The previous request must have been
// taken, released or cancelled. If not, Init reports false and changes nothing.
func (f *Future) Init(r Request, n int64) bool {
	f.awaitClaimer()
	switch f.Node.Status() {
	case StatusIdle:
	case StatusComplete:
		if !f.taken {
			return false
		}
		f.Node.Reset()
	default:
		return false
	}
	f.Node.N, f.r = n, r
	return true
}

// Request returns the request that f was made by Init, nil before.
func (f *Future) Request() Request { return f.r }

// Poll reports whether the request is complete, and starts it if need be. If not complete, waker
// (which may be nil) will be woken when it is worth polling again; it replaces the one of the
// previous poll.
func (f *Future) Poll(waker Waker) bool {
	s := f.Node.Status()
	switch s {
	case StatusIdle:
		return f.start(waker)
	case StatusWaiting:
		s = f.Node.Rearm(waker)
	default:
	}
	if s == StatusBusy && waker != nil {
		waker.Wake()
	}
	return s == StatusComplete
}

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The channel belongs to this round: after Init, Release or Cancel the next Done returns
// another. A request that is complete needs no channel of its own. One that waits allocates it, at
// the first Done of the round.
func (f *Future) Done() <-chan struct{} {
	f.awaitClaimer()
	if f.Node.Status() == StatusIdle {
		f.start(nil)
	}
	for { // At most two turns: after a claimer's last steps the request is complete.
		if ch := f.Node.Chan(); ch != nil {
			return ch
		}
		f.awaitClaimer()
	}
}

// Complete reports whether the request has ended; after Init, Release or Cancel it has not. Any
// goroutine may call it.
func (f *Future) Complete() bool { return f.Node.Status() == StatusComplete }

// Err returns nil if the permits are the owner's, [ErrPending] if there is no outcome yet,
// or why there are none.
func (f *Future) Err() error {
	if f.Node.Status() != StatusComplete {
		f.requireInit()
		return ErrPending
	}
	f.taken = true
	f.Node.forget()
	return f.Node.Outcome().Err()
}

// Taken reports whether Err has told the outcome of this round.
func (f *Future) Taken() bool { return f.taken && f.Complete() }

// Release ends the round and gives back what the future has. If a release is about to grant the
// request, that release takes the grant back. An idle future has nothing. Release reports false if
// the owner has already given back the grant by other means.
func (f *Future) Release() bool { return f.end(true) }

// Cancel is Release, but leaves a grant that was taken with the owner.
func (f *Future) Cancel() bool { return f.end(false) }

func (f *Future) end(evenTaken bool) bool {
	switch f.Node.Status() {
	case StatusIdle:
		return true
	case StatusComplete:
	default:
		if f.r.Unlink(&f.Node) {
			f.Node.Reset()
			return true
		}
		if f.Node.Abandon() {
			return true
		}
		if f.Node.Status() != StatusComplete {
			return true // ended twice: it has been left to its claimer
		}
	}
	mine := f.Node.Outcome() == Granted && (evenTaken || !f.taken)
	n := f.Node.N
	f.Node.Reset()
	return !mine || n == 0 || f.r.GiveBack(n)
}

// start begins the request of an idle future, and reports whether it is complete.
func (f *Future) start(waker Waker) bool {
	f.requireInit()
	f.taken = false
	o := f.r.Start(&f.Node, waker)
	if o == Pending {
		return false
	}
	f.Node.Finish(o)
	return true
}

func (f *Future) requireInit() {
	if f.r == nil {
		panic("farad: future without Init")
	}
}

// awaitClaimer waits for the last steps of a claimer that has begun with this node.
func (f *Future) awaitClaimer() {
	for f.Node.Status() == StatusBusy {
		xsync.Yield()
	}
}
