package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
)

// Lock locks l for writing. The caller waits for all that hold l or have waited before it.
func (l *RWLock) Lock() {
	if !l.e.TakeAll() {
		l.lockSlow()
	}
}

//go:noinline
func (l *RWLock) lockSlow() {
	// Neither closed nor too large nor cancelled: it cannot fail.
	_ = l.acquire(context.Background(), 0, engine.Everyone, engine.AtBack)
}

// TryLock locks l for writing if l is unlocked and no waiter is queued, and reports whether it did.
func (l *RWLock) TryLock() bool { return l.e.TakeAll() || l.tryLockSlow() }

//go:noinline
func (l *RWLock) tryLockSlow() bool {
	return l.tryObserved(engine.Everyone)
}

// Unlock unlocks l for writing. It lets in the waiter that has waited longest: a writer, or all
// readers up to the next writer. If l is not locked for writing Unlock panics and does not change
// l.
func (l *RWLock) Unlock() {
	if !l.e.GiveAll() {
		l.unlockSlow()
	}
}

//go:noinline
func (l *RWLock) unlockSlow() {
	l.release(engine.Everyone, "rwlock: Unlock of a lock that is unlocked or read-locked")
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (l *RWLock) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		l.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if !l.e.TakeAll() {
		return l.acquire(ctx, 0, engine.Everyone, engine.AtBack)
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil {
		return l.e.Keep(ctx, engine.Everyone)
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it does not lock; TryLock locks without waiting.
func (l *RWLock) LockTimeout(d time.Duration) bool {
	return d > 0 && (l.e.TakeAll() || l.acquire(context.Background(), d, engine.Everyone, engine.AtBack) == nil)
}

// Downgrade turns the caller's write lock into a read lock. No other writer comes in between. The
// readers at the front of the queue are let in. RUnlock undoes the read lock. Downgrade panics if l
// is not locked for writing.
func (l *RWLock) Downgrade() {
	l.release(engine.Everyone-engine.Reader, "rwlock: Downgrade of a lock that is unlocked or read-locked")
}

// DowngradeToUpgradable turns the caller's write lock into the upgradable read lock. The caller
// goes on with UUnlock, Upgrade or ForgoUpgrade. DowngradeToUpgradable panics if l is not locked
// for writing.
func (l *RWLock) DowngradeToUpgradable() {
	l.release(engine.Everyone-engine.Upgradable,
		"rwlock: DowngradeToUpgradable of a lock that is unlocked or read-locked")
}
