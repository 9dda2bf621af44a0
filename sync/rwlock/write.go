package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Lock locks l for writing, and waits for it if need be: until all who hold or have waited before
// are done. Nothing ends the wait early. It allocates nothing in the steady state.
func (l *RWLock) Lock() {
	if !l.e.TakeAll() {
		l.lockSlow()
	}
}

//go:noinline
func (l *RWLock) lockSlow() {
	// Neither closed nor too large nor cancelled: it cannot fail.
	_ = l.acquire(waiter.Limit{}, engine.Everyone, engine.AtBack)
}

// TryLock locks l for writing if nobody holds it and nobody waits, and reports whether it did.
func (l *RWLock) TryLock() bool { return l.e.TakeAll() || l.tryLockSlow() }

//go:noinline
func (l *RWLock) tryLockSlow() bool {
	return l.e.MayHide() && l.e.TryExclusive(engine.Everyone, engine.AtBack)
}

// Unlock ends what Lock has begun, and lets in whoever has waited longest: a writer, or all readers
// up to the next writer. It panics if l is not locked for writing; l is then as it was.
func (l *RWLock) Unlock() {
	if !l.e.GiveAll() {
		l.unlockSlow()
	}
}

//go:noinline
func (l *RWLock) unlockSlow() {
	l.release(engine.Everyone, "rwlock: Unlock of a lock that is unlocked or read-locked")
}

// LockContext is Lock, but gives up when ctx is done, and then returns ctx.Err(). A context that is
// done already never locks, and a cancel that happened before the unlock that lets the caller in
// wins. It returns nil if and only if the lock is the caller's. It panics if ctx is nil. It
// allocates nothing in the steady state, whatever the context.
func (l *RWLock) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		l.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if !l.e.TakeAll() {
		return l.acquire(waiter.UntilDone(ctx), engine.Everyone, engine.AtBack)
	}
	if ctx.Err() != nil {
		return l.e.Keep(ctx, base, engine.Everyone)
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is: to lock without waiting there is TryLock. It allocates nothing in the
// steady state.
func (l *RWLock) LockTimeout(d time.Duration) bool {
	return d > 0 && (l.e.TakeAll() || l.acquire(waiter.After(d), engine.Everyone, engine.AtBack) == nil)
}

// Downgrade turns the write lock that the caller holds into a read lock, without anybody else
// writing in between. The readers at the front of the queue are let in beside it. RUnlock ends it.
// It panics if l is not locked for writing.
func (l *RWLock) Downgrade() {
	l.release(engine.Everyone-engine.Reader, "rwlock: Downgrade of a lock that is unlocked or read-locked")
}

// DowngradeToUpgradable turns the write lock that the caller holds into the upgradable read lock. UUnlock ends
// it, or another Upgrade. It panics if l is not locked for writing.
func (l *RWLock) DowngradeToUpgradable() {
	l.release(engine.Everyone-engine.Upgradable, "rwlock: DowngradeToUpgradable of a lock that is unlocked or read-locked")
}
