package observe

import (
	"cmp"
	"slices"
	"time"
)

// A graph says who waits for whom. It is made of two snapshots: a wait or a hold that is in both
// has lasted from the end of the first to the beginning of the second. So there is a moment at
// which all of them existed together, and no cycle is put together from what was never there at
// once.
//
// The nodes are actors, who hold and wait, and lines, which are waited in. An actor that waits for
// permits has an edge to the line, and a line to each of its holders. An actor that waits although
// its permits are free has an edge to the one that stands before it.
//
// Invariants:
//
//  1. A permit counts as stuck only if its holder is known and stuck. Whatever else is not free may
//     be released at any time: unknown permits, approximate ones, those without a record.
//     (TestLegalHistories, TestUnknownHoldersMayRelease)
//  2. A hold's record ends before its permits are free, and begins after they were taken. So the
//     permits of a waiter that was granted, but has not run yet, count for no other holder, and the
//     wait is not stuck. (TestGrantedButNotYetRunning)
//  3. The records may have another order than the queue. So a wait is stuck behind another only if
//     the lock itself says that enough permits are free for it, that the recorded waits are queued
//     and no others, and none has come or gone. Then one that needs more than is free is the first
//     in the queue, and all of these have to be stuck. (TestOrderOfRecordsProvesNothing)
//  4. An actor is stuck if it sleeps and each of its waits is stuck. A future puts nobody to sleep
//     but a task that waits for nothing else. (TestSelectIsStuckOnlyIfAllAre)
type graph struct {
	now    *Snapshot
	actors []*actor // in the order in which they were found
	lines  []*line
	known  map[who]*actor
}

// who identifies an agent.
type who struct{ task, goroutine uint64 }

// of returns the identity of a, and whether there is one. A task may run on any goroutine.
func (a *Agent) who() (who, bool) {
	if a.Task != 0 {
		return who{task: a.Task}, true
	}
	return who{goroutine: a.Goroutine}, a.Goroutine != 0
}

// An actor is an agent that waits.
type actor struct {
	node  node
	waits []*wait // those that its sleep ends with: see sleeps
	holds []*hold
	cause []*wait // waits that have lasted, of which sleeps chooses
	awake bool    // something else may end its sleep
	stuck bool
}

// A line is a lock, or one key of a keyed lock.
type line struct {
	node   node
	lock   *Lock
	key    string
	size   int64
	free   int64 // in both snapshots, as the lock said; -1: that proves nothing
	waits  []*wait
	holds  []*hold
	unsure int64 // permits that may have a stuck holder, which nobody knows
	large  int   // how many recorded waits need more than is free

	held  int64 // permits of stuck actors
	dirty bool  // to be looked at again
}

// A wait is one that has lasted from the first snapshot to the second.
type wait struct {
	*Waiter
	line  *line
	actor *actor
	ahead *wait // the stuck wait ahead of it in the line, if it is stuck for that reason
}

// A hold is one that has lasted from the first snapshot to the second.
type hold struct {
	*Holder
	line  *line
	actor *actor
	trust trust
}

// A trust says how certain it is that who holds is who will release.
type trust uint8

const (
	trustNone     trust = iota // another will release, as far as anybody can know
	trustPossible              // it may be so
	trustCertain
)

// trusted returns how certain it is that h belongs to its agent. self says that the agent waits for
// the same lock again, loop that it has been at the same place before.
//
// Our locks belong to nobody. Those that are Owned are released by who acquired them until the
// contrary was seen. An agent that waits for what it holds may wait for one to which it was handed:
// then it must have been seen at all. A semaphore's permits are often acquired by a dispatcher, and
// released by the goroutines that it starts. So each place has to have shown that what it acquires
// is not handed on. And an agent that has come back for more to the place where it got the first is
// taken for a dispatcher.
func trusted(l *Lock, h *Holder, self, loop bool) trust {
	handed := l.Counts.Handed > 0
	if l.Owned && self && l.Counts.Released == 0 {
		return trustPossible
	}
	if !l.Owned {
		if loop || handed && l.Counts.Released == 0 {
			return trustNone
		}
		i := slices.IndexFunc(l.Sites, func(s Site) bool { return slices.Equal(s.Stack, h.Stack) })
		if i < 0 || l.Sites[i].Holds == 0 || l.Sites[i].Handed > 0 {
			return trustPossible
		}
	}
	if h.Approximate || handed {
		return trustPossible
	}
	return trustCertain
}

