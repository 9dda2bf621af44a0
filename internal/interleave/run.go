package interleave

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// maxThreads is how many threads a search can tell apart: a set of threads is a byte of bits.
const maxThreads = 8

// current is the run under way, nil outside explorations: then every modelled type is just what it
// models.
var current *Run

// A Run is one execution of a scenario, and the handle by which the scenario makes threads and
// states what must hold.
//
// The scenario's body first sets up; nothing is interleaved yet. It names its threads with Go and
// lets them run with Wait, once; what follows Wait sees the final state. Threads may start further
// threads with Go.
//
// The body must be deterministic: what it does may depend on nothing but what the modelled
// operations return.
type Run struct {
	sched scheduler
	sim   *simulation // the same, if it is one
	epoch uint64      // this execution's number; objects of earlier ones are recognised by theirs

	quiet    bool // setup, final checks, invariants: operations are executed without a scheduling point
	aborting bool // every thread is being unwound
	tracing  bool

	threads []*thread
	pool    []*thread // for reuse: a coroutine serves many executions
	groups  int
	running *thread
	next    int // the thread that the driver resumes; -1: none, the execution is over

	exec    op // the operation under way, or the last one
	hasExec bool

	steps, maxSteps int
	objects         int32
	trail           []choice
	end             ending
	failure         *Failure

	clock      *Int64          // what Now reads; nil: nothing, it stands still
	chooses    func(n int) int // what chooses in place of the search; nil: nothing does
	invariants []func()
	signals    []*Signal // whose channels are known outside: receives from them are looked up here
	contexts   []*Context
	spares     []chan struct{} // done channels, one for the i-th context of every execution: addresses must not vary
	history    object
	forks      object
	roots      []root
	names      map[*object]string
	structs    map[place]string
	met        int      // structs named by a number
	lines      []string // the trace
	sleeping   []string // and the threads that sleep at its end
}

// How an execution ended.
type ending uint8

const (
	endComplete ending = iota
	endPruned          // another execution shows the same
	endStuck           // only threads that a timeout would rescue are left: another execution has the timeout
	endFailed
)

// A choice is one step of a schedule.
type choice struct{ thread, value uint8 }

// A thread is a coroutine and the operation that it will do when it is scheduled.
type thread struct {
	id    int
	group int // threads of one group are interchangeable until they move; 0: none
	name  string
	fn    func()
	co    *coro
	op    op

	live, unwinding bool
	spawnedAt       int // the step that started it; -1: the body

	seen    [seenSize]sight // what it read or wrote lately, for Yield
	nseen   int
	yielded int           // what nseen was before a Yield that has not been accounted for
	edge    atomic.Uint32 // what the race detector sees of start and end
	where   string        // for traces: where it is
}

const seenSize = 16

type sight struct {
	o       *object
	version uint32
}

//go:norace
func (t *thread) saw(o *object) {
	t.seen[t.nseen%seenSize] = sight{o, o.Version}
	t.nseen++
	t.yielded = 0
}

// changed reports whether anything that the thread has seen since its last Yield was changed by
// others.
//
//go:norace
func (t *thread) changed() bool {
	for i := max(0, t.nseen-seenSize); i < t.nseen; i++ {
		s := t.seen[i%seenSize]
		if s.version != s.o.Version && !t.seesLater(i, s.o) {
			return true
		}
	}
	return false
}

//go:norace
func (t *thread) seesLater(i int, o *object) bool {
	for j := i + 1; j < t.nseen; j++ {
		if t.seen[j%seenSize].o == o {
			return true
		}
	}
	return false
}

// A kind is what the scheduler knows of an operation.
type kind uint8

const (
	opStart kind = iota
	opChoose
	opJoin
	opYield
	opCede
	opRead
	opWrite
	opLock      // blocks unless o is ready
	opReceive   // blocks unless o is ready
	opTimed     // likewise, but a timeout would end it
	opReceiveOr // blocks unless o or o2 is ready; a write of o, a read of o2
	opReadBoth  // what an opReceiveOr turns out to be that takes nothing
	opInvoke
	opRespond
)

