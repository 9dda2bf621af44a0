package rwlock

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/waiter"
)

// The rest of what an upgradable reader waits for when it upgrades.
const rest = engine.Everyone - engine.Upgradable

// ULock locks l for upgradable reading: beside readers, but not beside a writer or another
// upgradable reader. It waits if need be, in the same line as all others; readers who come later
// wait behind it. Nothing ends the wait early. It allocates nothing in the steady state.
//
// It is for whoever reads first and then may have to write, and must be sure that nobody has
// written in between:
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
// Since there is one at a time, two can never wait for each other to stop reading.
func (l *RWLock) ULock() {
	if !l.TryULock() {
		// Neither closed nor too large nor cancelled: it cannot fail.
		_ = l.acquire(waiter.Limit{}, engine.Upgradable, engine.AtBack)
	}
}

// TryULock locks l for upgradable reading if nobody but readers holds it and nobody waits, and
// reports whether it did.
func (l *RWLock) TryULock() bool { return l.e.TryAcquire(base, engine.Upgradable) }

// UUnlock ends what ULock has begun. It panics if l is not locked for upgradable reading; l is then
// as it was.
func (l *RWLock) UUnlock() {
	l.release(engine.Upgradable, "rwlock: UUnlock of a lock that is unlocked, write-locked, or locked by readers alone")
}

// ULockContext is ULock, but gives up when ctx is done, and then returns ctx.Err(). A context that
// is done already never locks, and a cancel that happened before the unlock that lets the caller in
// wins. It returns nil if and only if the lock is the caller's. It panics if ctx is nil.
func (l *RWLock) ULockContext(ctx context.Context) error {
	if err := usable(ctx); err != nil {
		return err
	}
	if l.TryULock() {
		return l.e.Keep(ctx, base, engine.Upgradable)
	}
	return l.acquire(waiter.UntilDone(ctx), engine.Upgradable, engine.AtBack)
}

// ULockTimeout is ULock, but gives up when d has passed. It reports whether the lock is the
// caller's, which it never is if d <= 0.
func (l *RWLock) ULockTimeout(d time.Duration) bool {
	return d > 0 && (l.TryULock() || l.acquire(waiter.After(d), engine.Upgradable, engine.AtBack) == nil)
}

// ForgoUpgrade turns the upgradable read lock that the caller holds into a read lock, so that another
// can have the former. RUnlock ends it. It panics if l is not locked for upgradable reading.
func (l *RWLock) ForgoUpgrade() {
	l.release(
		engine.Upgradable-engine.Reader,
		"rwlock: ForgoUpgrade of a lock that is unlocked, write-locked, or locked by readers alone",
	)
}

// Upgrade turns the upgradable read lock that the caller holds into the write lock. It waits for
// the readers that hold l beside it, and for nobody else: it stands before all who wait, writers
// too, and no reader is let in any more. Nothing ends the wait early. Unlock ends it, Downgrade, or
// DowngradeToUpgradable. It panics if l is not locked for upgradable reading.
func (l *RWLock) Upgrade() {
	if !l.startUpgrade() {
		// Neither closed nor too large nor cancelled: it cannot fail.
		_ = l.acquire(waiter.Limit{}, rest, engine.AtFront)
	}
}

// startUpgrade upgrades if it can be done at once.
func (l *RWLock) startUpgrade() bool {
	if !l.e.Look().IsUpgradable() {
		panic("rwlock: Upgrade of a lock that is unlocked, write-locked, or locked by readers alone")
	}
	return l.e.TryAcquire(base, rest)
}

// TryUpgrade upgrades if no reader holds l beside the caller, whoever waits, and reports whether it
// did. If not, the caller still is the upgradable reader.
func (l *RWLock) TryUpgrade() bool {
	return l.startUpgrade() || l.e.TryExclusive(rest, engine.AtFront)
}

// UpgradeContext is Upgrade, but gives up when ctx is done, and then returns ctx.Err(); the caller
// still is the upgradable reader. A context that is done already never upgrades, and a cancel that
// happened before the last reader left wins. It panics if ctx is nil.
func (l *RWLock) UpgradeContext(ctx context.Context) error {
	if err := usable(ctx); err != nil {
		return err
	}
	if l.startUpgrade() {
		return l.e.Keep(ctx, base, rest)
	}
	return l.acquire(waiter.UntilDone(ctx), rest, engine.AtFront)
}

// UpgradeTimeout is Upgrade, but gives up when d has passed, or at once if d <= 0. It reports
// whether the caller is the writer now; if not, it still is the upgradable reader.
func (l *RWLock) UpgradeTimeout(d time.Duration) bool {
	return d > 0 && (l.startUpgrade() || l.acquire(waiter.After(d), rest, engine.AtFront) == nil)
}