// newGraph returns the graph of what has lasted from before to now.
func newGraph(before, now *Snapshot) *graph {
	g := &graph{now: now, known: map[who]*actor{}}
	old := make(map[uint64]*Lock, len(before.Locks))
	for i := range before.Locks {
		old[before.Locks[i].ID] = &before.Locks[i]
	}
	tasks := sleepingTasks(before, now)
	for i := range now.Locks {
		if l := &now.Locks[i]; len(l.Waiters) > 0 {
			g.addWaits(old[l.ID], l)
		}
	}
	for _, a := range g.actors {
		a.sleeps(tasks)
	}
	for _, l := range g.lines {
		l.waits = slices.DeleteFunc(l.waits, func(w *wait) bool { return !slices.Contains(w.actor.waits, w) })
		for i := range l.lock.Waiters {
			if w := &l.lock.Waiters[i]; w.Key == l.key && !w.Granted && w.Permits > l.free {
				l.large++
			}
		}
		l.addHolds(g, old[l.lock.ID])
	}
	return g
}

// sleepingTasks returns, of the tasks that have waited from before to now, and for locks alone, the
// number of these.
func sleepingTasks(before, now *Snapshot) map[uint64]int {
	polls := map[uint64]uint64{}
	for i := range before.Tasks {
		if t := &before.Tasks[i]; t.State == taskWaiting && t.Locks > 0 {
			polls[t.ID] = t.Polls
		}
	}
	locks := map[uint64]int{}
	for i := range now.Tasks {
		t := &now.Tasks[i]
		if n, ok := polls[t.ID]; ok && n == t.Polls && t.State == taskWaiting {
			locks[t.ID] = t.Locks
		}
	}
	return locks
}

// The states of a [Task].
const (
	taskWaiting = "waiting"
	taskQueued  = "queued"
)

func (g *graph) addWaits(old, l *Lock) {
	lasting := map[uint64]bool{}
	if old != nil {
		for i := range old.Waiters {
			lasting[old.Waiters[i].ID] = true
		}
	}
	lines := map[string]*line{}
	for i := range l.Waiters {
		w := &l.Waiters[i]
		id, ok := w.Agent.who()
		if !ok {
			continue
		}
		a := g.known[id]
		if a == nil {
			a = &actor{}
			g.known[id] = a
			g.actors = append(g.actors, a)
		}
		if !lasting[w.ID] || w.CanEnd || w.Granted || w.Permits <= 0 {
			a.awake = a.awake || !w.Future || w.Agent.Task != 0
			continue
		}
		n := lines[w.Key]
		if n == nil {
			n = newLine(old, l, w.Key)
			lines[w.Key] = n
			g.lines = append(g.lines, n)
		}
		n.waits = append(n.waits, &wait{Waiter: w, line: n, actor: a})
		a.cause = append(a.cause, n.waits[len(n.waits)-1])
	}
}

func newLine(old, l *Lock, key string) *line {
	n := &line{lock: l, key: key, size: max(old.Size, l.Size), free: -1}
	before, now := old.ofKey(key), l.ofKey(key)
	n.unsure = min(before.Unknown, now.Unknown)
	if sameQueue(old, l, &before, &now) {
		n.free = min(before.Free, now.Free)
	}
	return n
}

// ofKey returns the numbers of a key, or of the lock if the key is empty. Of a key that it does not
// know the queue has any length.
func (l *Lock) ofKey(key string) Key {
	if i := slices.IndexFunc(l.Keys, func(k Key) bool { return k.Key == key }); i >= 0 {
		return l.Keys[i]
	}
	if key == "" {
		return Key{Free: l.Free, Waiting: l.Waiting, Unknown: l.Unknown}
	}
	return Key{Key: key, Waiting: -1}
}

// sameQueue reports whether the recorded waits of a lock, or of one of its keys, are the same in
// two snapshots, and the queue has them and no others.
func sameQueue(old, l *Lock, before, now *Key) bool {
	queued := func(l *Lock) (ids []uint64) {
		for i := range l.Waiters {
			if w := &l.Waiters[i]; w.Key == now.Key && !w.Granted { // a future that is granted has left
				ids = append(ids, w.ID)
			}
		}
		return ids
	}
	ids := queued(l)
	return before.Waiting == len(ids) && now.Waiting == len(ids) && slices.Equal(queued(old), ids)
}