// An op is an operation that a thread is about to do.
type op struct {
	kind   kind
	n      uint8 // opChoose: how many values there are
	thread uint8
	value  uint8 // opChoose: the value
	ready  bool  // what o.Ready was before
	o, o2  *object
	target *thread // opJoin
}

// abort is the value of the panic that unwinds a thread.
type abort struct{}

// step is the scheduling point in front of every operation. It returns when the operation may be
// done, and false if the thread is being unwound and must do nothing.
//
//go:norace
func (x *Run) step(o *object, k kind) bool { return x.stepTo(op{kind: k, o: o}) }

//go:norace
func (x *Run) stepTo(p op) bool {
	t := x.running
	if t.unwinding {
		return false
	}
	if x.aborting {
		x.abandon(t)
	}
	p.thread = uint8(t.id)
	x.number(p.o)
	x.number(p.o2)
	t.op = p
	if x.tracing {
		t.where = caller()
	}
	x.reschedule(t)
	return true
}

//go:norace
func (x *Run) number(o *object) {
	if o != nil && o.ID == 0 {
		x.objects++
		o.ID = x.objects
	}
}

// reschedule returns when t is next. Under the race detector all decisions are taken by the driver:
// whatever else the explorer touches is then touched by one goroutine only.
//
//go:norace
func (x *Run) reschedule(t *thread) {
	if !RaceEnabled {
		if x.next = x.decide(); x.next == t.id {
			return
		}
	}
	if RaceEnabled {
		t.edge.Store(1) // for abandon alone: others load it when nothing is judged any more
	}
	if !t.co.pause() || x.aborting {
		x.abandon(t)
	}
}

// abandon unwinds t. What it has deferred takes no locks, so all that others have done comes before
// it: the race detector is not to see a race there.
//
//go:norace
func (x *Run) abandon(t *thread) {
	if RaceEnabled {
		for _, o := range x.threads {
			o.edge.Load()
		}
	}
	t.unwinding = true
	panic(abort{})
}

// enabled reports whether t could go on.
//
//go:norace
func (t *thread) enabled() bool {
	p := &t.op
	switch p.kind {
	case opLock, opReceive, opTimed:
		return p.o.Ready
	case opReceiveOr:
		return p.o.Ready || p.o2.Ready
	case opJoin:
		return !p.target.live
	case opYield:
		return t.changed()
	default:
		return true
	}
}

// decide accounts for the operation that has been done. It returns the next thread, or -1 if the
// execution is over.
//
//go:norace
func (x *Run) decide() int {
	if x.hasExec {
		x.hasExec = false
		x.sched.executed(x, &x.exec)
		x.checkInvariants()
	}
	if x.failure != nil {
		return -1
	}
	if x.sim != nil {
		return x.sim.next(x)
	}
	var enabled threadSet
	live, timed := false, false
	for i, t := range x.threads {
		if t.live {
			live = true
			timed = timed || t.op.kind == opTimed
			if t.enabled() {
				enabled |= 1 << i
			}
		}
	}
	switch {
	case enabled != 0:
	case !live:
		x.end = endComplete
		return -1
	case timed:
		x.end = endStuck
		return -1
	default:
		message, class := x.blocked()
		x.fail(Deadlock, message, class)
		return -1
	}
	if x.steps >= x.maxSteps {
		x.fail(Steps, fmt.Sprintf("no end after %d steps", x.steps), "")
		return -1
	}
	n, value := x.sched.pick(x, enabled)
	if n < 0 {
		x.end = endPruned
		return -1
	}
	x.steps++
	x.trail = append(x.trail, choice{uint8(n), value})
	x.exec = x.threads[n].op
	x.exec.value = value
	if x.exec.o != nil {
		x.exec.ready = x.exec.o.Ready
	}
	x.hasExec = true
	return n
}

func (x *Run) checkInvariants() {
	if len(x.invariants) == 0 || RaceEnabled { // The race detector would see the checks read what threads write.
		return
	}
	x.quiet = true
	defer func() {
		x.quiet = false
		if r := recover(); r != nil && r != any(abort{}) {
			x.fail(Panic, fmt.Sprintf("in an invariant: %v\n%s", r, debug.Stack()), fmt.Sprint(r))
		}
	}()
	for _, f := range x.invariants {
		f()
	}
}

// What scenarios use.

