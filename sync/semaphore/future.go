package semaphore

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// AcquireFuture is a request for permits that does not block anybody: it waits in the same line as Acquire, but what
// waits is a task that polls it or a goroutine that selects on it.
//
//	var f semaphore.AcquireFuture
//	f.Init(sem, 1)
//	defer f.Cancel()
//	select {
//	case <-f.Done():
//		if err := f.Err(); err != nil {
//			return err
//		}
//		defer sem.Release(1)
//		...
//	case <-other:
//	}
//
// The request starts with the first Poll or Done. It is complete when Poll returns true or Done delivers its value.
// Then Err says how it ended, and takes it over: from an Err that returns nil on, the permits are the owner's, who
// releases them. Before that they belong to the future, and Cancel gives them back, even if it is complete. So a Cancel
// is right on every path out of a wait, however it ended, and harmless when called again. Whoever drops a future without Cancel while its request waits leaves a waiter in the queue that nobody polls,
// and blocks everybody behind it.
//
// A future is meant to be embedded, and to be used for any number of requests: Init or Cancel begins a new round.
// Waiting allocates nothing after the first Done, which makes a channel. The methods are for one goroutine at a time;
// what the semaphore does to a future it may do at any time. Init, Done and Err may wait for the last few instructions
// of a release that is granting the request; Poll and Cancel never do. An AcquireFuture must not be copied after Init.
//
// Memory model: as for Acquire, with the true from Poll, the value from Done, or the outcome from Err in the place of
// Acquire's return.
type AcquireFuture struct {
	_ noCopy
	f engine.Future
	p future // of the policy, if the semaphore has one; otherwise nil
}

// Init makes f a request for n permits of s, not yet started. It panics if n is negative, s is nil, or the last
// request has not ended: then Cancel comes first.
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

// Poll reports whether the request is complete, and starts it if it was not started. If it is not complete, w will be
// woken when it is worth polling again, and no waker of an earlier Poll will be needed any more. A nil w is for an
// owner who will come back without being woken. Wakers may be called spuriously.
func (f *AcquireFuture) Poll(w waiter.Waker) bool {
	f.check()
	if f.p != nil {
		return f.p.Poll(w)
	}
	return f.f.Poll(w)
}

// Done starts the request if it was not started, and returns a channel that carries one value when it is complete,
// and one value only. The channel is the same in every round, is made by the first Done, and is never closed. In the
// next round it starts empty. (A future that goes from a semaphore to one with another policy has another.) What comes after the value
// is Err: a Poll right after it may still say false, for a few instructions of the release.
func (f *AcquireFuture) Done() <-chan struct{} {
	f.check()
	if f.p != nil {
		return f.p.Done()
	}
	return f.f.Done()
}

// Complete reports whether the request has ended. It changes nothing, does not start the request, and may be called from any
// goroutine at any time, as no other method may: it is for those who watch over a future that its owner neglects. After an
// Init it speaks of the earlier request until the new one is started; after a Cancel it is false. (Only an Init for a semaphore with
// another policy must not run at the same time.)
func (f *AcquireFuture) Complete() bool {
	if f.p != nil {
		return f.p.Complete()
	}
	return f.f.Complete()
}

// Err returns nil if the request has been granted: the permits are the caller's then. It returns ErrPending if there
// is no outcome yet, and ErrClosed, ErrTooLarge or ErrQueueFull as Acquire does.
func (f *AcquireFuture) Err() error {
	f.check()
	if f.p != nil {
		return f.p.Err()
	}
	return f.f.Err()
}

// Cancel ends the round, and gives back what was granted but not taken. If a release is just about to grant the
// request, Cancel does not wait for it: the later of the two passes the permits on, once.
func (f *AcquireFuture) Cancel() {
	if f.p != nil {
		f.p.Cancel()
		return
	}
	f.f.Cancel()
}

func (f *AcquireFuture) check() {
	if f.f.Engine() == nil {
		panic("semaphore: future without Init")
	}
}
