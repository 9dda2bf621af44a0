package observe

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/farad-go/farad/internal/observed/records"
)

// A lockOrder remembers which locks were waited for while which were held. It finds two that were
// taken in both orders: two agents that do so at the same time wait for each other for ever.
//
// It learns from what the locks report of each acquire at [LevelHolders], and from the waits in
// each snapshot. Tries do not count: they never wait. A pair is reported once. It is no inversion
//
//   - if the same agent took both orders, which cannot wait for itself so;
//   - if both held a third lock that lets only one of them in at a time, a gate;
//   - if one of the two locks lets both in: readers, or permits enough;
//   - if each took both at one instant, as a Lock of package keyed does.
//
// An agent that takes both at one instant takes them in both orders: it may get either first.
//
// The memory is bounded: the pairs that were seen first are forgotten.
type lockOrder struct {
	pairs    map[pair][]nesting
	known    []pair // those in pairs, the first seen first
	reported map[pair]bool
}

// The most pairs, and ways in which each was seen.
const (
	maxPairs    = 1 << 12
	maxNestings = 4
)

// A pair are two locks, the second of which was waited for while the first was held.
type pair struct{ held, wanted lockKey }

// A lockKey is a lock, or one key of a keyed lock.
type lockKey struct {
	id  uint64
	key string
}

// A nesting is how a pair was seen.
type nesting struct {
	agent        who
	held, wanted grip
	gates        []grip // what else was held
	together     bool   // both were asked for at one instant
}

// A grip is what an agent has of a lock, or wants.
type grip struct {
	lockKey
	n, size int64
	name    string
	stack   Stack
}

// excludes reports whether a and b are of one lock, and too much to be had at a time.
func (a *grip) excludes(b *grip) bool {
	return a.lockKey == b.lockKey && a.n+b.n > a.size
}

// like reports whether b says nothing that a does not say.
func (a *nesting) like(b nesting) bool {
	same := func(x, y grip) bool { return x.lockKey == y.lockKey && x.n == y.n }
	return a.agent == b.agent && a.together == b.together && same(a.held, b.held) && same(a.wanted, b.wanted) &&
		slices.EqualFunc(a.gates, b.gates, same)
}

// inverts reports whether two agents that do a and b at the same time may wait for each other.
func (a *nesting) inverts(b *nesting) bool {
	gated := slices.ContainsFunc(a.gates, func(x grip) bool {
		return slices.ContainsFunc(b.gates, func(y grip) bool { return x.excludes(&y) })
	})
	return a.agent != b.agent && a.held.excludes(&b.wanted) && a.wanted.excludes(&b.held) && !gated &&
		(!a.together || !b.together)
}

// look adds what a snapshot shows, and what the locks have reported since the last one, and returns
// the inversions that are new.
func (o *lockOrder) look(now *Snapshot, nestings []records.Nesting) (found []Suspicion) {
	add := func(n nesting) {
		s, ok := o.add(n)
		if !ok && n.together {
			n.held, n.wanted = n.wanted, n.held
			s, ok = o.add(n)
		}
		if ok {
			s.At = now.At
			found = append(found, s)
		}
	}
	o.fromNestings(now, nestings, add)
	o.fromWaits(now, add)
	slices.SortFunc(found, func(a, b Suspicion) int { return cmp.Compare(a.LockID, b.LockID) })
	return found
}

// fromNestings adds what has been acquired while something else was held.
func (o *lockOrder) fromNestings(now *Snapshot, nestings []records.Nesting, add func(nesting)) {
	if len(nestings) == 0 {
		return
	}
	locks := make(map[uint64]*Lock, len(now.Locks))
	for i := range now.Locks {
		locks[now.Locks[i].ID] = &now.Locks[i]
	}
	for i := range nestings {
		t := &nestings[i]
		held, wanted := locks[t.Held.LockID], locks[t.Wanted.LockID]
		if held == nil || wanted == nil || tried(t.Wanted.Stack.PCs()) || !sure(held, t.Held.Stack.PCs()) {
			continue
		}
		agent := agentOf(&t.Agent)
		id, ok := agent.who()
		if !ok {
			continue
		}
		n := nesting{
			agent: id, held: toldGrip(held, &t.Held), wanted: toldGrip(wanted, &t.Wanted), together: t.Together,
		}
		for k := range t.Gates {
			if l := locks[t.Gates[k].LockID]; l != nil {
				n.gates = append(n.gates, toldGrip(l, &t.Gates[k]))
			}
		}
		add(n)
	}
}

