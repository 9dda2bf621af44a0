package sync

import "github.com/farad-go/farad/waiter"

// A LockFuture is a request for a [Mutex] that does not block its goroutine: it waits in the same
// line as Lock, but what waits is a task that polls it or a goroutine that selects on it.
//
//	var f sync.LockFuture
//	f.Init(&mu)
//	defer f.Unlock() // right on every path
//	select {
//	case <-f.Done():
//		... // the lock is ours
//	case <-other:
//	}
//
// The request starts with the first Poll or Done, and is complete when Poll returns true or Done
// delivers its value. The lock is the owner's then. Unlock ends the request in every state: it
// gives up the place in line, or unlocks the mutex. A second Unlock does nothing. A Poll or Done
// after that makes the request again.
//
// Order: a started request takes the express lane if the mutex is free, and otherwise queues like
// Lock, with the same bound. When its turn comes it is granted the mutex at once, or by the next
// unlock: the express lane may be used once more in between, but a future never competes twice.
//
// Until its Unlock the future has the lock, so no goroutine may unlock the mutex itself. There is
// one other way: Err hands the lock over when it returns nil. The owner may then call the Unlock of
// the mutex in place of the future's, never both, and Cancel leaves the lock with the owner. A
// future that is dropped while its request waits, with neither Unlock nor Cancel, blocks all behind
// it.
//
// A future is meant to be embedded and used again and again. Waiting allocates nothing after the
// first Done, which makes a channel. The methods are for one goroutine at a time, Complete
// excepted. It must not be copied after Init. Nor must it be overwritten: an unlock may touch a
// future that was given up for a moment longer, and Init waits for that.
type LockFuture struct {
	_ noCopy
	r request
}

// Init makes f a request for m, not yet started. It panics if m is nil, or if the last request has
// not ended: Unlock or Cancel ends it.
func (f *LockFuture) Init(m *Mutex) {
	if m == nil {
		panic("sync: future of a nil mutex")
	}
	f.r.init(m, 1)
}

// Poll reports whether the request is complete, and starts it if it was not started. If it is not
// complete, w, which may be nil, will be woken when it is worth polling again. It takes the place
// of the waker of the last Poll.
func (f *LockFuture) Poll(w waiter.Waker) bool { return f.r.f.Poll(w) }

// Done starts the request if need be, and returns a channel that is closed when the request is
// complete. The next round has another channel. A request that need not wait has no channel of its
// own; one that waits allocates it at the first Done.
func (f *LockFuture) Done() <-chan struct{} { return f.r.f.Done() }

// Complete reports whether the request has ended, by a grant; after Init, Unlock or Cancel it has
// not. Any goroutine may ask, at any time.
func (f *LockFuture) Complete() bool { return f.r.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete. It may
// be called again.
func (f *LockFuture) Err() error { return f.r.err() }

// Unlock ends the request: it gives up the place in line, or unlocks the mutex. It does nothing if
// there is neither. It never waits for an unlock that is about to grant the request: the later of
// the two passes the lock on. It panics if the lock was granted and the mutex was unlocked since.
// If another goroutine has locked the mutex meanwhile, Unlock cannot know that, and unlocks it. It
// allocates nothing, and synchronizes as the Unlock of the mutex does.
func (f *LockFuture) Unlock() {
	if !f.r.record().FutureRelease(&f.r.f) {
		panic("sync: LockFuture.Unlock of a lock that the mutex's own Unlock has unlocked already")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.r.record().FutureCancel(&f.r.f) {
		panic("sync: LockFuture.Cancel of a lock that the mutex's own Unlock has unlocked already, " +
			"without Err")
	}
}

// An RWLockFuture is a request for an [RWMutex] that does not block its goroutine, for reading or
// for writing. It is used as a [LockFuture] is, and promises the same.
type RWLockFuture struct {
	_ noCopy
	r request
}

// Init makes f a request to lock l for writing, not yet started. It panics if l is nil, or if the
// last request has not ended: Unlock or Cancel ends it.
func (f *RWLockFuture) Init(l *RWMutex) { f.init(l, rwWriter) }

// InitRead is Init for a read lock.
func (f *RWLockFuture) InitRead(l *RWMutex) { f.init(l, rwReader) }

func (f *RWLockFuture) init(l *RWMutex, hold int64) {
	if l == nil {
		panic("sync: future of a nil lock")
	}
	f.r.init(l, hold)
}

// Poll is that of [LockFuture].
func (f *RWLockFuture) Poll(w waiter.Waker) bool { return f.r.f.Poll(w) }

// Done is that of [LockFuture].
func (f *RWLockFuture) Done() <-chan struct{} { return f.r.f.Done() }

// Complete is that of [LockFuture].
func (f *RWLockFuture) Complete() bool { return f.r.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete. It may
// be called again.
func (f *RWLockFuture) Err() error { return f.r.err() }

// Unlock ends the request: it gives up the place in line, or unlocks what was locked, for reading
// or for writing. The rest is as with LockFuture.
func (f *RWLockFuture) Unlock() {
	if !f.r.record().FutureRelease(&f.r.f) {
		panic("sync: RWLockFuture.Unlock of a lock that its own methods have unlocked already")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *RWLockFuture) Cancel() {
	if !f.r.record().FutureCancel(&f.r.f) {
		panic("sync: RWLockFuture.Cancel of a lock that its own methods have unlocked already, " +
			"without Err")
	}
}

// ErrPending is returned by the Err of a future whose request has no outcome yet. All futures of
// the module share it.
var ErrPending = waiter.ErrPending