// Go makes a thread that will run f: in the body, when Wait is called; in a thread, at any time
// from now on.
func (x *Run) Go(name string, f func()) *Thread { return x.spawn(name, f, 0) }

// Same makes n threads that run the same code: f must not make any difference between them before
// their first modelled operation, nor use i for anything but labels. The search then starts them in
// one order only.
//
//go:norace
func (x *Run) Same(n int, name string, f func(i int)) {
	x.groups++
	for i := range n {
		x.spawn(fmt.Sprintf("%s%d", name, i+1), func() { f(i) }, x.groups)
	}
}

// A Thread is a thread that has been started.
type Thread struct {
	x *Run
	t *thread
}

//go:norace
func (x *Run) spawn(name string, f func(), group int) *Thread {
	at := -1
	if !x.quiet {
		if !x.step(&x.forks, opWrite) {
			return nil
		}
		at = x.steps - 1
		if x.tracing {
			x.say(&x.forks, "go "+name)
		}
	}
	if n := x.room(); len(x.threads) == n {
		panic(fmt.Sprintf("interleave: more than %d threads", n))
	}
	var t *thread
	if id := len(x.threads); id < len(x.pool) {
		t = x.pool[id]
	} else {
		t = newThread(x, id)
		x.pool = append(x.pool, t)
	}
	t.group, t.name, t.fn, t.spawnedAt = group, name, f, at
	t.live, t.unwinding, t.nseen, t.yielded = true, false, 0, 0
	t.op = op{kind: opStart, thread: uint8(t.id)}
	t.edge.Store(1)
	x.threads = append(x.threads, t)
	return &Thread{x, t}
}

// room returns how many threads there may be.
//
//go:norace
func (x *Run) room() int {
	if x.sim != nil {
		return maxCores
	}
	return maxThreads
}

//go:norace
func newThread(x *Run, id int) *thread {
	t := &thread{id: id}
	t.co = newCoro(func(c *coro) {
		for {
			x.runThread(t)
			if !c.pause() {
				return
			}
		}
	})
	return t
}

// runThread runs a thread's function to its end.
//
//go:norace
func (x *Run) runThread(t *thread) {
	defer x.endThread(t)
	t.edge.Load()
	if x.aborting {
		return
	}
	if x.tracing {
		x.say(nil, "starts")
	}
	t.fn()
}

//go:norace
func (x *Run) endThread(t *thread) {
	if r := recover(); r != nil && r != any(abort{}) && !t.unwinding {
		x.fail(Panic, fmt.Sprintf("%v\n%s", r, debug.Stack()), fmt.Sprint(r))
	}
	t.edge.Store(2)
	t.live, t.fn = false, nil
	if !RaceEnabled && !x.aborting {
		x.next = x.decide()
	}
}

// Join waits until h has ended.
//
//go:norace
func (h *Thread) Join() {
	if h.x.quiet {
		waitAlone(!h.t.live, "Join")
		return
	}
	h.x.stepTo(op{kind: opJoin, target: h.t})
	h.t.edge.Load()
	if h.x.tracing {
		h.x.say(nil, "joins "+h.t.name)
	}
}

// Wait lets the threads run to their end, interleaved.
//
//go:norace
func (x *Run) Wait() {
	if x.steps > 0 {
		panic("interleave: a second Wait")
	}
	x.quiet = false
	x.next = -1
	for _, t := range x.threads { // They begin now, not when they were named.
		t.edge.Store(1)
	}
	over := false
	defer func() {
		if !over { // A thread has called runtime.Goexit, which ends its resumer, too.
			x.unwind()
		}
	}()
	if !RaceEnabled {
		x.next = x.decide()
	}
	for {
		if RaceEnabled {
			x.next = x.decide()
		}
		if x.next < 0 {
			break
		}
		x.running = x.threads[x.next]
		x.running.co.resume()
	}
	over = true
	if x.end != endComplete {
		if x.end == endStuck || x.failure != nil && x.failure.Kind == Deadlock {
			x.sched.stuck(x)
		}
		x.unwind()
		panic(abort{})
	}
	x.quiet = true
	for _, t := range x.threads {
		t.edge.Load()
	}
}

