package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
)

// The rest of what an upgradable reader waits for when it upgrades.
const rest = engine.Everyone - engine.Upgradable

// ULock locks l for upgradable reading: together with readers, but not with a writer or another
// upgradable reader. The caller waits in the same line as all others.
//
// It is for a caller that reads first, may then have to write, and relies on no other write in
// between:
//
//	l.ULock()
//	if !there(key) {
//		l.Upgrade()
//		add(key)
//		l.Unlock()
//	} else {
//		l.UUnlock()
//	}
//
// There is one upgradable reader at a time, so two cannot wait for each other.
func (l *RWLock) ULock() {
	if !l.e.TryAcquire(engine.Upgradable) {
		// Neither closed nor too large nor cancelled: it cannot fail.
		_ = l.acquire(context.Background(), 0, engine.Upgradable, engine.AtBack)
	}
}

// TryULock locks l for upgradable reading if only readers hold it and no waiter is queued, and
// reports whether it did.
func (l *RWLock) TryULock() bool {
	return l.e.TryAcquire(engine.Upgradable) || l.tryObserved(engine.Upgradable)
}

// UUnlock undoes ULock. If l is not locked for upgradable reading UUnlock panics and does not
// change l.
func (l *RWLock) UUnlock() {
	l.release(engine.Upgradable, "rwlock: UUnlock of a lock that is unlocked, write-locked, or locked by readers alone")
}

// ULockContext is ULock, but gives up when ctx is done and returns ctx.Err().
func (l *RWLock) ULockContext(ctx context.Context) error {
	if err := usable(ctx); err != nil {
		return err
	}
	if l.e.TryAcquire(engine.Upgradable) {
		return l.e.Keep(ctx, engine.Upgradable)
	}
	return l.acquire(ctx, 0, engine.Upgradable, engine.AtBack)
}

// ULockTimeout is ULock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it does not lock.
func (l *RWLock) ULockTimeout(d time.Duration) bool {
	return d > 0 && (l.e.TryAcquire(engine.Upgradable) ||
		l.acquire(context.Background(), d, engine.Upgradable, engine.AtBack) == nil)
}

// ForgoUpgrade turns the caller's upgradable read lock into a read lock, so that another goroutine
// can become the upgradable reader. RUnlock undoes the read lock. ForgoUpgrade panics if l is not
// locked for upgradable reading.
func (l *RWLock) ForgoUpgrade() {
	l.release(
		engine.Upgradable-engine.Reader,
		"rwlock: ForgoUpgrade of a lock that is unlocked, write-locked, or locked by readers alone",
	)
}

// Upgrade turns the caller's upgradable read lock into the write lock. It waits only for the
// readers that hold l: it goes before all waiters, and no other reader is let in. The caller goes
// on with Unlock, Downgrade or DowngradeToUpgradable. Upgrade panics if l is not locked for
// upgradable reading.
func (l *RWLock) Upgrade() {
	if !l.startUpgrade() {
		// Neither closed nor too large nor cancelled: it cannot fail.
		_ = l.acquire(context.Background(), 0, rest, engine.AtFront)
	}
}

// startUpgrade upgrades if it can be done at once.
func (l *RWLock) startUpgrade() bool {
	if !l.e.IsUpgradable() {
		panic("rwlock: Upgrade of a lock that is unlocked, write-locked, or locked by readers alone")
	}
	return l.e.TryAcquire(rest)
}

// TryUpgrade upgrades if no other reader holds l, even if waiters are queued. It reports whether it
// did. If not, the caller is still the upgradable reader.
func (l *RWLock) TryUpgrade() bool {
	if l.startUpgrade() {
		return true
	}
	ok := l.e.TryExclusive(rest, engine.AtFront)
	l.tried(rest, ok)
	return ok
}

// UpgradeContext is Upgrade, but gives up when ctx is done and returns ctx.Err(). The caller is
// then still the upgradable reader.
func (l *RWLock) UpgradeContext(ctx context.Context) error {
	if err := usable(ctx); err != nil {
		return err
	}
	if l.startUpgrade() {
		return l.e.Keep(ctx, rest)
	}
	return l.acquire(ctx, 0, rest, engine.AtFront)
}

// UpgradeTimeout is Upgrade, but gives up when d has passed, or at once if d <= 0. It reports
// whether the caller holds the write lock now. If not, it is still the upgradable reader.
func (l *RWLock) UpgradeTimeout(d time.Duration) bool {
	return d > 0 && (l.startUpgrade() || l.acquire(context.Background(), d, rest, engine.AtFront) == nil)
}
