package share

import "github.com/farad-go/farad/waiter"

// A Request is one to a share: a [waiter.Request], and its place in the line. It belongs to the
// future or to the goroutine that waits, so a line allocates nothing. Of sets the share, before
// each round. It must not be copied.
type Request struct {
	share *Share

	w          *waiter.Waiter // set when the request begins to wait, as n is
	n          int64          // permits
	outcome    waiter.Outcome // set by ended.add
	next, prev *Request       // guarded by the share's mu; next belongs to an ended after that
	waits      bool           // in a line; guarded by the same mu
	sleeps     bool           // of a goroutine
}

// Of makes r a request to s.
func (r *Request) Of(s *Share) { r.share = s }

// Start implements [waiter.Request].
func (r *Request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	o := r.share.permits.start(r, w, waker)
	if o == waiter.Pending {
		r.share.ring(onWait)
	}
	return o
}

// Unlink implements [waiter.Request].
func (r *Request) Unlink(*waiter.Waiter) bool {
	waited := r.share.permits.unlink(r)
	r.share.ring(onWait) // the agent may have asked for more than is wanted now
	r.share.ringFree()   // and a grant to one that was given up may have gone back
	return waited
}

// GiveBack implements [waiter.Request].
func (r *Request) GiveBack(n int64) bool { return r.share.Release(n) }

// A queue is a line of requests, oldest first.
type queue struct {
	head, tail *Request
	len        int
}

func (q *queue) push(r *Request) {
	r.prev, r.waits = q.tail, true
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.next = r
	}
	q.tail = r
	q.len++
}

// remove takes r out of q, in which it is.
func (q *queue) remove(r *Request) {
	if r.prev == nil {
		q.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		q.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.next, r.prev, r.waits = nil, nil, false
	q.len--
}

// An ended is a list of requests that have left a line, and of their outcomes.
type ended struct {
	head, tail *Request

	last *waiter.Waiter // of a goroutine that has a grant and does not know it yet
}

func (e *ended) add(r *Request, o waiter.Outcome) {
	r.outcome = o
	if e.head == nil {
		e.head = r
	} else {
		e.tail.next = r
	}
	e.tail = r
}

// deliver passes all requests their outcomes, and empties e. It returns how many permits were
// granted to those that had been given up: the caller grants them to others, and calls again.
//
// The last goroutine with a grant comes at the very end: it gets the processor with its permits.
// Otherwise they would lie idle until the caller blocks, and a convoy would form. Only futures are
// given up: a goroutine that is not in line any more waits for its outcome.
func (e *ended) deliver() (refused int64) {
	for r := e.head; r != nil; r = e.head {
		w, n, o := r.w, r.n, r.outcome
		e.head, r.next = r.next, nil // before r is its owner's again
		if o == waiter.Granted && r.sleeps {
			w, e.last = e.last, w
		}
		if w != nil && !w.Deliver(o) && o == waiter.Granted {
			refused += n
		}
	}
	if refused == 0 && e.last != nil {
		e.last.HandOff()
	}
	return refused
}
