package rt

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Timer is a [Future] that completes when a time has passed since its first Poll. It is embedded
// in its user and may be used again and again.
//
// A Timer that a task polls stands in the timer heap of the executor, which uses one timer of
// package time, and allocates nothing. A Timer that anything else polls uses a timer of package
// time of its own.
type Timer struct {
	_ noCopy
	f waiting.Future
	d time.Duration

	// In the heap of ts; nil if it has a timer of its own. Guarded by the lock of ts; at is the
	// key.
	ts    *timers
	at    time.Duration // since the start of the executor
	index int           // in the heap, or -1

	alone alarm
}

// Init makes t a timer of d that has not been started. A timer whose d is not positive completes at
// once. Init panics while t runs: an earlier use must have ended or been released.
func (t *Timer) Init(d time.Duration) {
	if !restart(&t.f, (*timing)(t)) {
		panic("rt: Init of a timer that is running")
	}
	t.d = d
}

// Poll starts the timer, unless that was done, and reports whether the time has passed. See
// [Future].
func (t *Timer) Poll(w waiter.Waker) bool {
	if !t.f.Bound() {
		waiting.Bind(&t.f, (*timing)(t), 0)
	}
	return t.f.Poll(w)
}

// Err returns nil if the time has passed, and otherwise [waiter.ErrPending].
func (t *Timer) Err() error { return t.f.Err() }

func (t *Timer) complete() bool { return t.f.Complete() }

// Release stops the timer, which the next Poll starts again.
func (t *Timer) Release() { t.f.Release() }

// timing is a timer as a [waiting.Request].
type timing Timer

// Start implements [waiting.Request].
func (t *timing) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if t.d <= 0 {
		return waiting.Granted
	}
	w.Arm(waker)
	if task := taskOf(waker); task != nil {
		t.ts = &task.ex.timers
		t.ts.add((*Timer)(t))
		return waiting.Pending
	}
	t.ts = nil
	t.alone = newAlarm(t.d, func() { w.Deliver(waiting.Granted) })
	return waiting.Pending
}

// Unlink implements [waiting.Line].
func (t *timing) Unlink(*waiting.Waiter) bool {
	if t.ts != nil {
		return t.ts.remove((*Timer)(t))
	}
	return t.alone.Stop()
}

// GiveBack implements [waiting.Line]: a timer has nothing.
func (t *timing) GiveBack(int64) bool { return true }

// Sleep waits for d in a straight-line task. It returns [ErrCancelled] if the task is aborted
// meanwhile. It allocates nothing.
func Sleep(cx *Context, d time.Duration) error {
	cx.straightLine() // before the timer of the task is touched
	cx.timer.Init(d)
	return Await(cx, &cx.timer)
}

// Timeout returns a Future that completes with f or, if f is not complete d after the first Poll,
// with [context.DeadlineExceeded]. Then f has been released. If f is complete when the time ends,
// f wins. Timeout allocates the Future.
func Timeout(f Future, d time.Duration) Future {
	if f == nil {
		panic("rt: Timeout of a nil future")
	}
	t := &timeout{f: f}
	t.timer.Init(d)
	return t
}

type timeout struct {
	f     Future
	timer Timer
	late  bool
}

func (t *timeout) Poll(w waiter.Waker) bool {
	switch {
	case t.late:
		return true
	case t.f.Poll(w):
		t.timer.Release()
		return true
	case t.timer.Poll(w):
		t.late = true
		t.f.Release()
		return true
	}
	return false
}

func (t *timeout) Err() error {
	if t.late {
		return context.DeadlineExceeded
	}
	return t.f.Err()
}

func (t *timeout) Release() {
	t.late = false
	t.timer.Release()
	t.f.Release()
}

// timers are the timers that tasks of one executor wait for: a heap with four children per node,
// which is faster than two. One timer of package time is set to the earliest of them.
type timers struct {
	now func() time.Duration // since the start of the executor

	mu      xsync.Mutex
	heap    []*Timer // all guarded by mu
	clock   alarm
	set     time.Duration // the time that the clock is set to; 0 if it is not set
	stopped bool
}

func (ts *timers) len() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.heap)
}

// add puts a timer into the heap. Its node is armed.
func (ts *timers) add(t *Timer) {
	now := ts.now()
	ts.mu.Lock()
	t.at = now + t.d
	if t.at < now { // overflow: never
		t.at = 1<<63 - 1
	}
	t.index = len(ts.heap)
	ts.heap = append(ts.heap, t)
	ts.up(t.index)
	if t.index == 0 {
		ts.setClock(now)
	}
	ts.mu.Unlock()
}

// remove takes a timer out, and reports whether it was there.
func (ts *timers) remove(t *Timer) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.index < 0 {
		return false
	}
	ts.removeAt(t.index)
	return true
}

// setClock sets the clock to the first timer. If the clock is set to an earlier time, setClock
// leaves it: it fires once for nothing, which costs less than setting it for every timer that is
// cancelled.
func (ts *timers) setClock(now time.Duration) {
	if len(ts.heap) == 0 || ts.stopped {
		return
	}
	first := ts.heap[0].at
	if ts.set != 0 && ts.set <= first {
		return
	}
	ts.set = max(first, 1)
	ts.clock.Reset(max(first-now, 0))
}

// fire completes all timers whose time has passed.
func (ts *timers) fire() {
	var wakes waiting.WakeList
	ts.mu.Lock()
	now := ts.now()
	for len(ts.heap) > 0 && ts.heap[0].at <= now {
		t := ts.heap[0]
		ts.removeAt(0)
		wakes.Add(t.f.Node(), waiting.Granted)
	}
	ts.set = 0
	ts.setClock(now)
	ts.mu.Unlock()
	wakes.Wake()
}

func (ts *timers) stop() {
	ts.mu.Lock()
	ts.stopped = true
	ts.clock.Stop()
	ts.mu.Unlock()
}

const arity = 4

func (ts *timers) up(i int) {
	t := ts.heap[i]
	for i > 0 {
		p := (i - 1) / arity
		if ts.heap[p].at <= t.at {
			break
		}
		ts.put(i, ts.heap[p])
		i = p
	}
	ts.put(i, t)
}

func (ts *timers) down(i int) {
	t := ts.heap[i]
	for {
		first := i*arity + 1
		if first >= len(ts.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, len(ts.heap)); c++ {
			if ts.heap[c].at < ts.heap[least].at {
				least = c
			}
		}
		if t.at <= ts.heap[least].at {
			break
		}
		ts.put(i, ts.heap[least])
		i = least
	}
	ts.put(i, t)
}

func (ts *timers) put(i int, t *Timer) {
	ts.heap[i] = t
	t.index = i
}

func (ts *timers) removeAt(i int) {
	last := len(ts.heap) - 1
	t, moved := ts.heap[i], ts.heap[last]
	ts.heap[last] = nil
	ts.heap = ts.heap[:last]
	t.index = -1
	if i == last {
		return
	}
	ts.put(i, moved)
	ts.up(i)
	ts.down(moved.index)
}
