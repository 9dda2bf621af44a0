package observe

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/internal/waiting"
)

// stampPeriod is how often waits and holds that last are marked, so that they are measured though
// no clock was read when they began.
const stampPeriod = 100 * time.Millisecond

// A monitor looks at the observed locks from time to time, while something is observed: [Watch],
// [All] and [Read] start it, and it ends when there is nothing to look at. It has a timer and no
// goroutine, so that no test of others finds a goroutine too many. It calls nothing of the user's:
// see [listener].
//
// In a testing/synctest bubble nothing starts it. It would belong to the bubble, which could not
// end. A bubble finds itself that all of its goroutines are blocked.
type monitor struct {
	config atomic.Pointer[Config]
	looks  atomic.Int64 // how many there were, for tests

	looking sync.Mutex
	sight   sight // guarded by looking

	mu    sync.Mutex // guards the rest
	timer *time.Timer
	runs  bool      // the timer is set, or turn runs
	turns bool      // turn runs
	rush  bool      // there is to be a look at once
	asked uint64    // how often start was called
	next  time.Time // of the next look
}

var watchdog = newMonitor()

func newMonitor() *monitor {
	m := &monitor{}
	var c Config
	c.setDefaults()
	m.config.Store(&c)
	return m
}

// start makes sure that the monitor runs if something is observed.
func (m *monitor) start() {
	if waiting.InBubble() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.runs {
		return
	}
	m.runs = true
	if m.timer == nil {
		m.timer = time.AfterFunc(0, m.turn)
	} else {
		m.timer.Reset(0)
	}
}

func init() { records.Look = watchdog.settle }

// settle has what is there looked at twice, as a deadlock has to be, and reported. It needs no
// goroutine, so it may be called in a bubble.
func (m *monitor) settle() {
	for range 2 {
		m.look(m.config.Load())
	}
}

// look looks once, and reports whether there is anything to look at.
func (m *monitor) look(c *Config) bool {
	m.looking.Lock()
	defer m.looking.Unlock()
	nestings := records.TakeNestings() // first, so that the snapshot has their locks
	now := readLocks()
	takeLeaks()
	past.add(now)
	if len(now.Locks) == 0 && !agents.Executes() && observed.Everything() == observed.Off {
		m.sight = sight{}
		return false
	}
	m.sight.look(now, nestings, c)
	past.add(now)
	m.looks.Add(1)
	return true
}

// hurry ends the pause of the monitor.
func (m *monitor) hurry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs {
		m.rush = true
		m.timer.Reset(0)
	}
}

// turn marks what lasts, looks if it is time to, and sets the timer again if there is anything to
// look at.
func (m *monitor) turn() {
	m.mu.Lock()
	if m.turns || !m.runs { // The turn that runs, or was the last, has seen the rush.
		m.mu.Unlock()
		return
	}
	m.turns = true
	asked, due := m.asked, m.rush || !time.Now().Before(m.next)
	m.rush = false
	m.mu.Unlock()

	c := m.config.Load()
	records.Stamp()
	some, begin, end := true, time.Now(), time.Time{}
	if due {
		some = m.look(c)
		end = time.Now()
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = false
	if due {
		m.next = begin.Add(max(c.Period, 20*end.Sub(begin)))
	}
	switch {
	case !some && m.asked == asked: // and nobody has asked for it meanwhile
		m.runs, m.next = false, time.Time{}
	case m.rush:
		m.timer.Reset(0)
	default:
		m.timer.Reset(min(stampPeriod, c.Period))
	}
}

// A sight is what the monitor remembers from one look to the next.
type sight struct {
	before   *Snapshot
	detector detector
	suspect  suspect
	dead     map[uint64]bool // the locks of deadlocks that have been reported and last
}

// look reports what a snapshot shows that the last ones did not, and what the locks had reported
// before it was taken.
func (s *sight) look(now *Snapshot, nestings []records.Nesting, c *Config) {
	patience := c.LongWait
	if patience < 0 {
		patience = never
	}
	certain, possible := s.detector.next(now, patience)
	s.forgetDead(now)
	for _, d := range certain {
		reports.deadlocks.report(d)
		for i := range d.Waits {
			s.dead[d.Waits[i].LockID] = true
		}
	}
	for _, d := range possible {
		reports.suspicions.report(d.suspicion())
	}
	if s.before == nil {
		s.before = now
	}
	for _, x := range s.suspect.next(s.before, now, nestings, c) {
		if !s.repeats(&x) {
			reports.suspicions.report(x)
		}
	}
	s.before = now
}

// forgetDead forgets the locks for which nobody waits any more: their deadlock has ended.
func (s *sight) forgetDead(now *Snapshot) {
	last := s.dead
	s.dead = map[uint64]bool{}
	for i := range now.Locks {
		if l := &now.Locks[i]; last[l.ID] && len(l.Waiters) > 0 {
			s.dead[l.ID] = true
		}
	}
}

// repeats reports whether x says only what the report of a deadlock has said already: that its
// locks are waited for and held for long, or were taken in both orders.
func (s *sight) repeats(x *Suspicion) bool {
	switch x.Why {
	case LongWait, LongHold:
		return s.dead[x.LockID]
	case Inversion:
		return s.dead[x.LockID] && s.dead[x.inner]
	default:
		return false
	}
}

const never = 1<<63 - 1

// takeLeaks reports the leaks that are new.
func takeLeaks() {
	found, dropped := records.TakeLeaks()
	for i := range found {
		l := &found[i]
		name := l.Lock
		if name == "" {
			name = place(l.Place)
		}
		reports.leaks.report(Leak{
			At: records.Wall(l.At), LockID: l.LockID, Lock: name, Kind: l.What, Permits: l.Permits,
			Agent: agentOf(&l.Agent), Since: records.Wall(l.Since), Stack: l.Stack.PCs(), Returned: l.Returned,
			Size: l.Size, Owned: l.Owned,
		})
	}
	reports.leaks.drop(dropped)
}

// suspicion returns the suspicion that d is one.
func (d *Deadlock) suspicion() Suspicion {
	first := &d.Waits[0]
	s := Suspicion{
		At: d.At, Why: Unreleased, LockID: first.LockID, Lock: first.Lock,
		Text: "wait for each other, unless others release what these have acquired: ",
	}
	for i := range d.Waits {
		if i == maxStacks/2 {
			s.Text += ", …"
			break
		}
		if i > 0 {
			s.Text += ", "
		}
		w := &d.Waits[i]
		s.Text += w.Waiter.Agent.String() + " for " + lockName(w.LockID, w.Lock, w.Kind)
		s.Stacks = append(s.Stacks, w.Waiter.Stack)
		if len(w.Holders) > 0 {
			s.Stacks = append(s.Stacks, w.Holders[0].Stack)
		}
	}
	return s
}
