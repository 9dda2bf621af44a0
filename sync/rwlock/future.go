package rwlock

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// LockFuture is a request for a lock that does not block anybody: it waits in the same line as Lock
// and RLock, but what waits is a task that polls it or a goroutine that selects on it.
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
// The request starts with the first Poll or Done, and is complete when Poll returns true or Done
// delivers its value. A lock is never closed, so it is then the owner's. Unlock ends the request in
// every state: it gives up the place in line, or unlocks what was locked: for writing, for reading,
// or for upgradable reading. Nobody needs Err for that, and a second Unlock does nothing. A Poll or
// Done after that makes the request again.
//
// The future has the lock until its Unlock, so nobody may unlock, upgrade or downgrade it by the
// methods of the lock meanwhile. There is one other way. Err hands the lock over when it returns
// nil: the owner may then go on with the methods of the lock, and ends with one of these in place
// of the future's Unlock, never with both. Cancel is the Unlock for that way: it leaves the lock
// with the owner if Err has handed it over. One who drops a future whose request waits, with
// neither Unlock nor Cancel, blocks everybody behind it.
//
// A future is meant to be embedded and used again and again; waiting allocates nothing after the
// first Done, which makes a channel. The methods are for one goroutine at a time, Complete
// excepted. It must not be copied after Init.
type LockFuture struct {
	_ noCopy
	f engine.Future
}

// Init makes f a request for the write lock of l, not yet started. It panics if l is nil, or the
// last request has not ended: then Unlock or Cancel comes first.
func (f *LockFuture) Init(l *RWLock) { f.init(l, engine.Everyone) }

// InitRead is Init for a read lock.
func (f *LockFuture) InitRead(l *RWLock) { f.init(l, engine.Reader) }

// InitU is Init for the upgradable read lock.
func (f *LockFuture) InitU(l *RWLock) { f.init(l, engine.Upgradable) }

func (f *LockFuture) init(l *RWLock, n int64) {
	if l == nil {
		panic("rwlock: future of a nil lock")
	}
	if !f.f.Init(&l.e, base, n) {
		panic("rwlock: Init of a future whose request has not ended")
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

// Complete reports whether the request has ended, by a grant; after an Init, Unlock or Cancel it
// has not. Anybody may ask, at any time; see the method of the same name of
// semaphore.AcquireFuture.
func (f *LockFuture) Complete() bool { return f.f.Complete() }

// Err returns nil if the lock is the caller's, [ErrPending] if the request is not complete. It may
// be asked again.
func (f *LockFuture) Err() error {
	f.check()
	return f.f.Err()
}

// Unlock ends the request: it gives up the place in line, or unlocks what was locked. It does
// nothing if there is neither: before the request is started, after Unlock or Cancel, and before an
// Init. If an unlock is just about to grant the request, it does not wait for it: the later of the
// two passes the lock on. It panics if the lock was granted, and is not locked so any more:
// somebody has unlocked, upgraded or downgraded it. If another has locked it since in the same way
// that cannot be told, and Unlock unlocks it. It allocates nothing, and synchronizes as the lock's
// own method does.
func (f *LockFuture) Unlock() {
	if !f.f.Release() {
		panic("rwlock: LockFuture.Unlock of a lock that was unlocked, upgraded or downgraded already, " +
			"by its own methods")
	}
}

// Cancel is Unlock, but leaves the lock with the owner if Err has returned nil.
func (f *LockFuture) Cancel() {
	if !f.f.Cancel() {
		panic("rwlock: LockFuture.Cancel of a lock that was unlocked, upgraded or downgraded already, " +
			"without Err")
	}
}

func (f *LockFuture) check() {
	if f.f.Engine() == nil {
		panic("rwlock: future without Init")
	}
}
