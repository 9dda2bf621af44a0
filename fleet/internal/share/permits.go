package share

import (
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/waiter"
)

// The word:
//
//	63                                    3   2   1   0
//	+--------------------------------------+---+---+---+
//	|           free permits, signed       | O | C | W |
//	+--------------------------------------+---+---+---+
//
//	free       W  C   meaning
//	>= 0       0  0   that many are free, no request waits
//	any        1  0   requests wait, and what is free is for the oldest one
//	< 0        .  .   debt: more are held than given; releases pay it first
//	any        0  1   closed; releases still count
//
// O says that the share is observed. While it is set tries fail, so that slow paths record what
// they do.
const (
	flagWaiters = 1 << iota
	flagClosed
	flagObserved
	permitShift = iota

	flags = flagWaiters | flagClosed | flagObserved
)

const _ = store.MaxWeight << permitShift // fits into the word

// Permits are a strict lock of many permits, which come and go. A request may be for more than
// there are, up to a bound, and waits for them to come.
//
// A try, and a release while no request waits, are one compare-and-swap each. All else happens
// under mu. Requests end after mu is released.
//
// Invariants, each with a test that fails without it:
//
//  1. Permits are conserved: free plus held is given in every state.
//     (TestModelPermits, TestPermitsAreConserved)
//  2. When mu is free, W is set if and only if a request waits, and then less is free than the
//     oldest one is for. So nobody overtakes it, and no permit lies idle that it could use.
//     (TestModelPermits, TestModelHistories, TestPermitsDoWhatAPlainModelDoes)
//  3. While W is set the word changes only under mu. So what was seen free is there to be granted.
//     (TestModelPermits)
//  4. A request leaves the line under mu, once: by a grant, by Unlink, by close or by bound.
//     (TestModelPermits/unlink, TestModelPermits/close)
//  5. No request is touched after its outcome was delivered: it may wait elsewhere by then. (the
//     race detector, in TestPermitsAreConserved)
//  6. A grant that its owner gave up goes to the next request. (TestModelPermits/future gives up,
//     TestModelMisuseIsNoticedOnce)
//
// Why no wake-up is lost: a request that has to wait sets W by a compare-and-swap of the word in
// which it saw too few permits. A release that came before has changed the word, and the
// compare-and-swap fails. A release that comes after sees W, and finds the request under mu.
type permits struct {
	word  atomicInt64 // written by CAS while W is clear, under mu while it is set
	given atomicInt64 // written under mu

	mu    mutex
	line  queue // guarded by mu
	bound int64 // guarded by mu: how many permits a request may be for
}

// try takes n permits if no flag of but is set and they are free. It does not fail because
// of others that run at the same time and leave enough.
func (p *permits) try(n, but int64) bool {
	for { // A turn is lost only to another's success, or to a flag.
		o := p.word.Load()
		if o&but != 0 || o>>permitShift < n {
			return false
		}
		if p.word.CompareAndSwap(o, o-n<<permitShift) {
			return true
		}
	}
}

// give adds n permits, n > 0, if no flag of but is set and as many are held.
func (p *permits) give(n, but int64) bool {
	for { // A turn is lost only to another's success, or to a flag.
		o := p.word.Load()
		if o&but != 0 || n > p.heldIn(o) {
			return false
		}
		if p.word.CompareAndSwap(o, o+n<<permitShift) {
			return true
		}
	}
}

// heldIn returns how many permits were held when the word was o, which the caller has read before.
//
// It is exact under mu. Elsewhere resize changes the word last when it shrinks and first when it
// grows. So a number of given permits that is not that of o gives too small a result, or has the
// caller's compare-and-swap fail. There is one exception: meanwhile the word has come back to o, by
// a second resize or by releases. Then an over-release at that moment goes unnoticed. A legal
// release is never refused, because release looks again.
func (p *permits) heldIn(o int64) int64 { return p.given.Load() - o>>permitShift }

// release gives back n permits, n > 0, to the requests that wait, in order, or to the word. If
// fewer are held it changes nothing and reports false. Without requests give does that, too.
func (p *permits) release(n int64) bool {
	var done ended
	p.mu.Lock()
	ok := p.give(n, 0)
	p.serveLocked(&done) // serves none if nothing was added
	p.mu.Unlock()
	p.deliver(&done)
	return ok
}

