package semaphore

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// AcquireFuture is a request for permits that does not block anybody: it waits in the same line as
// Acquire, but what waits is a task that polls it or a goroutine that selects on it.
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
// delivers its value. Then Err says how it ended. Release ends it in every state: it gives up the
// place in line, or gives back the permits that were granted, whether Err was called or not. A
// second Release does nothing. A Poll or Done after that makes the request again.
//
// The future has the permits until its Release, so nobody may give them to the Release of the
// semaphore meanwhile. There is one other way. Err hands the permits over when it returns nil: the
// owner may then give them back by the Release of the semaphore, in parts for instance, in place of
// the future's, never both. Cancel is the Release for that way: it leaves the permits with the
// owner if Err has handed them over. One who drops a future while its request waits, with neither
// Release nor Cancel, leaves a waiter in the queue that nobody polls, and blocks everybody behind
// it.
//
// A future is meant to be embedded, and to be used for any number of requests: Init begins a new
// round. Waiting allocates nothing after the first Done, which makes a channel. The methods are for
// one goroutine at a time; what the semaphore does to a future it may do at any time. Init, Done
// and Err may wait for the last few instructions of a release that is granting the request; Poll,
// Release and Cancel never do. An AcquireFuture must not be copied after Init.
//
// Memory model: as for Acquire, with the true from Poll, the value from Done, or the outcome from
// Err in the place of Acquire's return.
type AcquireFuture struct {
	_ noCopy
	f engine.Future
	p future // of the policy, if the semaphore has one; otherwise nil
}

// Init makes f a request for n permits of s, not yet started. It panics if n is negative, s is nil,
// or the last request has not ended: then Release or Cancel comes first. What Err has handed over
// stays with the owner.
func (f *AcquireFuture) Init(s *Semaphore, n int64) {
	if n < 0 {
		panic("semaphore: future of a negative number of permits")
	}
	if s == nil {
		panic("semaphore: future of a nil semaphore")
	}
	if !f.f.Init(&s.e, base, n) {
		panic("semaphore: Init of a future whose request has not ended")
	}
	if f.p != nil {
		f.p.requireEnded()
	}
	var p future
	if s.p != nil {
		p = s.p.request(f.p, n)
	}
	if p != f.p { // Complete may be looking
		f.p = p
	}
}

// Poll reports whether the request is complete, and starts it if it was not started. If it is not
// complete, w will be woken when it is worth polling again, and no waker of an earlier Poll will be
// needed any more. A nil w is for an owner who will come back without being woken. Wakers may be
// called spuriously.
func (f *AcquireFuture) Poll(w waiter.Waker) bool {
	f.check()
	if f.p != nil {
		return f.p.Poll(w)
	}
	return f.f.Poll(w)
}

// Done starts the request if it was not started, and returns a channel that carries one value when
// it is complete. A receive takes the value, and the next Done puts it back: <-f.Done() may be
// repeated. One who keeps the channel receives once for each Done. The channel is made by the first
// Done, is the same in every round, which starts with it empty, and is never closed. (A future that
// goes from a semaphore to one with another policy has another.) What comes after the value is Err
// or Done: a Poll right after it may still say false, for a few instructions of the release.
func (f *AcquireFuture) Done() <-chan struct{} {
	f.check()
	if f.p != nil {
		return f.p.Done()
	}
	return f.f.Done()
}

// Complete reports whether the request has ended, by a grant or an error; after Init, Release or
// Cancel it has not. It changes nothing, does not start the request, and may be called from any
// goroutine at any time, as no other method may: it is for those who watch over a future that its
// owner neglects. (Only an Init for a semaphore with another policy must not run at the same time.)
func (f *AcquireFuture) Complete() bool {
	if f.p != nil {
		return f.p.Complete()
	}
	return f.f.Complete()
}

// Err returns nil if the request has been granted: the permits are the caller's then. It returns
// ErrPending if there is no outcome yet, and ErrClosed, ErrTooLarge or ErrQueueFull as Acquire
// does. It may be asked again.
func (f *AcquireFuture) Err() error {
	f.check()
	if f.p != nil {
		return f.p.Err()
	}
	return f.f.Err()
}

// Release ends the request: it gives up the place in line, or gives back the permits that were
// granted. It does nothing if there is neither: before the request is started, after an error,
// after Release or Cancel, and before Init. If a release is just about to grant the request, it
// does not wait for it: the later of the two passes the permits on, once. It panics if the permits
// were granted and are not held any more: they have been given to the Release of the semaphore. If
// others hold as many that cannot be told, and Release gives back theirs. It allocates nothing, and
// synchronizes as the Release of the semaphore does.
func (f *AcquireFuture) Release() {
	switch {
	case f.p != nil:
		f.p.Release()
	case !f.f.Release():
		e := f.f.Engine()
		panic(overReleased("AcquireFuture.Release of", f.f.Node.N, e.Size(base), e.Available(base)) +
			givenAlready)
	}
}

// Cancel is Release, but leaves the permits with the owner if Err has returned nil.
func (f *AcquireFuture) Cancel() {
	switch {
	case f.p != nil:
		f.p.Cancel()
	case !f.f.Cancel():
		e := f.f.Engine()
		panic(overReleased("AcquireFuture.Cancel of", f.f.Node.N, e.Size(base), e.Available(base)) +
			givenAlready)
	}
}

const givenAlready = ": they have been given to the semaphore's Release already"

func (f *AcquireFuture) check() {
	if f.f.Engine() == nil {
		panic("semaphore: future without Init")
	}
}
