package rwlock

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// A LockFuture is a request for a lock that does not block its owner. It waits in the same line as
// the callers of Lock and RLock. The owner is a task that polls it, or a goroutine that selects on
// it.
//
//	var f rwlock.LockFuture
//	f.InitRead(&l)
//	defer f.Unlock() // right on every path
//	select {
//	case <-f.Done():
//		... // the lock is ours, for reading
//	case <-other:
//	}
//
// The request starts with the first Poll or Done. It is complete when Poll returns true or Done
// delivers its value; then the owner holds the lock. Unlock ends the request in every state: it
// gives up the place in line, or unlocks what was locked, for writing, reading or upgradable
// reading. A second Unlock does nothing. A Poll or Done after Unlock starts the request again.
//
// The future holds the lock until its Unlock. Until then the lock's own methods must not unlock,
// upgrade or downgrade it. There is one exception: if Err returns nil, it hands the lock to the
// owner. The owner may then use the lock's own methods, and ends with one of them instead of the
// future's Unlock, never both. Cancel is Unlock, but leaves the lock with the owner if Err has
// handed it over. A waiting future that is dropped without Unlock or Cancel blocks all waiters
// behind it.
//
// A future is meant to be embedded and reused. The first Done allocates a channel; otherwise
// waiting allocates nothing. Only one goroutine at a time may call the methods, except Complete. A
// LockFuture must not be copied after Init.
type LockFuture struct {
	_ noCopy
	f waiter.Future
}

// Init makes f a request for the write lock of l and does not start it. It panics if l is nil, or
// if the previous request has not ended by Unlock or Cancel.
func (f *LockFuture) Init(l *RWLock) { f.init(l, engine.Everyone) }

// InitRead is Init for a read lock.
func (f *LockFuture) InitRead(l *RWLock) { f.init(l, engine.Reader) }

// InitU is Init for the upgradable read lock.
func (f *LockFuture) InitU(l *RWLock) { f.init(l, engine.Upgradable) }

func (f *LockFuture) init(l *RWLock, n int64) {
	if l == nil {
		panic("rwlock: future of a nil lock")
	}
	if !f.f.Init((*request)(l), n) {
		panic("rwlock: Init of a future whose request has not ended")
	}
}

// Poll starts the request if need be, and reports whether it is complete. If not, w is woken when
// it is worth polling again. It replaces the waker of the previous Poll, and may be nil.
func (f *LockFuture) Poll(w waiter.Waker) bool { return f.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The next round has another channel. A request that need not wait has no channel of its
// own; one that waits allocates it at the first Done.
func (f *LockFuture) Done() <-chan struct{} { return f.f.Done() }

// Complete reports whether the request is complete. After an Init, Unlock and Cancel it is not. Any
// goroutine may call Complete at any time.
func (f *LockFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the lock is granted, and hands it to the caller. It returns [ErrPending] if
// the request is not complete. It may be called again.
func (f *LockFuture) Err() error { return f.record().FutureErr(&f.f) }

// Unlock ends the request: it gives up the place in line, or unlocks what was locked. Before the
// request is started, and after Unlock or Cancel, it does nothing. If an unlock of the lock is
// about to grant the request Unlock does not wait for it: the later of the two passes the lock on.
//
// Unlock panics if the lock was granted and has been unlocked, upgraded or downgraded since by its
// own methods. If another caller has locked it in the same way meanwhile, Unlock cannot know that,
// and unlocks it. It allocates nothing, and synchronizes as the lock's own method does.
func (f *LockFuture) Unlock() {
	if !f.record().FutureRelease(&f.f) {
		panic("rwlock: LockFuture.Unlock of a lock that was unlocked, upgraded or downgraded already, " +
			"by its own methods")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.record().FutureCancel(&f.f) {
		panic("rwlock: LockFuture.Cancel of a lock that was unlocked, upgraded or downgraded already, " +
			"without Err")
	}
}

// A request is the lock as the [waiter.Request] of its futures.
type request RWLock

func (r *request) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	l := (*RWLock)(r)
	if l.mayBeObserved() {
		return l.startObserved(w, waker)
	}
	return r.e.Start(w, waker)
}

func (r *request) Unlink(w *waiter.Waiter) bool { return r.e.Unlink(w) }

func (r *request) GiveBack(n int64) bool { return r.e.GiveBack(n) }
