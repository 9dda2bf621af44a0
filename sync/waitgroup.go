package sync

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A WaitGroup waits for a number of tasks to end. It counts them: [WaitGroup.Go] starts a task in a
// goroutine of its own; Add and Done count tasks that are started otherwise. The zero WaitGroup has
// none. A WaitGroup must not be copied after first use.
//
// Any number of goroutines may wait. All are released, in the order of their arrival, when the
// counter becomes zero. The group may be used again when all waits have returned: an Add that
// raises the counter from zero must not run during a wait. It panics if that is seen.
//
// Cancellation: WaitContext and WaitTimeout may give up, which changes nothing for the tasks, nor
// for other waiters.
//
// Memory model: a call of Done, and the return of a function that Go has called, synchronize before
// the return of the waits that they end.
//
// An Add or a Done that wakes none is one atomic operation. A WaitGroup takes 40 bytes on 64-bit
// machines; that of the standard library takes 16.
//
// Source: the two numbers in one word, and the panics, are the standard library's. There a waiter
// cannot leave. See docs/design/cond.md.
type WaitGroup struct {
	// state:
	//
	//	bits 63…32  the counter, with a sign
	//	bit  31     O: the group is observed
	//	bits 30…0   how many waiters are in the line
	//
	// Invariants:
	//
	//  1. The number of waiters changes under mu only, with the line. So under mu it is the line's
	//     length, except within release. (TestModelWaitGroup/cancel)
	//  2. A waiter enters only while the counter is not zero, in one step. So the Add that makes it
	//     zero sees the waiter, and calls release. (TestModelWaitGroup/wait)
	//  3. A release wakes only if the counter is zero under mu. It may not be, because the waiter
	//     that the Add has seen gave up, and the group is in use again. Then the Add that makes it
	//     zero the next time sees those that wait. (TestModelWaitGroup/reuse_after_cancel)
	//  4. A waiter that has given up is not counted when its wait returns. So an Add that raises
	//     the counter from zero, and sees a waiter, runs during its wait. (the same)
	//  5. O may be set and cleared at any time, and changes nothing but that Add leaves its fast
	//     path. (TestModelObservedWaitGroup)

	_ noCopy

	state xsync.Int64 // the counter: written by Add; the waiters: under mu

	begin xsync.RaceMark // of the waits, for an Add that raises the counter from zero

	mu   xsync.Mutex
	line waiting.Queue // guarded by mu
}

const (
	counterShift = 32

	groupObserved int64 = 1 << 31
	groupWaiters        = groupObserved - 1
)

// Add adds delta, which may be negative, to the counter of tasks. If the counter becomes zero all
// waiters are released. If it becomes negative Add panics.
//
// An Add that raises the counter from zero must happen before a Wait. Others may happen at any
// time. So Add comes before the statement that starts the task.
func (wg *WaitGroup) Add(delta int) {
	if xsync.Races {
		wg.addRaced(delta)
		return
	}
	if s := wg.state.Add(int64(delta) << counterShift); s < 0 || uint32(s) != 0 || canBubble {
		wg.addSlow(delta, s)
	}
}

// addRaced is Add under the race detector. The detector must see what Add does not order: one Add
// after another, and an Add that raises the counter from zero during a wait.
func (wg *WaitGroup) addRaced(delta int) {
	state := &wg.state
	if delta < 0 {
		xsync.RaceRelease(state)
	}
	xsync.RaceDisable()
	s := state.Add(int64(delta) << counterShift)
	xsync.RaceEnable()
	if delta > 0 && s>>counterShift == int64(delta) {
		wg.begin.Read()
	}
	if s < 0 || uint32(s) != 0 || canBubble {
		wg.addSlow(delta, s)
	}
}

// addSlow is the rest of Add if the counter is negative or there are waiters.
//
//go:noinline
func (wg *WaitGroup) addSlow(delta int, s int64) {
	counter := int32(s >> counterShift)
	if canBubble {
		wg.tellBubble(delta, counter)
	}
	switch {
	case counter < 0:
		panic("sync: negative WaitGroup counter")
	case s&groupWaiters == 0:
	case delta > 0 && counter == int32(delta):
		panic("sync: WaitGroup misuse: Add called concurrently with Wait")
	case counter == 0:
		wg.release()
	default:
	}
}

// release wakes all waiters.
//
//go:noinline
func (wg *WaitGroup) release() {
	var wake waiting.WakeList
	wg.mu.Lock()
	if wg.state.Load()>>counterShift == 0 { // invariant 3
		wg.state.Add(-int64(wg.line.Len()))
		for w := wg.line.PopFront(); w != nil; w = wg.line.PopFront() {
			wake.Add(w, waiting.Granted)
		}
	}
	wg.mu.Unlock()
	for wake.Wake() > 0 {
		continue // Each turn follows a waiter that gives up.
	}
}

