package interleave

import (
	"math"
	"math/rand/v2"
)

// A Simulated is what a simulation has come to.
type Simulated struct {
	Elapsed   int64 // virtual time until the last thread ended
	Near, Far int64 // transfers of lines, from the same socket and from others
	Queued    int64 // how long threads have waited for their turn at a line, in sum
	Sleeps    int64 // waits that ended with a wake
	Steps     int
	Failure   *Failure // nil: none
}

// Simulate runs body once, in virtual time: each thread on a core of its own, whose clock goes on
// by what the operations cost on machine m. It is always the thread with the least time that goes
// on. The same body and machine give the same result.
//
// There are as many cores as threads, 256 at most. Of the scheduler of goroutines one thing is
// simulated: a thread that falls asleep leaves its core to the thread it has woken last, if that
// has not found one before ([Machine].Pinned: not even that). Timeouts never pass.
func Simulate(m Machine, body func(x *Run)) Simulated {
	if current != nil {
		panic(errNested)
	}
	x := newRun(Options{MaxSteps: math.MaxInt})
	defer x.close()
	s := &simulation{
		m:     m,
		rng:   rand.New(rand.NewPCG(m.Seed, 2)),
		lines: make([]*line, 1, 64),
		laid:  map[*object]*line{},
	}
	x.sim = s
	x.execute(s, body)
	s.result.Steps, s.result.Failure = x.steps, x.failure
	return s.result
}

// simulation is the scheduler of a simulation.
type simulation struct {
	free
	m      Machine
	rng    *rand.Rand
	cores  []core
	lines  []*line // by object
	laid   map[*object]*line
	before uint32 // the version of the object of the operation under way
	done   int64  // when that is over
	result Simulated
}

// A core is a thread in virtual time.
type core struct {
	home   int   // the core that it runs on
	woken  int   // the thread it has woken last, from 1; 0: none
	at     int64 // when its operation begins; while it runs, its time
	came   int64 // when it was first ready to begin: ties go to the first to come
	state  coreState
	served bool   // it is its turn at the line
	waking bool   // it has slept, and does not run yet
	spin   uint32 // counts waits in Yield
	period int64  // how long each look takes in this one
}

type coreState uint8

const (
	coreReady   coreState = iota
	coreQueued            // at a line
	coreBlocked           // until what it waits for is ready, or changes
	coreEnded
)

// pick is for searches.
func (*simulation) pick(*Run, threadSet) (int, uint8) { panic("interleave: a simulation has no sets") }

// next returns the next thread, or -1.
func (s *simulation) next(x *Run) int {
	s.account(x)
	for {
		t := s.earliest()
		if t < 0 {
			break
		}
		c := &s.cores[t]
		c.waking = false
		if s.begins(x.threads[t], c) {
			s.run(x, x.threads[t], c)
			return t
		}
	}
	for _, t := range x.threads {
		if t.live {
			message, class := x.blocked()
			x.fail(Deadlock, message, class)
			return -1
		}
	}
	x.end = endComplete
	return -1
}

// account takes note of new threads, of the next operation of the one that has run, or of its end.
func (s *simulation) account(x *Run) {
	var now int64
	if x.running != nil {
		t := x.running
		c := &s.cores[t.id]
		now = c.at
		if t.live {
			s.issue(t, c)
		} else {
			c.state = coreEnded
			s.result.Elapsed = max(s.result.Elapsed, now)
			for i := range s.cores {
				if o := &x.threads[i].op; s.cores[i].state == coreBlocked && o.kind == opJoin && o.target == t {
					s.cores[i].state, s.cores[i].at = coreReady, max(s.cores[i].at, now)
				}
			}
		}
	}
	for len(s.cores) < len(x.threads) {
		s.cores = append(s.cores, core{home: len(s.cores), at: now, came: now})
	}
}

// issue takes note of t's next operation.
func (s *simulation) issue(t *thread, c *core) {
	c.came, c.state, c.served = c.at, coreReady, false
	if t.op.kind != opYield {
		return
	}
	if t.changed() {
		c.at += c.period
		return
	}
	c.state = coreBlocked
	c.spin++
	for i := max(0, t.nseen-seenSize); i < t.nseen; i++ {
		l := s.line(t.seen[i%seenSize].o)
		l.waits = append(l.waits, spinner{t.id, c.spin})
	}
}

// earliest returns the core that is ready first, or -1.
func (s *simulation) earliest() int {
	best := -1
	for i := range s.cores {
		c := &s.cores[i]
		if c.state != coreReady {
			continue
		}
		if best >= 0 {
			if b := &s.cores[best]; c.at > b.at || c.at == b.at && c.came >= b.came {
				continue
			}
		}
		best = i
	}
	return best
}

// begins reports whether t can do its operation now. If not it has to wait.
func (s *simulation) begins(t *thread, c *core) bool {
	o := &t.op
	if o.kind != opYield && !t.enabled() { // perhaps another was quicker
		c.state = coreBlocked
		if c.served {
			c.served = false
			s.leave(s.line(o.o))
		}
		if o.kind != opLock && o.kind != opJoin {
			s.handOver(c)
		}
		return false
	}
	if write, ok := o.accesses(); ok && !c.served {
		if l := s.line(o.o); !l.has(c.home, write) && (l.free > c.at || len(l.queue) > 0) {
			c.state = coreQueued
			l.queue = append(l.queue, t.id)
			if len(l.queue) == 1 {
				s.serve(l)
			}
			return false
		}
	}
	return true
}

