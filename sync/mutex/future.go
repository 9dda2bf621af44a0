package mutex

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// LockFuture is a request for a lock that does not block anybody: it waits in the same line as
// Lock, but what waits is a task that polls it or a goroutine that selects on it.
//
//	var f mutex.LockFuture
//	f.Init(&mu)
//	defer f.Unlock() // right on every path
//	select {
//	case <-f.Done():
//		... // the lock is ours
//	case <-other:
//	}
//
// The request starts with the first Poll or Done, and is complete when Poll returns true or Done
// delivers its value. A mutex is never closed, so the lock is then the owner's. Unlock ends the
// request in every state: it gives up the place in line, or unlocks the mutex. Nobody needs Err for
// that, and a second Unlock does nothing. A Poll or Done after that makes the request again.
//
// The future has the lock until its Unlock, so nobody may unlock the mutex itself meanwhile. There
// is one other way. Err hands the lock over when it returns nil: the owner may then call the Unlock
// of the mutex in place of the future's, never both. Cancel is the Unlock for that way: it leaves
// the lock with the owner if Err has handed it over. One who drops a future whose request waits,
// with neither Unlock nor Cancel, blocks everybody behind it.
//
// A future is meant to be embedded and used again and again; waiting allocates nothing after the
// first Done, which makes a channel. The methods are for one goroutine at a time, Complete
// excepted. It must not be copied after Init.
type LockFuture struct {
	_ noCopy
	f engine.Future
}

// Init makes f a request for m, not yet started. It panics if m is nil, or the last request has not
// ended: then Unlock or Cancel comes first.
func (f *LockFuture) Init(m *Mutex) {
	if m == nil {
		panic("mutex: future of a nil mutex")
	}
	if !f.f.Init(&m.e, base, 1) {
		panic("mutex: Init of a future whose request has not ended")
	}
}

// Poll reports whether the request is complete, and starts it if it was not started. If it is not
// complete, w, which may be nil, will be woken when it is worth polling again; it takes the place
// of the waker of the last Poll.
func (f *LockFuture) Poll(w waiter.Waker) bool {
	f.check()
	return f.f.Poll(w)
}

// Done starts the request if it was not started, and returns a channel that carries one value when
// it is complete. A receive takes the value, and the next Done puts it back: <-f.Done() may be
// repeated. One who keeps the channel receives once for each Done. It is the same in every round,
// which starts with it empty, and never closed.
func (f *LockFuture) Done() <-chan struct{} {
	f.check()
	return f.f.Done()
}

// Complete reports whether the request has ended, by a grant; after Init, Unlock or Cancel it has
// not. Anybody may ask, at any time; see the method of the same name of semaphore.AcquireFuture.
func (f *LockFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete. It may
// be asked again.
func (f *LockFuture) Err() error {
	f.check()
	return f.f.Err()
}

// Unlock ends the request: it gives up the place in line, or unlocks the mutex. It does nothing if
// there is neither: before the request is started, after Unlock or Cancel, and before Init. If an
// unlock is just about to grant the request, it does not wait for it: the later of the two passes
// the lock on. It panics if the lock was granted and somebody has unlocked the mutex since, unless
// another has locked it: that cannot be told, and unlocks it. It allocates nothing, and
// synchronizes as the Unlock of the mutex does.
func (f *LockFuture) Unlock() {
	if !f.f.Release() {
		panic("mutex: LockFuture.Unlock of a lock that the mutex's own Unlock has unlocked already")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.f.Cancel() {
		panic("mutex: LockFuture.Cancel of a lock that the mutex's own Unlock has unlocked already, " +
			"without Err")
	}
}

func (f *LockFuture) check() {
	if f.f.Engine() == nil {
		panic("mutex: future without Init")
	}
}
