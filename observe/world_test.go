package observe

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A world is a model of locks and of the agents that use them. It knows the truth: which request is
// in which queue, and which permits are held. What observe would see of it are the records, which
// follow the truth in steps of their own: a goroutine can be preempted between a record and what is
// recorded.
type world struct {
	rnd    *rand.Rand
	locks  []*worldLock
	agents []*worldAgent
	ghosts []*worldHold // permits that were handed on; anybody may return them
	ids    uint64
	clock  time.Time
}

type worldLock struct {
	id         uint64
	owned, rw  bool
	size, free int64
	queue      []*worldWait // the truth: the first is served first
	holders    []*worldHold // the records
	waiters    []*worldWait
	released   uint64
	handed     uint64
	sites      map[uintptr]*Site
}

type worldHold struct {
	rec    uint64
	lock   *worldLock
	agent  *worldAgent // who acquired
	n      int64
	shared bool
	stack  uintptr
}

type worldWait struct {
	rec     uint64
	lock    *worldLock
	agent   *worldAgent
	n       int64
	shared  bool
	canEnd  bool
	future  bool
	queued  bool
	granted bool
	since   time.Time
	stack   uintptr
}

// What an agent does next.
type worldStep uint8

const (
	stepFree   worldStep = iota // what it likes
	stepTook                    // record what it took without a wait
	stepQueue                   // join the queue with what is recorded
	stepWait                    // go on when a wait has ended
	stepReturn                  // return what is no longer recorded
)

type worldAgent struct {
	id    Agent
	next  worldStep
	polls uint64
	waits []*worldWait
	holds []*worldHold
	gives *worldHold // at stepReturn
	took  *worldHold // at stepTook
}

func newWorld(rnd *rand.Rand, agents, locks int) *world {
	w := &world{rnd: rnd, clock: time.Unix(1e9, 0)}
	for range locks {
		l := &worldLock{id: w.newID(), size: 1, owned: true, sites: map[uintptr]*Site{}}
		switch rnd.IntN(3) {
		case 0:
			l.size, l.owned = int64(1+rnd.IntN(4)), false
		case 1:
			l.size, l.rw = 1000, true
		default:
		}
		l.free = l.size
		w.locks = append(w.locks, l)
	}
	for i := range agents {
		a := &worldAgent{id: Agent{Goroutine: uint64(100 + i)}}
		if rnd.IntN(3) == 0 {
			a.id = Agent{Goroutine: uint64(1 + rnd.IntN(2)), Task: uint64(100 + i)}
		}
		w.agents = append(w.agents, a)
	}
	return w
}

func (w *world) newID() uint64 {
	w.ids++
	return w.ids
}

// request returns a request of a for permits of l: a share if the lock is shared.
func (w *world) request(a *worldAgent, l *worldLock) *worldWait {
	q := &worldWait{lock: l, agent: a, n: l.size, stack: uintptr(1000*l.id + uint64(slices.Index(w.agents, a)))}
	if l.rw && w.rnd.IntN(2) == 0 {
		q.n, q.shared = 1, true
	} else if !l.rw {
		q.n = 1 + w.rnd.Int64N(l.size)
	}
	return q
}

// acquire begins a request: it takes the permits, or records a wait.
func (w *world) acquire(q *worldWait) {
	a, l := q.agent, q.lock
	if !q.future && l.free >= q.n && len(l.queue) == 0 && w.rnd.IntN(4) > 0 { // sometimes it comes just too late
		l.free -= q.n
		a.took, a.next = w.held(q), stepTook
		return
	}
	w.begin(q)
	a.waits = append(a.waits, q)
	a.next = stepQueue
}

func (w *world) begin(q *worldWait) {
	q.rec, q.since = w.newID(), w.clock
	q.lock.waiters = append(q.lock.waiters, q)
}

func (w *world) held(q *worldWait) *worldHold {
	return &worldHold{lock: q.lock, agent: q.agent, n: q.n, shared: q.shared, stack: q.stack}
}

func (w *world) record(h *worldHold) {
	h.rec = w.newID()
	h.lock.holders = append(h.lock.holders, h)
	h.agent.holds = append(h.agent.holds, h)
}

