package mutex

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// LockFuture is a request for a lock that does not block anybody: it waits in the same line as Lock, but what waits is a
// task that polls it or a goroutine that selects on it.
//
//	var f mutex.LockFuture
//	f.Init(&mu)
//	defer f.Cancel()
//	select {
//	case <-f.Done():
//		if f.Err() == nil { // the lock is ours
//			defer mu.Unlock()
//			...
//		}
//	case <-other:
//	}
//
// The request starts with the first Poll or Done, and is complete when Poll returns true or Done delivers its value. From an
// Err that returns nil on, the lock is the owner's, who unlocks it. Before that it belongs to the future, and Cancel gives
// it back, even if the request is complete: a Cancel is right on every path out of a wait. Whoever drops a future whose
// request waits, without Cancel, blocks everybody behind it.
//
// A future is meant to be embedded and used again and again; waiting allocates nothing after the first Done, which makes a
// channel. The methods are for one goroutine at a time, Complete excepted. It must not be copied after Init.
type LockFuture struct {
	_ noCopy
	f engine.Future
}

// Init makes f a request for m, not yet started. It panics if m is nil, or the last request has not ended: then Cancel
// comes first.
func (f *LockFuture) Init(m *Mutex) {
	if m == nil {
		panic("mutex: future of a nil mutex")
	}
	if !f.f.Init(&m.e, base, 1) {
		panic("mutex: Init of a future whose request has not ended")
	}
}

// Poll reports whether the request is complete, and starts it if it was not started. If it is not complete, w, which may
// be nil, will be woken when it is worth polling again; it takes the place of the waker of the last Poll.
func (f *LockFuture) Poll(w waiter.Waker) bool {
	f.check()
	return f.f.Poll(w)
}

// Done starts the request if it was not started, and returns a channel that carries one value when it is complete. It is
// the same in every round, and never closed.
func (f *LockFuture) Done() <-chan struct{} {
	f.check()
	return f.f.Done()
}

// Complete reports whether the request has ended. Anybody may ask, at any time; see the method of the same name of
// semaphore.AcquireFuture.
func (f *LockFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete.
func (f *LockFuture) Err() error {
	f.check()
	return f.f.Err()
}

// Cancel ends the request, and gives the lock back if it was granted and not taken over by Err.
func (f *LockFuture) Cancel() {
	f.f.Cancel()
}

func (f *LockFuture) check() {
	if f.f.Engine() == nil {
		panic("mutex: future without Init")
	}
}
