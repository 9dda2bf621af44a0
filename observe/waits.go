package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The most vertices of the graph: as a picture, and as text for a program that draws.
const (
	maxDrawn = 48
	maxNodes = 500
	maxSides = 6 // different holders, or waiters, of one lock, that do nothing else
)

// A vertex of the wait-for graph is a lock, or one or more agents that hold and wait for the same.
type vertex struct {
	Lock     *lockView // nil: agents
	Title    string
	Sub      string // what else there is to know, in few words
	Deadlock bool
}

// An edge goes from who waits to the lock, or from the lock to who holds it.
type edge struct {
	From, To int // vertices
	Waits    bool
	CanEnd   bool // the wait
	Deadlock bool
}

// A waitGraph is who waits for whom.
type waitGraph struct {
	vertices []vertex
	edges    []edge
	left     int // units for which there was no room
}

// A relation is one agent's to one lock.
type relation struct {
	lock     int // its vertex
	waits    bool
	canEnd   bool
	deadlock bool
	stack    Stack
	key      string // the same for relations that look the same
}

// An party is an agent with all its relations.
type party struct {
	agent     Agent
	relations []relation
}

// newWaitGraph makes the graph of all locks that are waited for, with at most so many vertices. If
// there are more, the locks of deadlocks have precedence, then those with the most waiters.
func (v *view) newWaitGraph(most int) *waitGraph {
	units := v.units()
	slices.SortStableFunc(units, func(a, b *unit) int {
		inDeadlock := func(u *unit) int { return min(int(u.State), int(stateDeadlock)+1) }
		here := func(u *unit) int {
			if v.whole != nil && u.ID == v.Locks[0].ID {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(here(a), here(b)), cmp.Compare(inDeadlock(a), inDeadlock(b)),
			cmp.Compare(len(b.Waiters), len(a.Waiters)), cmp.Compare(a.ID, b.ID))
	})
	n := min(len(units), most)
	for {
		g := v.graphOf(units[:n])
		if len(g.vertices) <= most || n <= 1 {
			g.left = len(units) - n
			return g
		}
		n -= max(n/4, 1)
	}
}

// A unit is what is held and waited for: a lock, or one key of a keyed lock.
type unit struct {
	*lockView
	Key     string
	Holders []Holder
	Waiters []Waiter
}

// units returns the lock, or those of its keys that somebody waits for.
func (l *lockView) units() (units []*unit) {
	byKey := make(map[string]*unit)
	for _, w := range l.Waiters {
		u := byKey[w.Key]
		if u == nil {
			u = &unit{lockView: l, Key: w.Key}
			byKey[w.Key] = u
			units = append(units, u)
		}
		u.Waiters = append(u.Waiters, w)
	}
	for _, h := range l.Holders {
		if u := byKey[h.Key]; u != nil {
			u.Holders = append(u.Holders, h)
		}
	}
	return units
}

// units returns all units of the view that are waited for; of a view of one lock also those that
// are connected with it by who holds and waits.
func (v *view) units() []*unit {
	locks := v.Locks
	if v.whole != nil {
		locks = v.whole.Locks
	}
	var all []*unit
	for _, l := range locks {
		if len(l.Waiters) > 0 {
			all = append(all, l.units()...)
		}
	}
	if v.whole == nil {
		return all
	}
	at := make(map[agentKey][]*unit)
	for _, u := range all {
		for _, w := range u.Waiters {
			at[keyOf(w.Agent)] = append(at[keyOf(w.Agent)], u)
		}
		for _, h := range u.Holders {
			at[keyOf(h.Agent)] = append(at[keyOf(h.Agent)], u)
		}
	}
	delete(at, agentKey{}) // those that are not known connect nothing
	found := keep(all, func(u *unit) bool { return u.ID == v.Locks[0].ID })
	known := make(map[*unit]bool)
	for _, u := range found {
		known[u] = true
	}
	for i := 0; i < len(found); i++ {
		reach := func(a Agent) {
			for _, u := range at[keyOf(a)] {
				if !known[u] {
					known[u] = true
					found = append(found, u)
				}
			}
		}
		for _, w := range found[i].Waiters {
			reach(w.Agent)
		}
		for _, h := range found[i].Holders {
			reach(h.Agent)
		}
	}
	return found
}

// withKey names a key of a lock, or the lock if there is no key.
func withKey(name, key string) string {
	if key == "" {
		return name
	}
	return name + "[" + clean(key, maxLabel) + "]"
}

// graphOf makes the graph of some locks, or keys of them.
func (v *view) graphOf(units []*unit) *waitGraph {
	g := &waitGraph{}
	waits, holds := v.deadlocked()
	var parties []*party
	byAgent := make(map[agentKey]*party)
	relate := func(a Agent, r relation) {
		key := keyOf(a)
		one := byAgent[key]
		if one == nil || key == (agentKey{}) { // those that are not known are all different
			one = &party{agent: a}
			byAgent[key] = one
			parties = append(parties, one)
		}
		one.relations = append(one.relations, r)
	}
	for at, l := range units {
		in := slices.ContainsFunc(l.Waiters, func(w Waiter) bool { return waits[w.ID] })
		g.vertices = append(g.vertices, vertex{
			Lock: l.lockView, Title: withKey(l.Title, l.Key),
			Sub: clean(l.Kind, maxLabel), Deadlock: in,
		})
		if l.limits() && l.Key == "" {
			g.vertices[at].Sub = l.HeldOf() + " held"
		}
		for i := range l.Holders {
			h := &l.Holders[i]
			relate(h.Agent, relation{lock: at, stack: h.Stack, deadlock: holds[h.ID], key: fmt.Sprint("h", at,
				stackKey(h.Stack))})
		}
		for i := range l.Waiters {
			w := &l.Waiters[i]
			relate(w.Agent, relation{
				lock: at, waits: true, canEnd: w.CanEnd, stack: w.Stack, deadlock: waits[w.ID],
				key: fmt.Sprint("w", at, w.CanEnd, stackKey(w.Stack)),
			})
		}
	}
	g.addParties(parties)
	for at, l := range units {
		if n := l.ofKey(l.Key).Unknown; n > 0 {
			g.vertices = append(g.vertices, vertex{Title: "unknown", Sub: plural(n, "permit")})
			g.edges = append(g.edges, edge{From: at, To: len(g.vertices) - 1})
		}
	}
	return g
}

// deadlocked returns the waits and holds of the deadlocks that last.
func (v *view) deadlocked() (waits, holds map[uint64]bool) {
	waits, holds = make(map[uint64]bool), make(map[uint64]bool)
	for _, d := range v.Deadlocks {
		for _, b := range d.Waits {
			waits[b.Waiter.ID] = true
			for _, h := range b.Holders {
				holds[h.ID] = true
			}
		}
	}
	return waits, holds
}

// addParties folds the parties that hold and wait for the same in the same places, and adds them.
func (g *waitGraph) addParties(parties []*party) {
	var order []string
	folded := make(map[string][]*party)
	sides := make(map[string]int)
	for i, a := range parties {
		slices.SortFunc(a.relations, func(x, y relation) int { return strings.Compare(x.key, y.key) })
		var key strings.Builder
		for _, r := range a.relations {
			key.WriteString(r.key)
		}
		k := key.String()
		switch only := a.relations[0]; {
		case slices.ContainsFunc(a.relations, func(r relation) bool { return r.deadlock }):
			k = strconv.Itoa(i) // never folded
		case len(a.relations) == 1 && folded[k] == nil:
			side := fmt.Sprint(only.lock, only.waits, only.canEnd)
			if sides[side]++; sides[side] > maxSides {
				k = "others " + side
			}
		}
		if folded[k] == nil {
			order = append(order, k)
		}
		folded[k] = append(folded[k], a)
	}
	for _, k := range order {
		g.addFolded(folded[k], strings.HasPrefix(k, "others "))
	}
}

// addFolded adds one vertex for parties that are alike.
func (g *waitGraph) addFolded(parties []*party, others bool) {
	first := parties[0]
	n := vertex{Title: first.agent.String()}
	if len(parties) > 1 {
		n.Title = plural(len(parties), "goroutine")
		if !slices.ContainsFunc(parties, func(a *party) bool { return a.agent.Task == 0 }) {
			n.Title = plural(len(parties), "task")
		}
	}
	at := len(g.vertices)
	for i, r := range first.relations {
		if i > 0 && first.relations[i-1].key == r.key { // holds twice what it could hold once
			continue
		}
		if calls := r.stack.Frames(); len(calls) > 0 && (n.Sub == "" || r.waits) {
			n.Sub = fmt.Sprintf("%s:%d", clean(calls[0].File[strings.LastIndexByte(calls[0].File, '/')+1:],
				maxName), calls[0].Line)
		}
		e := edge{From: r.lock, To: at, Deadlock: r.deadlock}
		if r.waits {
			e = edge{From: at, To: r.lock, Waits: true, CanEnd: r.canEnd, Deadlock: r.deadlock}
		}
		n.Deadlock = n.Deadlock || r.deadlock
		g.edges = append(g.edges, e)
	}
	if others {
		n.Sub = "in other places"
	}
	g.vertices = append(g.vertices, n)
}

// note says what is missing in the graph; it is empty if nothing is.
func (g *waitGraph) note() string {
	if g.left == 0 {
		return ""
	}
	return "The graph is too large to show. Here are deadlocks, then the longest lines; " +
		plural(g.left, "line") + " at other locks are left out."
}
