package twa

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// AcquireFuture is a request for permits that does not block its goroutine: it waits in the same
// line as Acquire, but what waits is a task that polls it or a goroutine that selects on it.
//
//	var f twa.AcquireFuture
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
// It is used as semaphore.AcquireFuture is, and promises the same. The first Poll or Done starts
// the request, which then takes its tickets. Release ends it in every state, and returns what the
// future has, its place or its permits, whether Err was called or not. A second Release does
// nothing. Until then the permits must not be returned with the Release of the semaphore, with one
// exception: Err hands them over when it returns nil. Then the owner may return them there, instead
// of the future's Release, never both. Cancel is the form of Release for that way. A future whose
// request waits, and that is dropped without Release or Cancel, blocks all requests behind it.
//
// A future is meant to be embedded, and to be used for any number of requests; waiting allocates
// nothing after the first Done, which makes a channel. The methods are for one goroutine at a time,
// Complete excepted. It must not be copied after Init.
type AcquireFuture struct {
	_ noCopy
	r request
}

// Init makes f a request for n permits of s, not yet started. It panics if n is negative, s is nil
// or the last request has not ended: then Release or Cancel comes first.
func (f *AcquireFuture) Init(s *Semaphore, n int64) {
	switch {
	case n < 0:
		panic("twa: future of a negative number of permits")
	case s == nil:
		panic("twa: future of a nil semaphore")
	}
	f.r.init(&s.t, zero, n)
}

// Poll reports whether the request is complete, and starts it if it was not started. If it is not
// complete, w, which may be nil, will be woken when it is worth polling again; it takes the place
// of the waker of the last Poll.
func (f *AcquireFuture) Poll(w waiter.Waker) bool { return f.r.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The next round has another channel. A request that need not wait has no channel of its
// own; one that waits allocates it at the first Done.
func (f *AcquireFuture) Done() <-chan struct{} { return f.r.f.Done() }

// Complete reports whether the request has ended, by a grant or an error; after Init, Release or
// Cancel it has not. Any goroutine may ask, at any time; see the method of the same name of
// semaphore.AcquireFuture.
func (f *AcquireFuture) Complete() bool { return f.r.f.Complete() }

// Err returns nil if the request has been granted: the permits are the caller's then. It returns
// ErrPending if there is no outcome yet, and ErrClosed, ErrTooLarge or ErrQueueFull as Acquire
// does. It may be asked again.
func (f *AcquireFuture) Err() error {
	err := f.r.f.Err()
	if f.r.t == nil { // Init has never been called
		return err
	}
	return f.r.t.named(err, f.r.f.Node.N)
}

// Release ends the request: it gives up the place in line, or gives back the permits that were
// granted. It does nothing if there is neither, and never waits for a release that is about to
// grant the request. If the permits were granted and a goroutine has given them to the Release of
// the semaphore, it panics as far as such a Release too many would. It allocates nothing, and
// synchronizes as the Release of the semaphore does.
func (f *AcquireFuture) Release() {
	if !f.r.f.Release() {
		panic("twa: AcquireFuture.Release of permits that the semaphore's own Release has been given " +
			"already")
	}
}

// Cancel is Release, but leaves the permits with the owner if Err has returned nil.
func (f *AcquireFuture) Cancel() {
	if !f.r.f.Cancel() {
		panic("twa: AcquireFuture.Cancel of permits that the semaphore's own Release has been given " +
			"already, without Err")
	}
}

// LockFuture is a request for a mutex that does not block its goroutine, as [AcquireFuture] is one
// for permits. Its Unlock is what Release is there: it ends the request in every state, and unlocks
// the mutex if that was locked.
type LockFuture struct {
	_ noCopy
	r request
}

// Init makes f a request for m, not yet started. It panics if m is nil, or the last request has not
// ended: then Unlock or Cancel comes first.
func (f *LockFuture) Init(m *Mutex) {
	if m == nil {
		panic("twa: future of a nil mutex")
	}
	f.r.init(&m.t, one, 1)
}

// Poll is that of [AcquireFuture].
func (f *LockFuture) Poll(w waiter.Waker) bool { return f.r.f.Poll(w) }

// Done is that of [AcquireFuture].
func (f *LockFuture) Done() <-chan struct{} { return f.r.f.Done() }

// Complete is that of [AcquireFuture].
func (f *LockFuture) Complete() bool { return f.r.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete.
func (f *LockFuture) Err() error { return f.r.f.Err() }

// Unlock ends the request: it gives up the place in line, or unlocks the mutex. It is as Release is
// of [AcquireFuture].
func (f *LockFuture) Unlock() {
	if !f.r.f.Release() {
		panic("twa: LockFuture.Unlock of a lock that the mutex's own Unlock has unlocked already")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.r.f.Cancel() {
		panic("twa: LockFuture.Cancel of a lock that the mutex's own Unlock has unlocked already, " +
			"without Err")
	}
}

// Request returns a request for permits of s, for a [waiter.Future] of another package, which waits
// in the same line as all others. It serves one future at a time. If old is a request that Request
// has returned, and whose future has ended, that is used again and nothing is allocated.
func (s *Semaphore) Request(old waiter.Request) waiter.Request {
	r, ok := old.(*ticketRequest)
	if !ok {
		r = new(ticketRequest)
	}
	r.t, r.base = &s.t, zero
	return r
}

// A request is a future for tickets.
type request struct {
	f waiter.Future
	ticketRequest
}

func (r *request) init(t *tickets, base, n int64) {
	if !r.f.Init(&r.ticketRequest, n) {
		panic("twa: Init of a future whose request has not ended")
	}
	r.t, r.base = t, base
}

// A ticketRequest is what a future asks of the tickets. Its place in the array is its own: a
// claimer that has taken it out of a line no longer touches that.
type ticketRequest struct {
	t    *tickets
	base int64
	end  int64 // of the tickets, once the request has been started
	s    parking.Sleeper
}

// Start implements [waiter.Request].
func (r *ticketRequest) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	if w.N == 0 {
		if r.t.isClosed() {
			return waiter.Closed
		}
		return waiter.Granted
	}
	if o := r.t.precheck(r.base, w.N); o != waiter.Pending {
		return o
	}
	r.end = r.t.take(w.N)
	if r.t.atOnce(r.base, w.N, r.end) {
		return waiter.Granted // without a look at the array
	}
	w.Arm(waker)
	return r.t.enter(&r.s, w, r.base, r.end)
}

// Unlink implements [waiter.Request].
func (r *ticketRequest) Unlink(w *waiter.Waiter) bool {
	if !r.t.table().Leave(&r.s) {
		return false
	}
	r.t.abandon(r.base, w.N, r.end)
	return true
}

// GiveBack implements [waiter.Request]. The permits are held, whatever tickets they were: they go
// back as any that are.
func (r *ticketRequest) GiveBack(n int64) bool {
	if !r.t.ledger.give(n) {
		return false
	}
	g := r.t.give(n)
	return r.t.quiet(r.base, n, g) || r.t.releaseSlow(r.base, n, g)
}
