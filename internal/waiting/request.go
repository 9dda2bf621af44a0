package waiting

// This file is what a lock is to its futures.

// A Request is how a lock starts and ends the request of a future. The future calls its methods, on
// the goroutine of the future's owner. A Request may also be an [Explainer], and [Recorded].
type Request interface {
	Line

	// Start makes the request for the w.N permits of w, which is idle, and returns its outcome; or
	// [Pending] if w waits, armed with waker.
	Start(w *Waiter, waker Waker) Outcome
}

// A Waker is a waiter.Waker.
type Waker = interface{ Wake() }

// An Owner is a Waker whose Displaced is called before a waiting future replaces it by another one.
// The tasks of package rt panic then: of two tasks that poll one future, only one would be woken.
type Owner interface {
	Waker
	Displaced(by Waker)
}

// An Explainer is a [Request] that says more of the errors of its lock.
type Explainer interface {
	// Explain returns the error of a request for n permits whose outcome was err, not nil.
	Explain(err error, n int64) error
}

// A Recorded is a [Request] of a lock that may be observed.
type Recorded interface {
	// Recorder returns the record of the lock, nil if the lock is not observed.
	Recorder() Recorder
}

// A Recorder records the rounds of futures, which it knows by their nodes.
type Recorder interface {
	// FutureSeen is called once in a round: the owner has seen the outcome, and holds if err is
	// nil.
	FutureSeen(w *Waiter, err error)
	// FutureReleasing is called before a Release, in any state.
	FutureReleasing(w *Waiter)
	// FutureEnded is called after a Release or Take. What the owner has seen, and no Release has
	// given back, it holds itself from now on.
	FutureEnded(w *Waiter)
}

// Bind makes f a request for n permits, n >= 0, by way of r. It panics if a round of f is under way
// whose request waits, or was granted.
func Bind(f *Future, r Request, n int64) {
	f.requireEnded()
	f.node.N, f.r, f.bound = n, r, true
}

// Reuse returns the request of f, if it is an *R, for another round, or a new one. It panics as
// [Bind] does, so that no claimer has anything to do with the request any more.
func Reuse[R any](f *Future) *R {
	f.requireEnded()
	if r, ok := any(f.r).(*R); ok {
		return r
	}
	return new(R)
}

// Request returns the request of the last Bind of f, nil before. The owner of f may ask.
func (f *Future) Request() Request { return f.r }

// Bound reports whether a round of f is under way. The owner of f may ask.
func (f *Future) Bound() bool { return f.bound }

// Node returns the node of f.
func (f *Future) Node() *Waiter { return &f.node }

// requireEnded ends a round that has nothing to give back, and panics if there is something.
func (f *Future) requireEnded() {
	f.awaitClaimer()
	switch f.node.Status() {
	case StatusIdle:
		return
	case StatusComplete:
		if f.node.Outcome() != Granted || f.node.N == 0 {
			f.node.Reset()
			if to := f.recorder(); to != nil {
				to.FutureEnded(&f.node)
			}
			return
		}
	default:
	}
	panic("farad: Bind of a future whose request has not ended: Release or Take ends it")
}