// Done takes one from the counter of tasks. It is Add(-1).
func (wg *WaitGroup) Done() { wg.Add(-1) }

// Wait waits until the counter of tasks is zero.
func (wg *WaitGroup) Wait() {
	if wg.state.Load()>>counterShift != 0 {
		wg.waitSlow()
	}
}

//go:noinline
func (wg *WaitGroup) waitSlow() {
	if canBubble || wg.mayBeObserved() {
		_ = wg.wait(waiting.Limit{})
		return
	}
	p := waiting.GetParker(waiting.Limit{})
	if wg.enter(&p.Waiter) {
		p.Sleeper().SleepInline()
		p.Sleeper().Sleep()
		wg.checkReuse()
	}
	p.Put()
}

// checkReuse is called at the end of a wait.
func (wg *WaitGroup) checkReuse() {
	if wg.state.Load()&^groupObserved != 0 {
		panic("sync: WaitGroup is reused before previous Wait has returned")
	}
}

// WaitContext is Wait, but gives up when ctx is done and returns ctx.Err(). The tasks go on. It
// returns nil if and only if the counter was zero, and ctx not done before.
func (wg *WaitGroup) WaitContext(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		wg.Wait()
		return nil
	}
	if err := usable(ctx); err != nil {
		return err
	}
	if wg.state.Load()>>counterShift == 0 {
		return ctx.Err() // It may have ended before the counter became zero.
	}
	return wg.wait(waiting.UntilDone(ctx))
}

// WaitTimeout is Wait, but gives up when d has passed. It reports whether the counter was zero. If
// d <= 0 it does not wait.
func (wg *WaitGroup) WaitTimeout(d time.Duration) bool {
	return wg.state.Load()>>counterShift == 0 || d > 0 && wg.wait(waiting.After(d)) == nil
}

// wait waits until the counter is zero, or returns the error of l if that ends the wait before.
func (wg *WaitGroup) wait(l waiting.Limit) error {
	if wg.mayBeObserved() {
		return observed.Await(wg.record(), observed.Request{}, l, wg.await)
	}
	return wg.await(l)
}

// await is wait, whether or not wg is observed.
func (wg *WaitGroup) await(l waiting.Limit) error {
	if canBubble && wg.isForeign() {
		return wg.waitAcross(l)
	}
	p := waiting.GetParker(l)
	if !wg.enter(&p.Waiter) {
		p.Put()
		return l.Cancelled()
	}
	if _, err := waiting.Wait(p, l, groupLine{wg}); err != nil {
		return err
	}
	p.Put()
	wg.checkReuse()
	return nil
}

// enter puts w into the line, unless the counter is zero.
func (wg *WaitGroup) enter(w *waiting.Waiter) bool {
	first, ok := wg.enterLine(w)
	if first { // Only one: waits do not race with one another.
		wg.begin.Write() // without the mutex, which would order it before those who come later
	}
	return ok
}

func (wg *WaitGroup) enterLine(w *waiting.Waiter) (first, ok bool) {
	wg.mu.Lock()
	defer wg.mu.Unlock()
	for { // A retry follows an Add.
		state := wg.state.Load()
		if state>>counterShift == 0 {
			return false, false
		}
		if wg.state.CompareAndSwap(state, state+1) {
			wg.line.PushBack(w)
			return state&groupWaiters == 0, true
		}
	}
}

// A groupLine is the line of a WaitGroup as a [waiting.Line].
type groupLine struct{ wg *WaitGroup }

// Unlink implements [waiting.Line].
func (l groupLine) Unlink(w *waiting.Waiter) bool {
	l.wg.mu.Lock()
	defer l.wg.mu.Unlock()
	ok := l.wg.line.Remove(w)
	if ok {
		l.wg.state.Add(-1)
	}
	return ok
}

// GiveBack implements [waiting.Line]. The others have been released, too.
func (groupLine) GiveBack(int64) bool { return true }

// Go calls f in a new goroutine, and counts it as a task until f returns or ends the goroutine. An
// f that panics ends the process, and is not done before that: no wait returns because of it. If
// the counter is zero Go must happen before a Wait; otherwise it may be called at any time, also by
// a task.
func (wg *WaitGroup) Go(f func()) {
	wg.Add(1)
	go func() {
		defer func() {
			if x := recover(); x != nil {
				panic(x) // The process ends. A Done might let another goroutine end it quietly before.
			}
			wg.Done() // after a Goexit, too
		}()
		f()
	}()
}

// Waiting returns the number of goroutines that wait. It is meant for tests and statistics.
func (wg *WaitGroup) Waiting() int { return int(wg.state.Load() & groupWaiters) }
