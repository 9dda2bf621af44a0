package rt

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Report is an observation of the watchdog.
type Report struct {
	Kind ReportKind
	Task string        // the name of the task
	What string        // the type of the future, if it is about one
	For  time.Duration // how long this has lasted, at least
}

// A ReportKind is a kind of [Report], in words.
type ReportKind string

// What the watchdog reports.
const (
	// NeverYields: one Poll of the task takes very long and occupies a worker. The task computes
	// without yielding, or it blocks.
	NeverYields ReportKind = "never yields"
	// NotPolled: a future of the task has obtained something, such as a permit, and has woken the
	// task, but the task neither polls nor releases it. Everyone queued behind it waits.
	NotPolled ReportKind = "not polled"
)

// WithWatchdog has report called for each task that occupies a worker for longer than after, and
// for each future that was woken and that its task has neither polled nor released for so long.
// Each is reported once, on a goroutine of its own. Shutdown waits for running reports. A panic in
// report ends the program. If the type of a future does not say whether it is complete, the
// watchdog does not see that the task has called its Release directly. With a watchdog every wait
// allocates; it is meant for finding out why a program hangs.
func WithWatchdog(after time.Duration, report func(Report)) Option {
	if after <= 0 {
		panic(fmt.Sprintf("rt: watchdog after %v, which is not positive", after))
	}
	if report == nil {
		panic("rt: watchdog with a nil report")
	}
	return func(o *options) { o.after, o.report = after, report }
}

// A watchdog looks at all workers and at all futures that tasks of the executor wait for. It
// observes the wakes of a future through a waker of its own.
type watchdog struct {
	ex     *scheduler
	after  time.Duration
	report func(Report)

	mu      sync.Mutex
	timer   *time.Timer // all guarded by mu
	stopped bool
	polls   []polled // by worker
	waits   map[*Task]map[Future]*watched
}

// polled is what one worker polls.
type polled struct {
	task     *Task // nil if it polls nothing
	since    time.Time
	reported bool
}

// watched is the waker of a future under observation.
type watched struct {
	task  *Task
	woken xsync.Int64 // when, in nanoseconds since 1970; 0: not yet

	reported bool // guarded by the watchdog's lock
}

// Wake implements [waiter.Waker].
func (w *watched) Wake() {
	w.woken.CompareAndSwap(0, time.Now().UnixNano())
	w.task.waker().Wake()
}

// Displaced implements [waiting.Owner].
func (w *watched) Displaced(by waiting.Waker) { w.task.waker().Displaced(by) }

func newWatchdog(ex *scheduler, after time.Duration, report func(Report)) *watchdog {
	wd := &watchdog{
		ex: ex, after: after, report: report,
		polls: make([]polled, len(ex.workers)), waits: map[*Task]map[Future]*watched{},
	}
	wd.mu.Lock()
	wd.timer = time.AfterFunc(after/2, wd.look)
	wd.mu.Unlock()
	return wd
}

// begin and end are called by a worker around a poll.
func (wd *watchdog) begin(w *worker, t *Task) {
	wd.mu.Lock()
	wd.polls[w.id] = polled{task: t, since: time.Now()}
	wd.mu.Unlock()
}

func (wd *watchdog) end(w *worker) {
	wd.mu.Lock()
	wd.polls[w.id] = polled{}
	wd.mu.Unlock()
}

// poll polls f for t.
func (wd *watchdog) poll(t *Task, f Future) bool {
	if !reflect.ValueOf(f).Comparable() {
		return f.Poll(t.waker()) // others look the same
	}
	w := &watched{task: t}
	wd.mu.Lock()
	of := wd.waits[t]
	if of == nil {
		of = map[Future]*watched{}
		wd.waits[t] = of
	}
	of[f] = w
	wd.mu.Unlock()
	if !f.Poll(w) {
		return false
	}
	wd.forget(t, f)
	return true
}

// forget is called when the task is done with a future.
func (wd *watchdog) forget(t *Task, f Future) {
	if !reflect.ValueOf(f).Comparable() {
		return
	}
	wd.mu.Lock()
	delete(wd.waits[t], f)
	wd.mu.Unlock()
}

// ended is called when a task has ended.
func (wd *watchdog) ended(t *Task) {
	wd.mu.Lock()
	delete(wd.waits, t)
	wd.mu.Unlock()
}

// An overdue future was woken long ago.
type overdue struct {
	w      *watched
	future Future
	since  time.Duration
}

// look is called by the timer. It asks futures, which are user code, without the lock. Shutdown
// waits for it.
func (wd *watchdog) look() {
	suspects, again := wd.suspects()
	if !again {
		return
	}
	defer wd.ex.workerEnded()
	for _, s := range suspects {
		if complete(s.future) {
			wd.accuse(s)
		}
	}
	wd.mu.Lock()
	defer wd.mu.Unlock()
	if !wd.stopped {
		wd.timer.Reset(wd.after / 2)
	}
}

// suspects reports long polls, and returns the futures that were woken long ago. Unless the
// watchdog has stopped, the caller counts as a goroutine of the executor.
func (wd *watchdog) suspects() (all []overdue, again bool) {
	wd.mu.Lock()
	defer wd.mu.Unlock()
	if wd.stopped {
		return nil, false
	}
	wd.ex.count()
	now := time.Now()
	for i := range wd.polls {
		p := &wd.polls[i]
		if d := now.Sub(p.since); p.task != nil && !p.reported && d >= wd.after {
			p.reported = true
			wd.send(Report{Kind: NeverYields, Task: p.task.lockedName(), For: d})
		}
	}
	for _, of := range wd.waits {
		for f, w := range of {
			woken := w.woken.Load()
			if d := now.Sub(time.Unix(0, woken)); woken != 0 && !w.reported && d >= wd.after {
				all = append(all, overdue{w, f, d})
			}
		}
	}
	return all, true
}

// accuse reports a future, unless its task has polled it again or is done with it.
func (wd *watchdog) accuse(s overdue) {
	wd.mu.Lock()
	defer wd.mu.Unlock()
	if wd.stopped || wd.waits[s.w.task][s.future] != s.w {
		return
	}
	s.w.reported = true
	wd.send(Report{Kind: NotPolled, Task: s.w.task.lockedName(), What: fmt.Sprintf("%T", s.future), For: s.since})
}

// complete asks a future whether it is complete, if anyone may ask. Any other future was woken, and
// counts as complete.
func complete(f Future) bool {
	switch f := f.(type) {
	case interface{ Complete() bool }: // the locks'
		return f.Complete()
	case interface{ complete() bool }: // ours
		return f.complete()
	default:
		return true
	}
}

// send reports without the lock and without delaying the timer, on a goroutine that Shutdown waits
// for.
func (wd *watchdog) send(r Report) {
	wd.ex.count()
	go func() {
		defer wd.ex.workerEnded()
		wd.report(r)
	}()
}

// stop prevents further reports.
func (wd *watchdog) stop() {
	wd.mu.Lock()
	wd.stopped = true
	wd.timer.Stop()
	wd.mu.Unlock()
}

var _ waiter.Waker = (*watched)(nil)
