package mutex

import (
	"github.com/farad-go/farad/waiter"
)

// A LockFuture is a request for a mutex that does not block its owner. It waits in the same line as
// the callers of Lock. The owner is a task that polls it, or a goroutine that selects on it.
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
// The request starts with the first Poll or Done. It is complete when Poll returns true or Done
// delivers its value; then the owner holds the lock. Unlock ends the request in every state: it
// gives up the place in line, or unlocks the mutex. A second Unlock does nothing. A Poll or Done
// after Unlock starts the request again.
//
// The future holds the lock until its Unlock. There is one exception: if Err returns nil, it hands
// the lock to the owner. The owner may then call the Unlock of the mutex instead of the future's,
// never both. Cancel is Unlock, but leaves the lock with the owner if Err has handed it over. A
// waiting future that is dropped without Unlock or Cancel blocks all waiters behind it.
//
// A future is meant to be embedded and reused. The first Done allocates a channel; otherwise
// waiting allocates nothing. Only one goroutine at a time may call the methods, except Complete. A
// LockFuture must not be copied after Init.
type LockFuture struct {
	_ noCopy
	f waiter.Future
}

// Init makes f a request for m and does not start it. It panics if m is nil, or if the previous
// request has not ended by Unlock or Cancel.
func (f *LockFuture) Init(m *Mutex) {
	if m == nil {
		panic("mutex: future of a nil mutex")
	}
	if !f.f.Init((*request)(m), 1) {
		panic("mutex: Init of a future whose request has not ended")
	}
}

// Poll starts the request if need be, and reports whether it is complete. If not, w is woken when
// it is worth polling again. It replaces the waker of the previous Poll, and may be nil.
func (f *LockFuture) Poll(w waiter.Waker) bool { return f.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The next round has another channel. A request that need not wait has no channel of its
// own; one that waits allocates it at the first Done.
func (f *LockFuture) Done() <-chan struct{} { return f.f.Done() }

// Complete reports whether the request is complete. After Init, Unlock and Cancel it is not. Any
// goroutine may call Complete at any time.
func (f *LockFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the lock is granted, and hands it to the caller. It returns [ErrPending] if
// the request is not complete. It may be called again.
func (f *LockFuture) Err() error { return f.record().FutureErr(&f.f) }

// Unlock ends the request: it gives up the place in line, or unlocks the mutex. Before the request
// is started, and after Unlock or Cancel, it does nothing. If an unlock of the mutex is about to
// grant the request Unlock does not wait for it: the later of the two passes the lock on.
//
// Unlock panics if the lock was granted and the mutex has been unlocked since by other means. If
// another caller has locked the mutex meanwhile, Unlock cannot know that, and unlocks it. It
// allocates nothing, and synchronizes as the Unlock of the mutex does.
func (f *LockFuture) Unlock() {
	if !f.record().FutureRelease(&f.f) {
		panic("mutex: LockFuture.Unlock of a lock that the mutex's own Unlock has unlocked already")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.record().FutureCancel(&f.f) {
		panic("mutex: LockFuture.Cancel of a lock that the mutex's own Unlock has unlocked already, " +
			"without Err")
	}
}

// A request is the mutex as the [waiter.Request] of its futures.
type request Mutex

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	m := (*Mutex)(r)
	if m.mayBeObserved() {
		return m.startObserved(w, waker)
	}
	return m.permits().Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return (*Mutex)(r).permits().Unlink(w) }

func (r *request) GiveBack(n int64) bool { return (*Mutex)(r).permits().GiveBack(n) }
