package rt

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// Executors make themselves known to package observe.
var kind = agents.RegisterExecutor("rt.Executor", (*Executor).observe, (*Executor).read)

func init() { agents.SetTaskOf(taskOn) }

// A row is what is known about one life of a task while its executor is observed. It is written by
// the goroutine that has taken the task, or is about to queue it; Read reads it at any time.
type row struct {
	id      uint64
	born    int64 // as xsync.Now says it, and so are all times
	spawned [spawnDepth]uintptr

	running xsync.Bool
	since   xsync.Int64  // the beginning or the end of the last poll; 0: none was seen
	woken   xsync.Int64  // the wake that the next poll answers; 0: none, or it was during a poll
	locks   atomic.Int32 // how many locks' futures a Select waits for, if for nothing else
	looks   atomic.Int32 // how many calls of look have taken the task at this moment

	polls, selfWakes atomic.Uint64 // no step depends on one of these, so they are not for the explorer
	busy, idle       atomic.Int64
}

const spawnDepth = 8

// observe switches the observation on or off.
func (ex *Executor) observe(on bool) {
	ex.panics.keep(on)
	ex.observing.Store(on)
	ex.attend(on || ex.watch != nil)
	if on {
		return
	}
	for i := range ex.shards {
		s := &ex.shards[i]
		s.mu.Lock()
		for t := s.oldest; t != nil; t = t.newer {
			t.row.Store(nil)
		}
		s.mu.Unlock()
	}
}

// attend says whether a watchdog or an observer looks at polls.
func (ex *scheduler) attend(on bool) {
	ex.attended.Store(on)
	for _, w := range ex.workers {
		w.attendance.wanted.Store(on)
	}
}

// observed returns the row of a living task. A row that was made while the observation was being
// switched off is dropped at once, because the switch may have missed it.
func (t *Task) observed() *row {
	for { // A retry follows another who has made one, and perhaps one who has taken that away.
		if r := t.row.Load(); r != nil {
			return r
		}
		if r := (&row{id: observed.NewID(), born: xsync.Now()}); t.row.CompareAndSwap(nil, r) {
			t.letGo(r)
			return r
		}
	}
}

// letGo takes the row of a living task away, unless the executor is observed.
func (t *Task) letGo(r *row) {
	if !t.ex.observing.Load() {
		t.row.CompareAndSwap(r, nil)
	}
}

// spawning gives a task that is being spawned its row. Its caller's caller is Spawn.
func (t *Task) spawning() *row {
	r := &row{id: observed.NewID(), born: xsync.Now()}
	r.woken.Store(r.born)
	runtime.Callers(4, r.spawned[:])
	t.row.Store(r)
	return r
}

// noteWake is called with a wake of the task, before that has queued it. idle says that the task
// was waiting. A wake during a poll counts if it comes from the goroutine that is being polled.
func (r *row) noteWake(idle bool) {
	if idle {
		r.woken.Store(xsync.Now())
	} else if r.running.Load() && taskOn(agents.Goroutine()) == r.id {
		r.selfWakes.Add(1)
	}
}

// An attendance is what a worker notes about the poll of an observed task.
type attendance struct {
	wanted xsync.Bool // as in the executor, but near what a poll needs

	row   *row // nil: of no task
	began int64
	seat  *seat
}

// begin is called by a worker before a poll if somebody looks.
func (w *worker) begin(t *Task) {
	if w.ex.watch != nil {
		w.ex.watch.begin(w, t)
	}
	if !w.ex.observing.Load() {
		return
	}
	r, now := t.observed(), xsync.Now()
	from := r.woken.Load()
	if from == 0 {
		from = r.since.Load() // it was queued again when its last poll ended
	}
	if from != 0 {
		r.idle.Add(now - from)
	}
	r.woken.Store(0)
	r.polls.Add(1)
	r.since.Store(now)
	r.running.Store(true)
	a := &w.attendance
	a.row, a.began = r, now
	if a.seat == nil {
		a.seat = takeSeat()
	}
	a.seat.task.Store(r.id)
}

// end is called by a worker after a poll that somebody has looked at, while it still has the task.
// After a panic that is when the task ends.
func (w *worker) end() {
	if w.ex.watch != nil {
		w.ex.watch.end(w)
	}
	a := &w.attendance
	if a.row == nil {
		return
	}
	now := xsync.Now()
	a.row.busy.Add(now - a.began)
	a.row.since.Store(now)
	a.row.running.Store(false)
	a.row = nil
	a.seat.task.Store(0)
}

// leave is called when the goroutine of a worker is about to end.
func (w *worker) leave() {
	w.attendance.seat.leave()
	w.attendance.seat = nil
}

// A seat says which task a goroutine runs. Goroutines of workers and coroutines take one when they
// first run an observed task, and keep it.
type seat struct {
	goroutine uint64
	task      atomic.Uint64 // the ID of its row; 0: none
}

// seats are all seats, by goroutine.
var seats sync.Map