// serveLocked takes requests out of the line, oldest first, as far as the permits suffice. It
// restores invariant 2.
func (p *permits) serveLocked(done *ended) {
	o := p.word.Load()
	if o&flagWaiters == 0 {
		return
	}
	for r := p.line.head; r != nil && r.n <= o>>permitShift; r = p.line.head {
		o -= r.n << permitShift
		p.line.remove(r)
		done.add(r, waiter.Granted)
	}
	if p.line.head == nil {
		o &^= flagWaiters
	}
	p.word.Store(o)
}

// deliver passes requests their outcomes. What was granted to those that were given up it takes
// back, and grants to others.
func (p *permits) deliver(done *ended) {
	misused := false
	for n := done.deliver(); n > 0; n = done.deliver() { // Each turn uses up a request.
		p.mu.Lock()
		for !p.give(n, 0) { // somebody has released a part of it, and held nothing
			misused, n = true, p.heldIn(p.word.Load())
		}
		p.serveLocked(done)
		p.mu.Unlock()
	}
	if misused {
		panic("fleet: more was released than was held, beside a request that was given up")
	}
}

// start makes the request r for the w.N permits of w.
func (p *permits) start(r *Request, w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	if p.try(w.N, flags) {
		return waiter.Granted
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.word.Load()
	switch {
	case o&flagClosed != 0:
		return waiter.Closed
	case w.N == 0:
		return waiter.Granted
	case w.N > p.bound:
		return waiter.TooLarge
	}
	for o&flagWaiters == 0 { // A turn is lost only to another's success.
		if o>>permitShift < w.N {
			p.word.CompareAndSwap(o, o|flagWaiters) // from then on no permit can slip in between
		} else if p.word.CompareAndSwap(o, o-w.N<<permitShift) {
			return waiter.Granted
		}
		o = p.word.Load()
	}
	w.Arm(waker)
	r.w, r.n = w, w.N
	p.line.push(r)
	return waiter.Pending
}

// unlink takes r out of the line and reports whether it was there. The requests behind it are
// served.
func (p *permits) unlink(r *Request) bool {
	var done ended
	p.mu.Lock()
	waits := r.waits
	if waits {
		p.line.remove(r)
		p.serveLocked(&done)
	}
	p.mu.Unlock()
	p.deliver(&done)
	return waits
}

// resize sets how many permits are given. Those that are held stay held.
func (p *permits) resize(n int64) {
	var done ended
	p.mu.Lock()
	d := n - p.given.Load()
	if d < 0 { // the order is explained at heldIn
		p.given.Store(n)
		p.word.Add(d << permitShift)
	} else {
		p.word.Add(d << permitShift)
		p.given.Store(n)
	}
	p.serveLocked(&done)
	p.mu.Unlock()
	p.deliver(&done)
}

// limit sets how many permits a request may be for. Those for more end with [waiter.TooLarge].
func (p *permits) limit(n int64) {
	var done ended
	p.mu.Lock()
	fell := n < p.bound
	p.bound = n
	for r := p.line.head; fell && r != nil; {
		next := r.next
		if r.n > n {
			p.line.remove(r)
			done.add(r, waiter.TooLarge)
		}
		r = next
	}
	p.serveLocked(&done)
	p.mu.Unlock()
	p.deliver(&done)
}

// close ends all requests, now and later, with [waiter.Closed].
func (p *permits) close() {
	var done ended
	p.mu.Lock()
	p.word.Or(flagClosed) // before W goes: what is free is not for newcomers
	for r := p.line.head; r != nil; r = p.line.head {
		p.line.remove(r)
		done.add(r, waiter.Closed)
	}
	p.word.And(^flagWaiters)
	p.mu.Unlock()
	p.deliver(&done)
}

// observe sets or clears O.
func (p *permits) observe(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.word.Or(flagObserved)
	} else {
		p.word.And(^flagObserved)
	}
}

// isObserved reports whether O is set.
func (p *permits) isObserved() bool { return p.word.Load()&flagObserved != 0 }

// free returns how many permits are not held, and is negative while there is a debt.
func (p *permits) free() int64 { return p.word.Load() >> permitShift }

// held returns how many permits are held.
func (p *permits) held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heldIn(p.word.Load())
}

// demand returns how many permits the oldest request is for that waits, and all together. It stops
// adding where the sum reaches enough.
func (p *permits) demand(enough int64) (oldest, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := p.line.head; r != nil && all < enough; r = r.next {
		if all == 0 {
			oldest = r.n
		}
		all += r.n
	}
	return oldest, all
}

// waiting returns how many requests wait.
func (p *permits) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line.len
}
