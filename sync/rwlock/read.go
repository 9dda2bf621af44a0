package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// RLock locks l for reading, and waits if need be: while a writer holds it, or anybody waits.
// Nothing ends the wait early. So a goroutine that reads must not read-lock again: a writer may
// have come between. It allocates nothing in the steady state.
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
		_ = l.acquire(waiter.Limit{}, engine.Reader, engine.AtBack)
		l.e.Rebias()
	}
}

// TryRLock locks l for reading if no writer holds it and nobody waits, and reports whether it did.
func (l *RWLock) TryRLock() bool { return l.e.TryRead() }

// RUnlock ends what RLock has begun. If it was the last to hold, whoever has waited longest is let
// in. It panics if l is not locked for reading; l is then as it was.
func (l *RWLock) RUnlock() {
	if l.e.Opts != nil || !l.e.GiveLastRead() {
		l.rUnlockSlow()
	}
}

//go:noinline
func (l *RWLock) rUnlockSlow() {
	if l.e.Opts != nil && l.e.Leave(xsync.Hint()) {
		return
	}
	if !l.e.ReleaseRead() {
		panic("rwlock: RUnlock of a lock that is unlocked or write-locked")
	}
}

// RLockContext is RLock, but gives up when ctx is done, and then returns ctx.Err(). A context that
// is done already never locks, and a cancel that happened before the unlock that lets the caller in
// wins. It returns nil if and only if the lock is the caller's. It panics if ctx is nil. It
// allocates nothing in the steady state, whatever the context.
func (l *RWLock) RLockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		l.RLock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if l.e.TryRead() {
		if ctx.Err() != nil {
			return l.e.Keep(ctx, base, engine.Reader)
		}
		return nil
	}
	if err := l.acquire(waiter.UntilDone(ctx), engine.Reader, engine.AtBack); err != nil {
		return err
	}
	l.e.Rebias()
	return nil
}

// RLockTimeout is RLock, but gives up when d has passed. It reports whether the lock is the
// caller's. If d <= 0 it never is: to lock without waiting there is TryRLock. It allocates nothing
// in the steady state.
func (l *RWLock) RLockTimeout(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if l.e.TryRead() {
		return true
	}
	ok := l.acquire(waiter.After(d), engine.Reader, engine.AtBack) == nil
	if ok {
		l.e.Rebias()
	}
	return ok
}