// sleeps finds the waits of which one has to end before a goes on, and queues them in their lines.
// A wait that puts the goroutine to sleep comes before all futures. An actor without such waits,
// or which something else may wake, has none.
func (a *actor) sleeps(tasks map[uint64]int) {
	if a.awake {
		return
	}
	futures := 0
	for _, w := range a.cause {
		if w.Future {
			futures++
		} else {
			a.waits = append(a.waits, w)
		}
	}
	if len(a.waits) == 0 && futures > 0 {
		// It waits for as many as the task says, or fewer: then all are more than enough.
		if n := tasks[a.cause[0].Agent.Task]; n > 0 && n <= futures {
			a.waits = a.cause
		}
	}
}

// addHolds lists the holds of actors that have lasted since old.
func (l *line) addHolds(g *graph, old *Lock) {
	lasting := map[uint64]bool{}
	for i := range old.Holders {
		lasting[old.Holders[i].ID] = true
	}
	type place struct {
		*actor
		stack uint64
	}
	times := map[place]int{}
	self := map[*actor]bool{}
	for i := range l.lock.Holders {
		h := &l.lock.Holders[i]
		if h.Key != l.key || !lasting[h.ID] {
			continue
		}
		id, ok := h.Agent.who()
		if !ok {
			continue
		}
		if a := g.known[id]; a != nil && len(a.waits) > 0 {
			l.holds = append(l.holds, &hold{Holder: h, line: l, actor: a})
			a.holds = append(a.holds, l.holds[len(l.holds)-1])
			times[place{a, h.Stack.hash()}]++
		}
	}
	for _, w := range l.waits {
		times[place{w.actor, w.Stack.hash()}]++
		self[w.actor] = true
	}
	for _, h := range l.holds {
		loop := len(h.Stack) > 0 && times[place{h.actor, h.Stack.hash()}] > 1
		h.trust = trusted(l.lock, h.Holder, self[h.actor], loop)
	}
}

// hash returns a number for the stack. Stacks that are taken for equal by mistake are taken for a
// dispatcher's, and give no report.
func (s Stack) hash() uint64 {
	h := uint64(14695981039346656037) // FNV-1a, by words
	for _, pc := range s {
		h = (h ^ uint64(pc)) * 1099511628211
	}
	return h
}

// deadlocks returns the deadlocks for holds of at least the given trust: each knot of actors that
// would be stuck if there were no others. Those that wait for a knot from outside are left out.
func (g *graph) deadlocks(least trust) []Deadlock {
	stuck := stuckOf(g.actors, least)
	knots := knots(stuck, least)
	wake(stuck)
	var found []Deadlock
	for _, k := range knots {
		if core := stuckOf(k, least); len(core) > 0 {
			found = append(found, g.report(core, least))
			wake(core)
		}
	}
	return found
}

func wake(actors []*actor) {
	for _, a := range actors {
		a.stuck = false
	}
}

