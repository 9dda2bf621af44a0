package table

import (
	"errors"
	"fmt"
	"slices"
)

// A Follower runs beside the real code: it holds the states of the table in which the code may be.
// They agree in what is shared, and differ in what only a thread knows.
type Follower struct {
	m       *Machine
	Members []Member
}

// A Member is a state, and which steps the code has taken if that is where it is.
type Member struct {
	State
	steps [4]uint64
}

// Follow begins in a state.
func (m *Machine) Follow(s State) *Follower { return &Follower{m: m, Members: []Member{{State: s}}} }

// Note sets what the table does not know by itself.
func (f *Follower) Note(note func(s *State)) {
	for i := range f.Members {
		note(&f.Members[i].State)
	}
}

// Step makes a step of the code that has access a. Access 0 is what is not the table's: then the
// code may only have made local steps. What is done under the mutex is done when it is unlocked: a
// local step that the state did not show before then comes too late.
func (f *Follower) Step(a Access) {
	if a != MuUnlock {
		f.settle()
	}
	if a == 0 {
		return
	}
	var next []Member
	for i := range f.Members {
		f.make(&f.Members[i], a, func(n Member) { next = addNew(next, n) })
	}
	f.Members = next
	f.settle()
}

// settle adds where local steps lead to.
func (f *Follower) settle() {
	for i := 0; i < len(f.Members); i++ {
		s := f.Members[i]
		f.make(&s, 0, func(n Member) { f.Members = addNew(f.Members, n) })
	}
}

func addNew(all []Member, n Member) []Member {
	if slices.Contains(all, n) {
		return all
	}
	return append(all, n)
}

// Keep drops the states of which ok does not hold.
func (f *Follower) Keep(ok func(s *State) bool) {
	kept := f.Members[:0]
	for _, s := range f.Members {
		if ok(&s.State) {
			kept = append(kept, s)
		}
	}
	f.Members = kept
}

// Others has another thread make a move.
func (f *Follower) Others(v *Move) {
	for i := range f.Members {
		s := &f.Members[i]
		next, ok := f.moved(v, &s.State)
		if !ok {
			panic("a move that another state of the follower does not allow: " + v.Name)
		}
		s.State = next
	}
}

// Allow reports whether another thread can make a move, wherever the code may be.
func (f *Follower) Allow(v *Move) bool {
	for i := range f.Members {
		if _, ok := f.moved(v, &f.Members[i].State); !ok {
			return false
		}
	}
	return true
}

// moved returns where a move leads from s, if it is possible.
func (f *Follower) moved(v *Move, s *State) (next State, ok bool) {
	t := *s
	f.m.forget(&t)
	if !v.Inside && f.m.T.TPC != nil {
		t.Set(f.m.T.TPC, int(v.From))
	}
	for _, x := range v.vars {
		t.scalars[x.slot] = int16(x.value)
	}
	ok = f.m.step(v.p, &t, &next)
	f.m.restore(&next, s)
	return next, ok
}

// Took adds the steps that the code has taken to a set.
func (f *Follower) Took(taken map[string]bool) {
	for i := range f.Members {
		for n, p := range f.m.steps {
			if f.Members[i].steps[n/64]&(1<<(n%64)) != 0 {
				taken[p.Name] = true
			}
		}
	}
}

// NotMade returns the steps that the code has not taken, but for those that are another's choice.
func (t *Table) NotMade(taken map[string]bool) (names []string) {
	for _, s := range t.Steps {
		if !s.Choice && !taken[s.Name] {
			names = append(names, s.Name+", of "+s.In)
		}
	}
	return names
}

// ByWrite returns the access that a step of the code was, by whether it wrote.
func ByWrite(wrote bool, read, write Access) Access {
	if wrote {
		return write
	}
	return read
}

// Ways has what has been found of how others let a call go on that is blocked.
type Ways map[State][]Move

// From returns the fewest moves that lead from a state to one that is ready, and whether any do.
func (w Ways) From(
	m *Machine, start State, moves func(*State) []Move, ready func(*State) bool,
) (way []Move, ok bool) {
	m.canon(&start)
	if way, ok := w[start]; ok {
		return way, true
	}
	type origin struct {
		parent int
		by     Move
	}
	queue, origins := []State{start}, []origin{{parent: -1}}
	seen := map[State]bool{start: true}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if ready(&s) {
			for j := i; origins[j].parent >= 0; j = origins[j].parent {
				way = append(way, origins[j].by)
			}
			slices.Reverse(way)
			w[start] = way
			return way, true
		}
		for _, v := range moves(&s) {
			if m.canon(&v.To); !seen[v.To] {
				seen[v.To] = true
				queue, origins = append(queue, v.To), append(origins, origin{i, v})
			}
		}
	}
	return nil, false
}

// Way returns the fewest moves by which others let code go on that is blocked. It fails if the code
// blocks at no such place of the table, or if nobody can end that. Ready reports of a state whether
// the code blocks there, and whether it can go on.
func (f *Follower) Way(
	w Ways, moves func(*State) []Move, ready func(*State) (goes, blocks bool),
) (way []Move, err error) {
	i := slices.IndexFunc(f.Members, func(m Member) bool {
		goes, blocks := ready(&m.State)
		return blocks && !goes
	})
	if i < 0 {
		return nil, fmt.Errorf("the code is blocked where nothing blocks in the table: %v", f.Places())
	}
	way, ok := w.From(f.m, f.Members[i].State, moves, func(s *State) bool {
		goes, _ := ready(s)
		return goes
	})
	if !ok {
		return nil, errors.New("the code is blocked, and nobody can end that")
	}
	return way, nil
}

// Places returns where the code may be.
func (f *Follower) Places() (places []string) {
	t := f.m.T
	for i := range f.Members {
		s := &f.Members[i]
		p := t.Places[s.Get(t.TPC)]
		if t.PC != nil && int64(s.Get(t.TPC)) == t.Inside {
			p = t.Places[s.Get(t.PC)]
		}
		places = append(places, p)
	}
	return places
}

// make calls found with each state to which a step with access a leads the thread under test.
func (f *Follower) make(s *Member, a Access, found func(Member)) {
	t := f.m.T
	steps := f.m.out[int64(s.Get(t.TPC))]
	if t.PC != nil && int64(s.Get(t.TPC)) == t.Inside {
		steps = f.m.at[int64(s.Get(t.PC))]
	}
	for _, p := range steps {
		switch {
		case p.Access != a:
		case t.Any != nil && p.needs[t.Any.slot]:
			for n := range f.m.nodes {
				x := *s
				x.Set(t.Any, n)
				f.try(p, &x, found)
			}
		default:
			f.try(p, s, found)
		}
	}
}

func (f *Follower) try(p *program, s *Member, found func(Member)) {
	n := Member{steps: s.steps}
	if !f.m.step(p, &s.State, &n.State) {
		return
	}
	if f.m.T.Any != nil {
		n.Set(f.m.T.Any, 0)
	}
	n.steps[p.number/64] |= 1 << (p.number % 64)
	found(n)
}