func (l *worldLock) serve() {
	for len(l.queue) > 0 && l.queue[0].n <= l.free {
		q := l.queue[0]
		l.queue = l.queue[1:]
		l.free -= q.n
		q.queued, q.granted = false, true
	}
}

func without[T comparable](all []T, x T) []T {
	i := slices.Index(all, x)
	return slices.Delete(all, i, i+1)
}

// forget removes the record of h before its permits are returned, by another agent if handed.
func (h *worldHold) forget(handed bool) {
	l := h.lock
	l.holders = without(l.holders, h)
	s := l.sites[h.stack]
	if s == nil {
		s = &Site{Stack: Stack{h.stack}}
		l.sites[h.stack] = s
	}
	s.Holds++
	if handed {
		s.Handed++
		l.handed++
	} else {
		l.released++
	}
}

func (h *worldHold) giveBack() {
	h.lock.free += h.n
	h.lock.serve()
}

// end takes a wait out of its queue and drops its record.
func (q *worldWait) end() {
	if q.queued {
		q.lock.queue = without(q.lock.queue, q)
		q.queued = false
		q.lock.serve()
	}
	q.lock.waiters = without(q.lock.waiters, q)
}

// handsOn reports whether what is acquired at a place is returned by another agent. A place does
// the one or the other, always.
func handsOn(l *worldLock, stack uintptr) bool { return !l.owned && stack%3 == 0 }

// step lets a take its next step, if it can.
func (w *world) step(a *worldAgent) bool {
	w.clock = w.clock.Add(time.Millisecond)
	switch a.next {
	case stepTook:
		w.record(a.took)
		w.handOn(a.took)
		a.took, a.next = nil, stepFree
	case stepQueue:
		for _, q := range a.waits {
			if !q.queued && !q.granted {
				q.queued = true
				q.lock.queue = append(q.lock.queue, q)
				q.lock.serve()
			}
		}
		a.next = stepWait
	case stepWait:
		i := slices.IndexFunc(a.waits, func(q *worldWait) bool { return q.granted })
		if i < 0 {
			i = slices.IndexFunc(a.waits, func(q *worldWait) bool { return q.canEnd && w.rnd.IntN(8) == 0 })
			if i < 0 {
				return false
			}
		}
		a.polls++
		won := a.waits[i]
		for _, q := range a.waits {
			granted := q.granted
			q.end()
			if !granted {
				continue
			}
			if q == won {
				h := w.held(q)
				w.record(h)
				w.handOn(h)
			} else {
				w.held(q).giveBack()
			}
		}
		a.waits, a.next = nil, stepFree
	case stepReturn:
		a.gives.giveBack()
		a.gives, a.next = nil, stepFree
	default:
		return false
	}
	return true
}

// handOn makes h a ghost if its place hands on.
func (w *world) handOn(h *worldHold) {
	if handsOn(h.lock, h.stack) {
		h.agent.holds = without(h.agent.holds, h)
		w.ghosts = append(w.ghosts, h)
	}
}

// release begins to return one of a's holds, or one that was handed on.
func (w *world) release(a *worldAgent, h *worldHold) {
	a.holds = without(a.holds, h)
	h.forget(false)
	a.gives, a.next = h, stepReturn
}

func (w *world) releaseGhost() {
	if len(w.ghosts) > 0 {
		h := w.ghosts[w.rnd.IntN(len(w.ghosts))]
		w.ghosts = without(w.ghosts, h)
		h.forget(true)
		h.giveBack()
	}
}

