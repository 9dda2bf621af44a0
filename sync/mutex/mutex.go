package mutex

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Mutex is a mutual exclusion lock. The zero Mutex is unlocked. It must not be copied after first
// use.
//
// A Mutex implements [sync.Locker], so it can be used with [sync.Cond]. It is not tied to a
// goroutine: one goroutine may lock it, and another unlock it. It takes 64 bytes on 64-bit
// machines; sync.Mutex takes 8.
type Mutex struct {
	_ noCopy
	e engine.Engine
}

// permits are those of m: one, if m is unlocked.
func (m *Mutex) permits() engine.Permits { return m.e.From(1) }

// Lock locks m. If m is locked the caller waits until it is handed the lock.
func (m *Mutex) Lock() {
	if !m.e.TakeOnly() {
		m.lockSlow()
	}
}

//go:noinline
func (m *Mutex) lockSlow() {
	var r observed.Record
	if m.mayBeObserved() {
		r = m.record()
		if m.permits().TryObserved(1) {
			r.Tried(requested, true)
			return
		}
		if !r.Skips() {
			wait := func(l waiting.Limit) error { return m.permits().Wait(l, 1) }
			_ = observed.Await(r, requested, waiting.Limit{}, wait)
			return
		}
	}
	// Neither closed nor too large nor cancelled: it cannot fail.
	if p, _ := m.permits().Begin(1); p != nil {
		p.Sleeper().SleepInline()
		_ = engine.End(p)
	}
	if r != nil {
		r.Granted(1)
	}
}

// TryLock locks m if it is unlocked and no waiter is queued, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.e.TakeOnly() || m.tryLockSlow() }

// Unlock unlocks m, or hands it to the waiter that has waited longest. If m is not locked Unlock
// panics and does not change m.
func (m *Mutex) Unlock() {
	if !m.e.GiveOnly() {
		m.unlockSlow()
	}
}

//go:noinline
func (m *Mutex) unlockSlow() {
	ok := false
	if m.e.IsObserved() && observed.Of(m).WantsReleases() {
		ok = m.unlockObserved()
	} else {
		ok = m.permits().Release(1)
	}
	if !ok {
		panic("mutex: unlock of unlocked mutex")
	}
}

// LockContext is Lock, but gives up when ctx is done and returns ctx.Err().
func (m *Mutex) LockContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		m.Lock()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if m.e.TakeOnly() {
		if xsync.MayPanic(ctx) || ctx.Err() != nil {
			return m.permits().Keep(ctx, 1)
		}
		return nil
	}
	if m.mayBeObserved() {
		return m.lockObserved(ctx, 0)
	}
	l := waiting.UntilDone(ctx)
	p, err := m.permits().BeginUntil(l, 1)
	if p == nil {
		return err
	}
	p.Sleeper().SleepInline()
	return m.permits().EndUntil(l, p)
}

// LockTimeout is Lock, but gives up when d has passed. It reports whether the caller holds the
// lock. If d <= 0 it does not lock; TryLock locks without waiting.
func (m *Mutex) LockTimeout(d time.Duration) bool {
	if d <= 0 {
		return false
	}
	if m.e.TakeOnly() {
		return true
	}
	if m.mayBeObserved() {
		return m.lockObserved(context.Background(), d) == nil
	}
	l := waiting.After(d)
	p, err := m.permits().BeginUntil(l, 1)
	if p == nil {
		return err == nil
	}
	p.Sleeper().SleepInline()
	return m.permits().EndUntil(l, p) == nil
}

// Waiting returns the number of waiters. It takes the lock of the queue, and is meant for tests and
// statistics.
func (m *Mutex) Waiting() int { return m.e.Waiting() }

// noCopy has vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
