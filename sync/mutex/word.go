package mutex

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/parking/twobit"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Word is a mutual exclusion lock of four bytes, for programs that have very many locks. The zero
// Word is unlocked. It must not be copied after first use. It implements [sync.Locker].
//
// A Word barges, like sync.Mutex: a goroutine that finds it free takes it, even if others sleep. An
// unlock wakes the goroutine that has slept longest. A goroutine that has been woken eight times
// and found the lock taken is handed it by an unlock, after the others of which this is true. So no
// goroutine starves, but there is no bound on how often one is overtaken while it wakes up. Use
// [Mutex] where order matters.
//
// A waiter spins for at most about 200 ns, if more than one processor may run, and then sleeps in a
// table that all such locks share. An uncontended Lock or Unlock is one atomic operation.
//
// The n'th unlock synchronizes before the return of the m'th lock, for n < m.
//
// Source: Malte Skarupke, Fine-grained Locking with Two-Bit Mutexes (probablydance.com, 2022).
type Word struct {
	_ noCopy
	w twobit.Word
}

// Lock locks m. If m is locked the caller waits.
func (m *Word) Lock() {
	if !m.w.TryLock() {
		m.lockSlow()
	}
}

//go:noinline
func (m *Word) lockSlow() { _ = twobit.Lock(waiting.Limit{}, &m.w, m.w.Key()) }

// TryLock locks m if it is unlocked, and reports whether it did.
func (m *Word) TryLock() bool { return m.w.TryLock() }

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *Word) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		m.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if !m.w.TryLock() {
		return twobit.Lock(waiting.UntilDone(ctx), &m.w, m.w.Key())
	}
	if xsync.MayPanic(ctx) || ctx.Err() != nil {
		return twobit.Keep(ctx, &m.w, m.w.Key())
	}
	return nil
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is; TryLock locks without waiting.
func (m *Word) LockTimeout(d time.Duration) bool {
	return d > 0 && (m.w.TryLock() || twobit.Lock(waiting.After(d), &m.w, m.w.Key()) == nil)
}

// Unlock unlocks m and wakes a waiter, if there is one. If m is not locked Unlock panics and does
// not change m.
func (m *Word) Unlock() {
	if !m.w.TryUnlock() {
		m.unlockSlow()
	}
}

//go:noinline
func (m *Word) unlockSlow() {
	if !twobit.Unlock(&m.w, m.w.Key()) {
		panic("mutex: unlock of unlocked mutex")
	}
}

// Waiting returns the number of goroutines that sleep for m. It is meant for tests and statistics.
func (m *Word) Waiting() int { return parking.Sleeping(m.w.Key()) }

// usable returns why a request with ctx is none.
func usable(ctx context.Context) error {
	if ctx == nil {
		panic("mutex: nil context")
	}
	return ctx.Err()
}