// snapshot copies the records. Between the locks, meanwhile is called.
func (w *world) snapshot(meanwhile func()) *Snapshot {
	s := &Snapshot{At: w.clock}
	for _, l := range w.locks {
		meanwhile()
		o := Lock{
			ID: l.id, Owned: l.owned, Size: l.size, Free: l.free, Held: l.size - l.free, Waiting: len(l.queue),
			Counts: Counts{Released: l.released, Handed: l.handed},
		}
		for _, h := range l.holders {
			o.Holders = append(o.Holders, Holder{
				ID: h.rec, Agent: h.agent.id, Permits: h.n, Shared: h.shared, Stack: Stack{h.stack},
			})
		}
		meanwhile()
		for _, q := range l.waiters {
			o.Waiters = append(o.Waiters, Waiter{
				ID: q.rec, Agent: q.agent.id, Permits: q.n, Shared: q.shared, CanEnd: q.canEnd, Since: q.since,
				Future: q.future, Granted: q.granted && q.future, Stack: Stack{q.stack},
			})
		}
		if !l.owned {
			for _, t := range l.sites {
				o.Sites = append(o.Sites, *t)
			}
		}
		s.Locks = append(s.Locks, o)
	}
	meanwhile()
	for _, a := range w.agents {
		if a.id.Task != 0 {
			t := Task{ID: a.id.Task, State: "running", Polls: a.polls}
			if a.next == stepWait {
				t.State, t.Locks = taskWaiting, len(a.waits)
			}
			s.Tasks = append(s.Tasks, t)
		}
	}
	return s
}

// hopeless returns the agents that wait and will for ever, whatever the others do: the oracle. It
// tries all orders in which the others may return what they hold. Acquiring more helps nobody.
func (w *world) hopeless() []*worldAgent {
	var stuck []*worldAgent
	for _, a := range w.agents {
		if len(a.waits) > 0 && !w.mayEnd(a) {
			stuck = append(stuck, a)
		}
	}
	return stuck
}

// A fate is a state of the search of mayEnd. Permits and agents are few enough for one number each.
type fate struct {
	returned uint64 // holds, by their index
	awake    uint64 // agents, by their index
}

// mayEnd searches all schedules for one in which the sleep of goal ends.
func (w *world) mayEnd(goal *worldAgent) bool {
	var holds []*worldHold
	for _, l := range w.locks { // the truth: recorded or not
		holds = append(holds, l.holders...)
	}
	owner := map[*worldHold]*worldAgent{}
	for _, a := range w.agents {
		for _, h := range a.holds {
			owner[h] = a
		}
		for _, h := range []*worldHold{a.took, a.gives} {
			if h != nil && !slices.Contains(holds, h) {
				holds = append(holds, h)
			}
		}
	}
	index := func(a *worldAgent) int { return slices.Index(w.agents, a) }
	start := fate{}
	for i, a := range w.agents {
		if a.next != stepWait && a.next != stepQueue || slices.ContainsFunc(a.waits, func(q *worldWait) bool {
			return q.canEnd || q.granted
		}) {
			start.awake |= 1 << i
		}
	}
	seen := map[fate]bool{}
	var search func(f fate) bool
	search = func(f fate) bool {
		if f.awake>>index(goal)&1 != 0 {
			return true
		}
		if seen[f] {
			return false
		}
		seen[f] = true
		for _, l := range w.locks {
			free := l.free
			for i, h := range holds {
				if h.lock == l && f.returned>>i&1 != 0 {
					free += h.n
				}
			}
			for _, q := range w.grantedOf(l) { // its agent is awake, and returns it
				free += q.n
			}
			for _, q := range w.next(l, func(a *worldAgent) bool { return f.awake>>index(a)&1 != 0 }) {
				if q.n <= free && search(fate{f.returned, f.awake | 1<<index(q.agent)}) {
					return true
				}
			}
		}
		for i, h := range holds {
			a := owner[h]
			if f.returned>>i&1 == 0 && (a == nil || f.awake>>index(a)&1 != 0) &&
				search(fate{f.returned | 1<<i, f.awake}) {
				return true
			}
		}
		return false
	}
	return search(start)
}

func (w *world) grantedOf(l *worldLock) (granted []*worldWait) {
	for _, a := range w.agents {
		for _, q := range a.waits {
			if q.granted && q.lock == l {
				granted = append(granted, q)
			}
		}
	}
	return granted
}

// next returns the requests that may be the next in the queue of l, after those of awake agents
// have left: the first in the queue. If there is none, any that is recorded and will join.
func (w *world) next(l *worldLock, awake func(*worldAgent) bool) (next []*worldWait) {
	for _, q := range l.queue {
		if !awake(q.agent) {
			return []*worldWait{q}
		}
	}
	for _, a := range w.agents {
		for _, q := range a.waits {
			if q.lock == l && !q.queued && !q.granted && !awake(a) {
				next = append(next, q)
			}
		}
	}
	return next
}