func toldGrip(l *Lock, g *records.Grip) grip {
	return newGrip(l, g.Key, g.Permits, g.Stack.PCs())
}

// sure reports whether what is acquired of l with a stack is held by who acquired it.
func sure(l *Lock, stack Stack) bool {
	return trusted(l, &Holder{Stack: stack}, false, false) == trustCertain
}

// tried reports whether a stack is that of a try, which never waits.
func tried(stack []uintptr) bool {
	for next := runtime.CallersFrames(stack); ; {
		f, more := next.Next()
		if !ours(f) {
			return false
		}
		if strings.HasPrefix(f.Function[strings.LastIndexByte(f.Function, '.')+1:], "Try") {
			return true
		}
		if !more {
			return false
		}
	}
}

// fromWaits adds agents that wait while they hold something.
func (o *lockOrder) fromWaits(now *Snapshot, add func(nesting)) {
	type seen struct {
		grip
		since time.Time
		sure  bool
		call  uint64
	}
	wants := map[who][]seen{}
	for l, w := range waiters(now) {
		// A hold that the snapshot has lasted at least until it was begun. So a hold that is older
		// than a wait was there when the wait began, if the wait is older than the snapshot.
		if id, ok := w.Agent.who(); ok && l.Size > 0 && !w.Granted && w.Since.Before(now.At) {
			wants[id] = append(wants[id], seen{newGrip(l, w.Key, w.Permits, w.Stack), w.Since, true, w.call})
		}
	}
	if len(wants) == 0 {
		return
	}
	haves := map[who][]seen{}
	for i := range now.Locks {
		l := &now.Locks[i]
		for k := range l.Holders {
			h := &l.Holders[k]
			if id, ok := h.Agent.who(); ok && len(wants[id]) > 0 {
				haves[id] = append(haves[id], seen{
					newGrip(l, h.Key, h.Permits, h.Stack), h.Since, trusted(l, h, false, false) == trustCertain, h.call,
				})
			}
		}
	}
	for id, held := range haves {
		for _, w := range wants[id] {
			for i, h := range held {
				if !h.sure || !h.since.Before(w.since) {
					continue
				}
				n := nesting{agent: id, held: h.grip, wanted: w.grip, together: w.call != 0 && w.call == h.call}
				for k, g := range held {
					if k != i {
						n.gates = append(n.gates, g.grip)
					}
				}
				add(n)
			}
		}
	}
}

// waiters ranges over all waits of a snapshot.
func waiters(s *Snapshot) func(yield func(*Lock, *Waiter) bool) {
	return func(yield func(*Lock, *Waiter) bool) {
		for i := range s.Locks {
			l := &s.Locks[i]
			for k := range l.Waiters {
				if !yield(l, &l.Waiters[k]) {
					return
				}
			}
		}
	}
}

func newGrip(l *Lock, key string, n int64, stack Stack) grip {
	name := lockName(l.ID, l.Name, l.Kind)
	if key != "" {
		name += " (" + key + ")"
	}
	return grip{lockKey{l.ID, key}, n, l.Size, name, stack}
}

// add remembers n, and returns the inversion that it completes.
func (o *lockOrder) add(n nesting) (s Suspicion, ok bool) {
	p, back := pair{n.held.lockKey, n.wanted.lockKey}, pair{n.wanted.lockKey, n.held.lockKey}
	if p == back {
		return s, false
	}
	o.remember(p, n)
	if o.reported[p] || o.reported[back] {
		return s, false
	}
	for i := range o.pairs[back] {
		b := &o.pairs[back][i]
		if n.inverts(b) {
			o.reported[p] = true
			return Suspicion{
				Why: Inversion, LockID: n.held.id, Lock: n.held.name, inner: n.wanted.id,
				Text:   fmt.Sprintf("%s before %s, and the reverse elsewhere", n.held.name, n.wanted.name),
				Stacks: []Stack{n.held.stack, n.wanted.stack, b.held.stack, b.wanted.stack},
			}, true
		}
	}
	return s, false
}

func (o *lockOrder) remember(p pair, n nesting) {
	if o.pairs == nil {
		o.pairs, o.reported = map[pair][]nesting{}, map[pair]bool{}
	}
	seen, known := o.pairs[p]
	if !known {
		if len(o.known) == maxPairs {
			delete(o.pairs, o.known[0])
			delete(o.reported, o.known[0])
			o.known = o.known[1:]
		}
		o.known = append(o.known, p)
	}
	if len(seen) < maxNestings && !slices.ContainsFunc(seen, n.like) {
		seen = append(seen, n)
	}
	o.pairs[p] = seen
}