func takeSeat() *seat {
	s := &seat{goroutine: agents.Goroutine()}
	seats.Store(s.goroutine, s)
	return s
}

func (s *seat) leave() {
	if s != nil {
		seats.Delete(s.goroutine)
	}
}

// taskOn returns the ID of the task that a goroutine runs, or 0.
func taskOn(goroutine uint64) uint64 {
	if s, ok := seats.Load(goroutine); ok {
		return s.(*seat).task.Load()
	}
	return 0
}

// sit says that the coroutine, which is the caller's goroutine, runs t, if t is observed.
func (c *coroutine) sit(t *Task) {
	if !t.ex.observing.Load() {
		return
	}
	if c.seat == nil {
		c.seat = takeSeat()
	}
	c.seat.task.Store(t.observed().id)
}

// stand is called when the task of the coroutine has ended.
func (c *coroutine) stand() {
	if c.seat != nil {
		c.seat.task.Store(0)
	}
}

// pollAttended is Task.poll if somebody looks.
func (t *Task) pollAttended(f Future) bool {
	if s, ok := t.poller.(*straight); ok {
		s.cx.co.sit(t) // it may be observed since the last wait
	}
	if wd := t.ex.watch; wd != nil {
		return wd.poll(t, f)
	}
	return f.Poll(t.waker())
}

// noteSelect notes what a Select waits for.
func (t *Task) noteSelect(fs []Future) {
	if r := t.row.Load(); r != nil {
		r.locks.Store(int32(locksOf(fs)))
	}
}

// read returns the tasks of an executor that is observed.
func (ex *Executor) read() agents.Executor {
	var all []agents.Task
	var dropped uint64
	begin := 0
	waits := func(i int, t *Task) {
		x := &all[begin+i]
		x.WaitsFor, x.Locks = describe(t.waits), t.waitsForLocks()
	}
	if ex.bubbled != waiting.InBubble() {
		waits = nil // A task that is taken may have to be woken, and only in its bubble that is possible.
	}
	for i := range ex.shards {
		begin = len(all)
		dropped += uint64(ex.shards[i].look(agents.MaxTasks-len(all), func(t *Task) {
			all = append(all, t.read())
		}, waits))
	}
	n, last := ex.panics.last()
	return agents.Executor{Tasks: all, Dropped: dropped, Panicked: n, Panics: last}
}

// read returns what can be known about a task without taking it. The caller holds the lock of the
// shard.
func (t *Task) read() agents.Task {
	r := t.observed()
	selfWakes := r.selfWakes.Load() // before the polls, of which each is counted before its wakes
	x := agents.Task{
		ID: r.id, Name: t.name(), Born: r.born, Polls: r.polls.Load(),
		Busy: r.busy.Load(), Idle: r.idle.Load(), SelfWakes: selfWakes,
	}
	for _, pc := range r.spawned {
		if pc != 0 {
			x.Spawned = append(x.Spawned, pc)
		}
	}
	x.Since = r.since.Load()
	woken := r.woken.Load()
	switch s := t.state.Load(); {
	case s == taskAlive:
		x.State = "waiting"
	case r.running.Load():
		x.State = "running"
	case s == taskAlive|1 && r.looks.Load() > 0:
		x.State = "waiting"
	case woken != 0:
		x.State, x.Since = "queued", woken
	case x.Since != 0:
		x.State = "queued"
	default:
		x.State = "active" // queued or running, since before it was observed
	}
	if x.Since == 0 {
		x.Since = r.born // since before it was observed
	}
	return x
}

// waitsForLocks returns how many futures of locks a waiting straight-line task waits for, or 0 if
// something else may wake it. The caller has taken the task.
func (t *Task) waitsForLocks() int {
	if _, ok := t.poller.(*straight); !ok {
		return 0
	}
	switch f := t.waits.(type) {
	case selected:
		return int(t.observed().locks.Load())
	case Future:
		return locksOf([]Future{f})
	default:
		return 0
	}
}

// locksOf returns the number of futures if all are of locks of this module, and otherwise 0.
func locksOf(fs []Future) int {
	n := 0
	for _, f := range fs {
		one := 0
		switch f := f.(type) {
		case *allOf:
			one = locksOf(f.fs)
		case *First:
			one = locksOf(f.fs)
		default:
			if ofLock(f) {
				one = 1
			}
		}
		if one == 0 {
			return 0
		}
		n += one
	}
	return n
}

// ofLock reports whether f is a future of a lock of this module. A user's type that has one in it
// may do more.
func ofLock(f Future) bool {
	own, ok := f.(*waiter.Future)
	if !ok {
		return false
	}
	t := reflect.TypeOf((*waiting.Future)(own).Request())
	if t == nil || t.Kind() != reflect.Pointer {
		return false
	}
	path, ok := strings.CutPrefix(t.Elem().PkgPath(), "github.com/farad-go/farad/")
	if !ok {
		return false
	}
	return path == "sync" || path == "twa" || strings.HasPrefix(path, "sync/") && !strings.HasSuffix(path, "_test")
}