// unwind ends all threads.
//
//go:norace
func (x *Run) unwind() {
	x.aborting = true
	for _, t := range x.threads {
		for t.live {
			x.running = t
			t.co.resume()
		}
		t.edge.Load()
	}
	x.aborting = false
	x.quiet = true
}

// Always has f called after every step, to check an invariant: f calls Assert, and does not wait.
// What it looks at is read without scheduling points. It is not called under the race detector.
func (x *Run) Always(f func()) { x.invariants = append(x.invariants, f) }

// Clock has [Now] read c for the rest of the execution: a clock that goes when a thread adds to c.
// Each look at it is a step, so that time passes before it in some executions, and after it in
// others.
func (x *Run) Clock(c *Int64) { x.clock = c }

// Assert fails the execution if ok is false.
func (x *Run) Assert(ok bool, format string, args ...any) {
	if !ok {
		x.Fail(format, args...)
	}
}

// Fail fails the execution.
//
//go:norace
func (x *Run) Fail(format string, args ...any) {
	x.fail(Assertion, fmt.Sprintf(format, args...), format)
	if !x.quiet {
		x.running.unwinding = true
	}
	panic(abort{})
}

//go:norace
func (x *Run) fail(k FailureKind, message, class string) {
	if x.failure == nil {
		x.failure = &Failure{Kind: k, Message: message, class: class}
	}
	x.end = endFailed
}

// waitAlone stands for a wait outside threads, where nothing else runs: what is not ready there
// never will be.
//
//go:norace
func waitAlone(ready bool, what string) {
	if x := current; x != nil && !ready {
		x.fail(Deadlock, what+" outside of threads", "")
		panic(abort{})
	}
}

// Panics calls f and returns the value that it panicked with, nil if it did not.
func Panics(f func()) (value any) {
	defer func() {
		if value = recover(); value == any(abort{}) {
			panic(value)
		}
	}()
	f()
	return nil
}

// Choose returns a number from 0 to n-1: each of them in some execution. n is at most 255.
//
//go:norace
func Choose(n int) int {
	if n < 1 || n > 255 {
		panic(fmt.Sprintf("interleave: a choice of %d values", n))
	}
	x := current
	switch {
	case x == nil || x.quiet:
		return 0
	case x.chooses != nil && !x.running.unwinding:
		return x.chooses(n)
	case !x.stepTo(op{kind: opChoose, n: uint8(n)}):
		return 0
	}
	if x.tracing {
		x.say(nil, fmt.Sprintf("chooses %d of %d", x.exec.value, n))
	}
	return int(x.exec.value)
}

// Chance implements [model.Explorer].
//
//go:norace
func (x explorer) Chance(p float64) bool {
	if x.sim != nil {
		return x.sim.rng.Float64() < p
	}
	return Choose(2) == 1
}

// Yield implements [model.Explorer].
//
//go:norace
func (x explorer) Yield() {
	switch {
	case x.quiet:
		runtime.Gosched()
	case x.sim != nil:
		x.pause(x.sim.m.Yield)
	case x.stepTo(op{kind: opYield}):
		x.running.yielded, x.running.nseen = x.running.nseen, 0
		if x.tracing {
			x.say(nil, "Yield()")
		}
	}
}

// Cede implements [model.Explorer].
//
//go:norace
func (x explorer) Cede() {
	switch {
	case x.quiet:
		runtime.Gosched()
	case x.sim == nil && x.stepTo(op{kind: opCede}) && x.tracing:
		x.say(nil, "Cede()")
	}
}

// Invoke and Respond mark where a thread calls an operation and where it returns, for a check of
// the history: the order of any Invoke and any Respond is explored. They return the time, counted
// in steps.
//
//go:norace
func (x *Run) Invoke() int64 { return x.mark(opInvoke, "calls") }

// Respond marks the return of an operation.
//
//go:norace
func (x *Run) Respond() int64 { return x.mark(opRespond, "returns") }

//go:norace
func (x *Run) mark(k kind, what string) int64 {
	if !x.quiet && x.step(&x.history, k) && x.tracing {
		x.say(nil, what)
	}
	return int64(x.steps)
}

// Running returns the number of the thread that runs, or made the latest step.
//
//go:norace
func (x *Run) Running() int { return x.running.id }
