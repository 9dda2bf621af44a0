package table

import "slices"

// A Move is a step with a choice of the variables of the thread that makes it.
type Move struct {
	*Step
	p    *program
	vars []setting
	To   State // where it leads, with the thread variables of the state that it came from
}

type setting struct{ slot, value int }

// Is reports whether the move depends on v, and v has that value.
func (v *Move) Is(x *Var, value int) bool { return slices.Contains(v.vars, setting{x.slot, value}) }

// Domain says which values of a thread's variable are tried: some, or the value of another
// variable. A variable that has none is 0.
type Domain struct {
	Var    *Var
	Values []int
	Of     *Var // the value of that variable
	Nodes  bool // all nodes
}

// Moves returns the moves of other threads than the one under test: those of the owner of mu, if
// owner says so, and those outside that change something.
func (m *Machine) Moves(s *State, owner bool) (moves []Move) {
	if m.T.PC != nil {
		if owner {
			for _, p := range m.at[int64(s.Get(m.T.PC))] {
				moves = m.moves(p, s, moves)
			}
		}
	}
	locked := m.T.PC != nil && s.Get(m.T.PC) != 0
	e := m.env(s, nil)
	for _, p := range m.others {
		if (!locked || !p.Locks) && p.role(e) != 0 {
			moves = m.moves(p, s, moves)
		}
	}
	return moves
}

// moves adds the moves of p.
func (m *Machine) moves(p *program, s *State, moves []Move) []Move {
	t := *s
	m.forget(&t)
	if !p.Inside && m.T.TPC != nil {
		t.Set(m.T.TPC, int(p.From))
	}
	m.settings(p, &t, m.T.Domains, nil, func(vars []setting) {
		var next State
		if m.step(p, &t, &next) {
			m.restore(&next, s)
			moves = append(moves, Move{p.Step, p, append([]setting(nil), vars...), next})
		}
	})
	return moves
}

// settings calls f with each choice for the variables that p depends on.
func (m *Machine) settings(p *program, t *State, domains []Domain, vars []setting, f func([]setting)) {
	for len(domains) > 0 && !p.needs[domains[0].Var.slot] {
		domains = domains[1:]
	}
	if len(domains) == 0 {
		f(vars)
		return
	}
	d := domains[0]
	try := func(n int) {
		t.Set(d.Var, n)
		m.settings(p, t, domains[1:], append(vars, setting{d.Var.slot, n}), f)
		t.Set(d.Var, 0)
	}
	switch {
	case d.Of != nil:
		try(t.Get(d.Of))
	case d.Nodes:
		for n := range m.nodes {
			try(n)
		}
	default:
		for _, n := range d.Values {
			try(n)
		}
	}
}

// forget sets the variables of the thread under test to 0.
func (m *Machine) forget(s *State) { m.restore(s, &State{}) }

// restore gives s the thread variables of old.
func (m *Machine) restore(s, old *State) {
	for _, v := range m.T.Vars {
		if v.Kind != Thread {
			continue
		}
		if v.Array {
			s.arrays[v.slot] = old.arrays[v.slot]
		} else {
			s.scalars[v.slot] = old.scalars[v.slot]
		}
	}
}

// canon renumbers what grows without end in s.
func (m *Machine) canon(s *State) {
	if m.T.Canon != nil {
		m.T.Canon(m.T, s, m.nodes)
	}
}

// A Run is what a search of the states that can be reached from some has met.
type Run struct {
	States int
	Taken  map[string]bool // steps
	Met    []State
	Bad    string // what is wrong with the first bad state or step, and the steps that lead there
}

// Reach follows the table from states, breadth first, by steps that may be made, until it has met
// so many states. It looks for states that are not safe and steps without the properties.
func (m *Machine) Reach(from []State, most int, may func(*Step) bool) Run {
	type origin struct {
		parent int
		step   string
	}
	r := Run{Taken: map[string]bool{}}
	seen := map[State]bool{}
	var queue []State
	var origins []origin
	add := func(s State, o origin) {
		m.canon(&s)
		if len(queue) < most && !seen[s] {
			seen[s] = true
			queue = append(queue, s)
			origins = append(origins, o)
		}
	}
	for _, s := range from {
		m.forget(&s)
		add(s, origin{-1, ""})
	}
	for i := 0; i < len(queue) && r.Bad == ""; i++ {
		s := queue[i]
		for _, v := range m.Moves(&s, true) {
			if !may(v.Step) {
				continue
			}
			r.Taken[v.Name] = true
			bad := m.unsafe(&v.To)
			if bad == "" {
				bad = m.violated(&s, &v.To)
			}
			if bad != "" {
				last := v.Name
				for j := i; origins[j].step != ""; j = origins[j].parent {
					last = origins[j].step + " " + last
				}
				r.Bad = bad + ": " + last
				break
			}
			add(v.To, origin{i, v.Name})
		}
	}
	r.States, r.Met = len(queue), queue
	return r
}
