package twa

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// one: a mutex's permits count from one, so the zero Mutex is unlocked.
const one = 1

// A Mutex is a mutual exclusion lock on two counters and a waiting array: the ticket lock that
// sleeps. The zero Mutex is unlocked. It must not be copied after first use. It implements
// [sync.Locker], and is not tied to a goroutine. It takes 64 bytes on 64-bit machines; sync.Mutex
// takes 8.
//
// Order: strict FIFO, in the order of the additions that Lock makes.
//
// Memory model: the n'th Unlock happens before the return of the m'th Lock, or other way to lock,
// for n < m.
//
// Source: Dice and Kogan, TWA – Ticket Locks Augmented with a Waiting Array (Euro-Par 2019,
// arXiv:1810.01573). There a waiting thread spins.
type Mutex struct {
	_ noCopy
	t tickets
}

// Lock locks m, and waits for it if need be. Nothing ends the wait early. It is one addition if m
// is free.
func (m *Mutex) Lock() {
	end := m.t.ticket.Add(step)
	if end-m.t.grant.Load() <= step {
		m.t.ledger.take(1)
		return
	}
	// Neither closed nor too large nor cancelled: it cannot fail.
	if e, p, _ := m.t.begin(one, 1, end); p != nil {
		p.Sleeper().SleepInline()
		_ = finish(e, p)
	}
}

// TryLock locks m if it is unlocked and no goroutine waits for it, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.t.tryTake(one, 1) }

// Unlock unlocks m, or hands it to the goroutine that has waited longest. It panics if m is not
// locked; m is then as it was, but if others lock it at the same time two may have held it. Of
// several unlocks too many each panics.
func (m *Mutex) Unlock() {
	if !m.t.ledger.give(1) {
		panic("twa: unlock of unlocked mutex")
	}
	if g := m.t.give(1); !m.t.quiet(one, 1, g) {
		m.unlockSlow(g)
	}
}

//go:noinline
func (m *Mutex) unlockSlow(g int64) {
	if !m.t.releaseSlow(one, 1, g) {
		panic("twa: unlock of unlocked mutex")
	}
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *Mutex) LockContext(ctx context.Context) error {
	if ctx == nil {
		panic("twa: nil context")
	}
	mayEnd := xsync.MayEnd(ctx)
	if mayEnd {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	end := m.t.take(1)
	if m.t.atOnce(one, 1, end) {
		if mayEnd && (xsync.MayPanic(ctx) || ctx.Err() != nil) {
			return m.t.keep(ctx, one, 1)
		}
		return nil
	}
	return m.t.await(m.t.until(ctx, one, 1, end), one, 1, end)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the lock is the caller's.
// If d <= 0 it never is: to lock without waiting there is TryLock.
func (m *Mutex) LockTimeout(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	end := m.t.take(1)
	return m.t.atOnce(one, 1, end) || m.t.await(waiting.After(d), one, 1, end) == nil
}

// Waiting returns how many goroutines and futures wait for m. It looks at the whole array, and is
// meant for tests and statistics.
func (m *Mutex) Waiting() int { return m.t.waiting() }