// handOver makes the thread that c has woken last go on in c's place, which falls asleep now, if it
// is still to wait longer than that.
func (s *simulation) handOver(c *core) {
	if c.woken == 0 || s.m.Pinned {
		return
	}
	w := &s.cores[c.woken-1]
	c.woken = 0
	if soon := c.at + s.m.Sleep; w.waking && w.at > soon {
		w.at, w.home, c.home = soon, c.home, w.home
	}
}

// serve has the first in l's queue go on when l is free.
func (s *simulation) serve(l *line) {
	c := &s.cores[l.queue[0]]
	start := max(c.at, l.free)
	s.result.Queued += start - c.at
	c.at, c.state, c.served = start, coreReady, true
}

// leave takes the first out of l's queue.
func (s *simulation) leave(l *line) {
	l.queue = l.queue[:copy(l.queue, l.queue[1:])]
	if len(l.queue) > 0 {
		s.serve(l)
	}
}

// accesses reports whether o is an access to a line, and whether it takes the line.
func (o *op) accesses() (write, ok bool) {
	switch o.kind {
	case opRead, opReadBoth:
		return false, true
	case opWrite, opLock, opReceive, opTimed, opReceiveOr:
		return true, true
	default:
		return false, false
	}
}

// run charges for t's operation, which is done now.
func (s *simulation) run(x *Run, t *thread, c *core) {
	x.steps++
	x.exec, x.hasExec = t.op, true
	x.exec.value = 0
	write, ok := t.op.accesses()
	if !ok {
		return
	}
	o := t.op.o
	x.exec.ready, s.before = o.Ready, o.Version
	l := s.line(o)
	cost, from := l.access(&s.m, c.home, write, c.at)
	switch from {
	case 1:
		s.result.Near++
	case 2:
		s.result.Far++
	}
	c.at += cost
	s.done = c.at
	if c.served {
		s.leave(l)
	}
}

// executed resumes the threads that have waited for what has been done. The thread that has done it
// may have worked since.
func (s *simulation) executed(x *Run, o *op) {
	if _, ok := o.accesses(); !ok {
		return
	}
	if o.o.Version != s.before {
		l := s.line(o.o)
		for _, w := range l.waits {
			if c := &s.cores[w.core]; c.state == coreBlocked && c.spin == w.spin &&
				x.threads[w.core].op.kind == opYield {
				looks := max(1, (s.done-c.came+c.period-1)/c.period)
				c.at, c.state = c.came+looks*c.period, coreReady
			}
		}
		l.waits = l.waits[:0]
	}
	if o.o.Ready && !o.ready {
		s.rouse(x, o.o, &s.cores[o.thread])
	}
}

// rouse makes the thread go on that has waited longest for o to be ready.
func (s *simulation) rouse(x *Run, o *object, by *core) {
	first := -1
	for i := range s.cores {
		if p := &x.threads[i].op; s.cores[i].state == coreBlocked && p.o == o && p.kind != opYield &&
			(first < 0 || s.cores[i].came < s.cores[first].came) {
			first = i
		}
	}
	if first < 0 {
		return
	}
	c := &s.cores[first]
	c.state = coreReady
	if x.threads[first].op.kind == opLock && s.done-c.came <= s.m.MutexSpin {
		c.at = max(c.at, s.done)
		return
	}
	s.result.Sleeps++
	by.at += s.m.Notify
	by.woken, c.waking = first+1, true
	c.at = max(c.came+s.m.Sleep, s.done+s.m.Notify) + s.m.Wake
}

// line returns the line that o is on.
func (s *simulation) line(o *object) *line {
	for int(o.ID) >= len(s.lines) {
		s.lines = append(s.lines, nil)
	}
	l := s.lines[o.ID]
	if l == nil {
		if l = s.laid[o]; l == nil {
			l = new(line)
		}
		s.lines[o.ID] = l
	}
	return l
}

// What simulated bodies use.

// Now implements [model.Explorer].
//
//go:norace
func (x explorer) Now() int64 {
	switch {
	case x.sim != nil && !x.quiet:
		return x.sim.cores[x.running.id].at
	case x.clock != nil:
		return x.clock.Load()
	default:
		return 0
	}
}

// Work makes the running thread work for ns nanoseconds without touching anything shared.
func (x *Run) Work(ns int64) {
	if x.sim == nil || x.quiet {
		panic("interleave: work outside of a simulation's threads")
	}
	x.sim.cores[x.running.id].at += ns
}

// Jitter returns a random number from 0 to 2·ns, so that threads do not go in step.
func (x *Run) Jitter(ns int64) int64 { return x.sim.rng.Int64N(2*ns + 1) }

// Spin implements [model.Explorer].
func (x explorer) Spin(i int) bool {
	if x.sim == nil || x.quiet {
		return false
	}
	t := x.running
	switch c, m := &x.sim.cores[t.id], &x.sim.m; {
	case m.Spins >= 0:
		if i >= m.Spins {
			return false
		}
		c.at += m.SpinFor
	case i == 0: // it has not looked yet
		c.at += m.SpinFor
		t.nseen = 0
	default:
		return x.pause(m.SpinFor)
	}
	return true
}

// pause is a Yield of a simulated thread. It reports false if the thread is being unwound.
func (x *Run) pause(period int64) bool {
	t := x.running
	x.sim.cores[t.id].period = period
	if !x.stepTo(op{kind: opYield}) {
		return false
	}
	t.nseen = 0
	return true
}
