package sync

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Cond is a condition variable: goroutines wait for, or announce, that something has changed. L
// is the lock that guards what they wait for. It may be any [Locker]. A Cond must not be copied
// after first use; vet sees a copy, and the methods panic on one.
//
// A waiter holds L, looks whether its condition is true, and waits if not:
//
//	c.L.Lock()
//	for !condition() {
//		if err := c.WaitContext(ctx); err != nil {
//			c.L.Unlock()
//			return err
//		}
//	}
//	... make use of the condition ...
//	c.L.Unlock()
//
// Order: a signal wakes the goroutine that has waited longest. How the goroutines that were woken
// get L is up to L. A wait ends after a signal or a broadcast that came after it began, or by its
// own limit; never for another reason.
//
// Cancellation: WaitContext and WaitTimeout may give up. If a signal meets a goroutine that is
// giving up, it goes to the next one. So no signal is lost. Every wait returns with L locked, also
// one that gave up. Locking L again cannot be cancelled, so a wait lasts as long as that takes.
//
// Memory model: a Signal or Broadcast synchronizes before the return of the waits that it ends.
//
// A Cond takes 64 bytes on 64-bit machines; that of the standard library takes 56.
//
// Source: a line of waiters with a lock of its own, as in Go's runtime (notifyList), where a
// waiter cannot leave the line before it is woken. See docs/design/cond.md.
type Cond struct {
	// Invariants:
	//
	//  1. A goroutine enters the line before it unlocks L. So another that then changes the
	//     condition under L finds it there. (TestModelCond/signal)
	//  2. Unlinking under mu decides. A goroutine that cannot unlink itself was claimed, by exactly
	//     one signal or broadcast. If it gives up it passes on the claim of a signal.
	//     (TestModelCond/signal_beside_a_cancel, TestModelCondConforms)
	//  3. A claim is passed on to a goroutine that had entered before the latest signal, to no
	//     other. No signal is lost: one that found another goroutine behind the one that gave up
	//     is no later than the latest. (TestModelCond/signals_beside_a_cancel,
	//     TestModelCond/wait_after_a_signal)
	//  4. condOccupied is set while the line has a goroutine, and before L is unlocked. So a signal
	//     that does not find it has none to wake. (TestModelCond/signal)
	//  5. condObserved may be set and cleared at any time, and changes nothing.
	//     (TestModelObservedCond)

	_ noCopy

	// L is held while the condition is looked at or changed.
	L Locker

	mu    xsync.Mutex
	line  waiting.Queue   // guarded by mu
	reach *waiting.Waiter // the last in line of those who entered before the latest signal; guarded by mu
	flags xsync.Uint32    // condOccupied: written under mu
	self  xsync.Uint32    // where c is, since its first use
}

const (
	condOccupied = 1 << iota // the line has a goroutine
	condObserved             // c is observed: see observed_waits.go
)

// N of a waiter that was claimed says by what.
const (
	bySignal = iota
	byBroadcast
)

// NewCond returns a Cond with the lock l.
func NewCond(l Locker) *Cond { return &Cond{L: l} }

// Wait unlocks c.L, waits for a signal or a broadcast, and locks c.L again. The caller holds c.L. A
// signal that is sent after c.L was unlocked finds the caller waiting. When Wait returns the
// condition may be false again, so callers loop.
//
// If c.L.Unlock panics, Wait does too, and the caller does not wait any more.
func (c *Cond) Wait() {
	if c.check(); c.mayBeObserved() {
		_ = c.wait(waiting.Limit{})
		return
	}
	p := waiting.GetParker(waiting.Limit{})
	c.enter(p)
	c.unlock(p)
	p.Sleeper().SleepInline()
	p.Sleeper().Sleep()
	p.Put()
	c.L.Lock()
}

// WaitContext is Wait, but gives up when ctx is done and returns ctx.Err(). It returns nil if and
// only if a signal or a broadcast has ended the wait. Whatever it returns, c.L is locked; locking
// it again is not cancelled by ctx. If ctx is done already, WaitContext returns at once and does
// not unlock c.L in between.
func (c *Cond) WaitContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		c.Wait()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	return c.wait(waiting.UntilDone(ctx))
}

// WaitTimeout is Wait, but gives up when d has passed. It reports whether a signal or a broadcast
// has ended the wait. Either way c.L is locked, and locking it again may take longer than d. If
// d <= 0, WaitTimeout returns false at once and does not unlock c.L in between.
func (c *Cond) WaitTimeout(d time.Duration) bool {
	return d > 0 && c.wait(waiting.After(d)) == nil
}