// stuckOf returns those of the actors that are stuck if all others are not, and marks them: the
// greatest set in which each wait can end only after another. No actor is marked before.
func stuckOf(actors []*actor, least trust) []*actor {
	for _, a := range actors {
		a.stuck = len(a.waits) > 0
	}
	var dirty []*line
	mark := func(l *line) {
		if !l.dirty {
			l.dirty = true
			dirty = append(dirty, l)
		}
	}
	for _, a := range actors {
		for _, w := range a.waits {
			mark(w.line)
		}
	}
	for _, l := range dirty {
		l.held = 0
		if least == trustPossible {
			l.held = l.unsure
		}
		for _, h := range l.holds {
			if h.trust >= least && h.actor.stuck {
				l.held += h.Permits
			}
		}
	}
	for len(dirty) > 0 { // Each turn but the first of each line follows the end of an actor.
		l := dirty[len(dirty)-1]
		dirty = dirty[:len(dirty)-1]
		l.dirty = false
		ahead := l.first(least)
		for _, w := range l.waits {
			if !w.actor.stuck {
				continue
			}
			if l.mayServe(w, ahead, least) {
				w.actor.stuck = false
				for _, h := range w.actor.holds {
					if h.trust >= least {
						h.line.held -= h.Permits
						mark(h.line)
					}
				}
				for _, o := range w.actor.waits {
					mark(o.line)
				}
			} else if ahead == nil && least == trustPossible {
				ahead = w
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(actors), func(a *actor) bool { return !a.stuck })
}

// first returns the oldest of the waits that need more than is free, if all of them are stuck: one
// of them is the first in the queue.
func (l *line) first(least trust) (first *wait) {
	if l.free < 0 || least == trustPossible {
		return nil
	}
	n := 0
	for _, w := range l.waits {
		if w.actor.stuck && w.Permits > l.free {
			if n++; first == nil {
				first = w
			}
		}
	}
	if n < l.large {
		return nil
	}
	return first
}

// mayServe reports whether w may get its permits, where ahead is a stuck wait that is before it if
// it needs no more than is free; or nil. It sets w.ahead.
//
// For possible deadlocks, ahead is the oldest stuck wait that was recorded before w.
func (l *line) mayServe(w, ahead *wait, least trust) bool {
	w.ahead = nil
	if l.held <= 0 || w.Permits > l.size { // a resize would help
		return true
	}
	if w.Permits > l.size-l.held {
		return false
	}
	// A goroutine that is not stuck may release all that w needs. Will the line let it through?
	if ahead == nil || least == trustCertain && w.Permits > l.free {
		return true
	}
	w.ahead = ahead
	return false
}

// What a report shows of a deadlock, the oldest first.
const (
	maxBlocked = 1000
	maxHolders = 100 // of each wait
)

// report returns the knot of stuck actors, the oldest wait first.
func (g *graph) report(core []*actor, least trust) Deadlock {
	d := Deadlock{At: g.now.At}
	holders := map[*line][]Holder{}
	for _, a := range core {
		for _, w := range a.waits {
			of, ok := holders[w.line]
			if !ok {
				for _, h := range w.line.holds {
					if h.trust >= least && h.actor.stuck && len(of) < maxHolders {
						of = append(of, *h.Holder)
					}
				}
				holders[w.line] = of
			}
			l := w.line.lock
			d.Waits = append(d.Waits, Blocked{LockID: l.ID, Lock: l.Name, Kind: l.Kind, Waiter: *w.Waiter, Holders: of})
		}
	}
	slices.SortFunc(d.Waits, func(a, b Blocked) int {
		return cmp.Or(a.Waiter.Since.Compare(b.Waiter.Since), cmp.Compare(a.Waiter.ID, b.Waiter.ID))
	})
	return d
}

// youngest returns when the wait began that completed the deadlock.
func (d *Deadlock) youngest() (t time.Time) {
	for i := range d.Waits {
		if s := d.Waits[i].Waiter.Since; s.After(t) {
			t = s
		}
	}
	return t
}

// A detector finds deadlocks in consecutive snapshots, and each once.
type detector struct {
	before   *Snapshot
	reported map[uint64]trust // the waits of reported deadlocks: how they were reported
}

// next returns the deadlocks that stand in now and in the last snapshot, and what looks like one
// and has lasted for patience.
func (d *detector) next(now *Snapshot, patience time.Duration) (certain, possible []Deadlock) {
	before := d.before
	d.before = now
	if before == nil {
		return nil, nil
	}
	d.forget(now)
	g := newGraph(before, now)
	for _, c := range g.deadlocks(trustCertain) {
		if d.news(&c, trustCertain) {
			c.Waits = c.Waits[:min(len(c.Waits), maxBlocked)]
			certain = append(certain, c)
		}
	}
	for _, c := range g.deadlocks(trustPossible) {
		if age(now, c.youngest()) >= patience && d.news(&c, trustPossible) {
			c.Waits = c.Waits[:min(len(c.Waits), maxBlocked)]
			possible = append(possible, c)
		}
	}
	return certain, possible
}

// news reports whether no wait of c was part of a report as certain. A knot that has grown is the
// same knot.
func (d *detector) news(c *Deadlock, as trust) bool {
	for i := range c.Waits {
		if d.reported[c.Waits[i].Waiter.ID] >= as {
			return false
		}
	}
	for i := range c.Waits {
		d.reported[c.Waits[i].Waiter.ID] = as
	}
	return true
}

// forget drops the waits that have ended.
func (d *detector) forget(now *Snapshot) {
	old := d.reported
	d.reported = map[uint64]trust{}
	if len(old) == 0 {
		return
	}
	for i := range now.Locks {
		for _, w := range now.Locks[i].Waiters {
			if t, ok := old[w.ID]; ok {
				d.reported[w.ID] = t
			}
		}
	}
}
