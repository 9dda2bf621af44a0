package semaphore

import "github.com/farad-go/farad/waiter"

// An AcquireFuture is a request for permits that does not block its owner. It waits in the same
// line as the callers of Acquire. The owner is a task that polls it, or a goroutine that selects on
// it.
//
//	var f semaphore.AcquireFuture
//	f.Init(sem, 1)
//	defer f.Release() // right on every path
//	select {
//	case <-f.Done():
//		if err := f.Err(); err != nil { // the semaphore is closed, or too small
//			return err
//		}
//		... // the permit is ours
//	case <-other:
//	}
//
// The request starts with the first Poll or Done. It is complete when Poll returns true or Done
// delivers its value. Then Err says how it ended. Release ends the request in every state: it gives
// up the place in line, or gives back the permits. A second Release does nothing. A Poll or Done
// after Release starts the request again.
//
// The future holds the permits until its Release. There is one exception: if Err returns nil, it
// hands the permits to the owner. The owner may then use the Release of the semaphore instead of
// the future's, in parts for instance, but never both. Cancel is Release, but leaves the permits
// with the owner if Err has handed them over. A waiting future that is dropped without Release or
// Cancel blocks all requests behind it.
//
// A future is meant to be embedded and reused. Done allocates a channel if the request waits;
// otherwise waiting allocates nothing. Only one goroutine at a time may call the methods, except
// Complete. Init and Done may wait for the last few instructions of a release that grants the
// request; the other methods never do. An AcquireFuture must not be copied after Init.
//
// Memory model: as for Acquire. A true from Poll, a closed Done, or the outcome from Err takes the
// place of the return of Acquire.
type AcquireFuture struct {
	_ noCopy
	f waiter.Future
}

// Init makes f a request for n permits of s and does not start it. It panics if n is negative, if s
// is nil, or if the previous request has not ended by Release or Cancel. Permits that Err has
// handed to the owner stay with it.
func (f *AcquireFuture) Init(s *Semaphore, n int64) {
	if n < 0 {
		panic("semaphore: future of a negative number of permits")
	}
	if s == nil {
		panic("semaphore: future of a nil semaphore")
	}
	old := f.f.Request()
	if !f.f.Init((*request)(s), n) {
		panic("semaphore: Init of a future whose request has not ended")
	}
	if s.p != nil {
		f.f.Init(s.policyRequest(old), n)
	}
}

// Poll starts the request if need be, and reports whether it is complete. If not, w is woken when
// it is worth polling again. It replaces the waker of the previous Poll, and may be nil. Wakers may
// be called spuriously.
func (f *AcquireFuture) Poll(w waiter.Waker) bool { return f.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The next round has another channel. A request that need not wait has no channel of its
// own; one that waits allocates it at the first Done.
func (f *AcquireFuture) Done() <-chan struct{} { return f.f.Done() }

// Complete reports whether the request is complete, by a grant or an error. After Init, Release and
// Cancel it is not. Complete changes nothing and does not start the request. Any goroutine may call
// it at any time, for example to watch a future that its owner neglects.
func (f *AcquireFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the request is granted, and hands the permits to the caller. It returns
// ErrPending if the request is not complete, and otherwise the error that Acquire would return. It
// may be called again.
func (f *AcquireFuture) Err() error {
	err := f.record().FutureErr(&f.f)
	if err != nil && err != ErrPending { //nolint:errorlint // it is never wrapped
		return f.explain(err)
	}
	return err
}

// Release ends the request: it gives up the place in line, or gives back the permits that were
// granted. Before the request is started, and after an error, Release or Cancel, it does nothing.
// If a release of the semaphore is about to grant the request Release does not wait for it: the
// later of the two passes the permits on, once.
//
// Release panics if the permits were granted and have been given to the Release of the semaphore
// since. If others hold as many permits, Release cannot know that, and gives back theirs. It
// allocates nothing, and synchronizes as the Release of the semaphore does.
func (f *AcquireFuture) Release() {
	if !f.record().FutureRelease(&f.f) {
		panic(givenAlready("AcquireFuture.Release of", f.f.Node.N, f.semaphore()))
	}
}

// Cancel is Release, but leaves the permits with the owner if Err has returned nil.
func (f *AcquireFuture) Cancel() {
	if !f.record().FutureCancel(&f.f) {
		panic(givenAlready("AcquireFuture.Cancel of", f.f.Node.N, f.semaphore()))
	}
}

// givenAlready is the panic text where the n permits of a future of s have been given back by other
// means.
func givenAlready(what string, n int64, s *Semaphore) string {
	return overReleased(what, n, s.Size(), s.Available()) +
		": they have been given to the semaphore's Release already"
}

// A request is the semaphore as the [waiter.Request] of its futures.
type request Semaphore

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	s := (*Semaphore)(r)
	if s.mayBeObserved() {
		return s.startObserved(w, waker)
	}
	return s.permits().Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return (*Semaphore)(r).permits().Unlink(w) }

func (r *request) GiveBack(n int64) bool { return (*Semaphore)(r).permits().GiveBack(n) }
