package mutex

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Word is a mutual exclusion lock of four bytes, for where there are very many, or where there is
// no room. The zero Word is unlocked. It must not be copied after first use. It implements
// [sync.Locker].
//
// It barges, like sync.Mutex: whoever comes while the lock is free takes it, and does not wait for
// those who sleep, of whom an unlock wakes the first. What bounds it: who has been woken eight
// times and found the lock taken is handed it when an unlock next comes to it; before it are at
// most those who are woken in vain meanwhile. So nobody starves who is woken, but there is no bound
// on how often it is overtaken while it wakes up. Where order matters there is [Mutex].
//
// Whoever waits spins for some 200 ns at most, if more than one processor may run, and then sleeps;
// sleepers are in a table that all such locks share. An uncontended lock and unlock are one atomic
// operation each.
//
// A Word synchronizes like a sync.Mutex: the n'th unlock before the return of the m'th lock, for n
// < m.
//
// Source: Malte Skarupke, Fine-grained Locking with Two-Bit Mutexes (probablydance.com, 2022).
type Word struct {
	_ noCopy
	w parking.Word
}

// Lock locks m, and waits for it if need be. Nothing ends the wait early.
func (m *Word) Lock() {
	if !m.w.TryLock() {
		m.lockSlow()
	}
}

//go:noinline
func (m *Word) lockSlow() { _ = parking.Lock(waiter.Limit{}, &m.w, m.w.Key()) }

// TryLock locks m if it is unlocked, and reports whether it did.
func (m *Word) TryLock() bool { return m.w.TryLock() }

// LockContext is Lock, but gives up when ctx is done, and then returns ctx.Err(). A context that is
// done already never locks, and a cancel that happened before the unlock that lets the caller in
// wins. It returns nil if and only if the lock is the caller's. It panics if ctx is nil. It
// allocates nothing in the steady state.
func (m *Word) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		m.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if !m.w.TryLock() {
		return parking.Lock(waiter.UntilDone(ctx), &m.w, m.w.Key())
	}
	if ctx.Err() != nil {
		return parking.Keep(ctx, &m.w, m.w.Key())
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the
// caller's. If d <= 0 it never is; TryLock locks without waiting. It allocates nothing in the
// steady state.
func (m *Word) LockTimeout(d time.Duration) bool {
	return d > 0 && (m.w.TryLock() || parking.Lock(waiter.After(d), &m.w, m.w.Key()) == nil)
}

// Unlock unlocks m, and wakes somebody if somebody sleeps. It panics if m is not locked; m is then
// as it was. Of several unlocks too many each panics.
func (m *Word) Unlock() {
	if !m.w.TryUnlock() {
		m.unlockSlow()
	}
}

//go:noinline
func (m *Word) unlockSlow() {
	if !parking.Unlock(&m.w, m.w.Key()) {
		panic("mutex: unlock of unlocked mutex")
	}
}

// Waiting returns how many sleep for m. It is meant for tests and statistics.
func (m *Word) Waiting() int { return parking.Sleeping(m.w.Key()) }

// usable returns why a request with ctx is none.
func usable(ctx context.Context) error {
	if ctx == nil {
		panic("mutex: nil context")
	}
	return ctx.Err()
}
