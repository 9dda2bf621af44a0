package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
)

// RLock locks l for reading. The caller waits while a writer holds l or a waiter is queued. A
// goroutine that holds a read lock must not call RLock again, because a writer may wait in between.
func (l *RWLock) RLock() {
	if l.e.Opts != nil || !l.e.TakeFirstRead() {
		l.rLockSlow()
	}
}

//go:noinline
func (l *RWLock) rLockSlow() {
	if l.e.Opts != nil && l.e.Hide(xsync.Hint()) { // first, though TryRead does it too: here every nanosecond counts
		return
	}
	if !l.e.TryRead() {
		// Neither closed nor too large nor cancelled: it cannot fail.
		_ = l.acquire(context.Background(), 0, engine.Reader, engine.AtBack)
		l.e.Rebias()
	}
}

// TryRLock locks l for reading if no writer holds it and no waiter is queued, and reports whether
// it did.
func (l *RWLock) TryRLock() bool { return l.e.TryRead() || l.tryObserved(engine.Reader) }

// RUnlock undoes one RLock. The last one to unlock lets in the waiter that has waited longest. If l
// is not locked for reading RUnlock panics and does not change l.
func (l *RWLock) RUnlock() {
	if l.e.Opts != nil || !l.e.GiveLastRead() {
		l.rUnlockSlow()
	}
}

//go:noinline
func (l *RWLock) rUnlockSlow() {
	if l.e.IsObserved() { // first: while the bias ends, a reader that is recorded may leave through the table
		l.releasing(engine.Reader)
	}
	if l.e.Opts != nil && l.e.Leave(xsync.Hint()) {
		return
	}
	if !l.e.ReleaseRead() {
		panic("rwlock: RUnlock of a lock that is unlocked or write-locked")
	}
}

// RLockContext is RLock, but gives up when ctx is done and returns ctx.Err().
func (l *RWLock) RLockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		l.RLock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if l.e.TryRead() {
		if xsync.MayPanic(ctx) || ctx.Err() != nil {
			return l.e.Keep(ctx, engine.Reader)
		}
		return nil
	}
	if err := l.acquire(ctx, 0, engine.Reader, engine.AtBack); err != nil {
		return err
	}
	l.e.Rebias()
	return nil
}

// RLockTimeout is RLock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it does not lock; TryRLock locks without waiting.
func (l *RWLock) RLockTimeout(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if l.e.TryRead() {
		return true
	}
	ok := l.acquire(context.Background(), d, engine.Reader, engine.AtBack) == nil
	if ok {
		l.e.Rebias()
	}
	return ok
}