// wait waits until it is woken, or returns the error of l if that ends the wait before.
func (c *Cond) wait(l waiting.Limit) error {
	c.check()
	unlocked := false
	defer func() {
		if unlocked { // even if the context of l has panicked
			c.L.Lock()
		}
	}()
	return c.sleep(l, &unlocked)
}

// sleep is wait without the lock at the end.
func (c *Cond) sleep(l waiting.Limit, unlocked *bool) error {
	if c.mayBeObserved() {
		await := func(l waiting.Limit) error { return c.await(l, unlocked) }
		return observed.Await(c.record(), observed.Request{}, l, await)
	}
	return c.await(l, unlocked)
}

// await is sleep, whether or not c is observed.
func (c *Cond) await(l waiting.Limit, unlocked *bool) error {
	p := waiting.GetParker(l)
	c.enter(p)
	c.unlock(p)
	*unlocked = true
	_, err := waiting.Wait(p, l, condLine{c})
	if err == nil {
		p.Put()
	}
	return err
}

// enter puts p into the line.
func (c *Cond) enter(p *waiting.Parker) {
	c.mu.Lock()
	if c.line.Front() == nil {
		c.flags.Or(condOccupied)
	}
	c.line.PushBack(&p.Waiter)
	c.mu.Unlock()
}

// unlock unlocks L. If that panics p leaves the line.
func (c *Cond) unlock(p *waiting.Parker) {
	unlocked := false
	defer func() {
		if !unlocked {
			waiting.Leave(p, condLine{c})
		}
	}()
	c.L.Unlock()
	unlocked = true
}

// A condLine is the line of a Cond as a [waiting.Line].
type condLine struct{ c *Cond }

// Unlink implements [waiting.Line].
func (l condLine) Unlink(w *waiting.Waiter) bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.removeLocked(w)
}

// GiveBack passes on a claim that came too late, that of a signal. A broadcast has claimed the
// others, too.
func (l condLine) GiveBack(by int64) bool {
	if by == bySignal {
		l.c.mu.Lock()
		w := l.c.claimLocked(bySignal)
		l.c.mu.Unlock()
		tell(w)
	}
	return true
}

// claimLocked takes the first goroutine out of the line, if it entered before the latest signal.
// Otherwise it returns nil.
func (c *Cond) claimLocked(by int64) *waiting.Waiter {
	if c.reach == nil {
		return nil
	}
	w := c.line.Front()
	c.removeLocked(w)
	w.N = by
	return w
}

// removeLocked takes w out of the line, and reports whether it was there.
func (c *Cond) removeLocked(w *waiting.Waiter) bool {
	before := c.line.Prev(w)
	if !c.line.Remove(w) {
		return false
	}
	if c.reach == w {
		c.reach = before
	}
	if c.line.Front() == nil {
		c.flags.And(^uint32(condOccupied))
	}
	return true
}

func (c *Cond) isOccupied() bool { return c.flags.Load()&condOccupied != 0 }

// tell wakes w, if there is one.
func tell(w *waiting.Waiter) {
	if w != nil {
		w.Deliver(waiting.Granted)
	}
}

// Signal wakes the goroutine that has waited longest, if there is one. The caller may hold c.L, but
// need not.
func (c *Cond) Signal() {
	c.check()
	if c.isOccupied() {
		c.signalSlow()
	}
}

//go:noinline
func (c *Cond) signalSlow() {
	c.mu.Lock()
	c.reach = c.line.Back()
	w := c.claimLocked(bySignal)
	c.mu.Unlock()
	tell(w)
}

// Broadcast wakes all goroutines that wait, in their order. The caller may hold c.L, but need not.
func (c *Cond) Broadcast() {
	c.check()
	if c.isOccupied() {
		c.broadcastSlow()
	}
}

//go:noinline
func (c *Cond) broadcastSlow() {
	var wake waiting.WakeList
	c.mu.Lock()
	c.reach = c.line.Back()
	for w := c.claimLocked(byBroadcast); w != nil; w = c.claimLocked(byBroadcast) {
		wake.Add(w, waiting.Granted)
	}
	c.mu.Unlock()
	wake.Wake()
}

// Waiting returns the number of goroutines that wait. It is meant for tests and statistics.
func (c *Cond) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.Len()
}

// check panics if c is a copy of a Cond that has been used.
func (c *Cond) check() {
	if c.self.Load() != c.here() {
		c.checkSlow()
	}
}

//go:noinline
func (c *Cond) checkSlow() {
	if here := c.here(); !c.self.CompareAndSwap(0, here) && c.self.Load() != here {
		panic("sync.Cond is copied")
	}
}

// here returns as much of the address of c as tells it from a copy.
func (c *Cond) here() uint32 { return uint32(xsync.Address(c) >> 2) } //nolint:gosec // means to cut
