package observe

// A node is what the search for knots keeps of an actor or a line: Tarjan's algorithm (Depth-first
// search and linear graph algorithms, 1972), with a stack of its own, because a chain of waits may
// be as long as there are goroutines.
type node struct {
	index, low int // 0: not visited yet
	open       bool
}

// A frame is one call of the search.
type visit struct {
	a    *actor // or
	l    *line
	next int // the next edge
}

func (v *visit) node() *node {
	if v.a != nil {
		return &v.a.node
	}
	return &v.l.node
}

// edge returns the end of edge i, and false if there are no more. An edge that does not count leads
// nowhere.
func (v *visit) edge(i int, least trust) (to visit, ok bool) {
	if v.a == nil {
		if i >= len(v.l.holds) {
			return to, false
		}
		if h := v.l.holds[i]; h.trust >= least && h.actor.stuck {
			to.a = h.actor
		}
		return to, true
	}
	if i >= len(v.a.waits) {
		return to, false
	}
	if w := v.a.waits[i]; w.ahead != nil {
		to.a = w.ahead.actor
	} else {
		to.l = w.line
	}
	return to, true
}

// knots returns the sets of actors each of which waits for all others of its set, directly or
// through others. An actor that waits for itself is a set. All actors given are stuck.
func knots(actors []*actor, least trust) [][]*actor {
	for _, a := range actors {
		a.node = node{}
		for _, w := range a.waits {
			w.line.node = node{}
		}
	}
	var sets [][]*actor
	var calls, open []visit
	count := 0
	enter := func(v visit) {
		count++
		*v.node() = node{index: count, low: count, open: true}
		open = append(open, v)
		calls = append(calls, v)
	}
	for _, a := range actors {
		if a.node.index == 0 {
			enter(visit{a: a})
		}
		for len(calls) > 0 {
			v := &calls[len(calls)-1]
			to, ok := v.edge(v.next, least)
			v.next++
			switch {
			case ok && to.a == nil && to.l == nil:
			case ok && to.node().index == 0:
				enter(to)
			case ok:
				if n := to.node(); n.open {
					v.node().low = min(v.node().low, n.index)
				}
			default:
				done := *v
				calls = calls[:len(calls)-1]
				n := done.node()
				if len(calls) > 0 {
					up := calls[len(calls)-1].node()
					up.low = min(up.low, n.low)
				}
				if n.low == n.index {
					var set []*actor
					set, open = closed(open, done)
					if len(set) > 0 {
						sets = append(sets, set)
					}
				}
			}
		}
	}
	return sets
}

// closed takes from open the nodes down to first, and returns the actors among them, unless they
// wait for nobody here.
func closed(open []visit, first visit) (set []*actor, rest []visit) {
	size := 0
	for {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		v.node().open = false
		size++
		if v.a != nil {
			set = append(set, v.a)
		}
		if v.a == first.a && v.l == first.l {
			break
		}
	}
	if size == 1 && (len(set) == 0 || !set[0].waitsBehindItself()) {
		return nil, open
	}
	return set, open
}

// waitsBehindItself reports whether a stands twice in a line, and the first wait stops the second.
func (a *actor) waitsBehindItself() bool {
	for _, w := range a.waits {
		if w.ahead != nil && w.ahead.actor == a {
			return true
		}
	}
	return false
}
