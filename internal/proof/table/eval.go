package table

import (
	"fmt"
	"slices"
	"strings"
)

// The evaluation: the same table as a program. It runs the table from small states, and beside the
// real code.

// maxNodes is how many waiters a state that is evaluated can have, and width how many numbers it
// has.
const (
	maxNodes = 4
	width    = 52
)

// A State is a value of every variable.
type State struct {
	scalars [width]int16
	arrays  [width / 2][maxNodes]int8
}

// Get returns the value of a variable.
func (s *State) Get(v *Var) int { return int(s.scalars[v.slot]) }

// Set sets it.
func (s *State) Set(v *Var, n int) { s.scalars[v.slot] = int16(n) }

// Is is Get of a Bool.
func (s *State) Is(v *Var) bool { return s.scalars[v.slot] != 0 }

// GetAt returns the value of an array at a node.
func (s *State) GetAt(v *Var, node int) int { return int(s.arrays[v.slot][node]) }

// SetAt sets it.
func (s *State) SetAt(v *Var, node, n int) { s.arrays[v.slot][node] = int8(n) }

// env is where an expression is evaluated.
type env struct {
	cur, next *State
	nodes     int
	bound     [8]int // the nodes of the quantifiers that are being evaluated; first that of an update of all
}

type code func(e *env) int

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compile turns an expression into a function.
func (e *Expr) compile() code { return e.within(map[int64]int{outermost: 0}) }

// within is compile inside quantifiers: their nodes have these places.
func (e *Expr) within(places map[int64]int) code {
	// The numbers of a state are small: 2³⁰ is as far above them as 2⁵⁹, which 32 bits cannot hold.
	n, v := int(max(-1<<30, min(e.n, 1<<30))), e.v
	switch e.op {
	case opBound:
		place, ok := places[e.n]
		if !ok {
			panic("a node of no quantifier")
		}
		return func(e *env) int { return e.bound[place] }
	case opAll, opAny:
		n = len(places)
		places[e.n] = n
		defer delete(places, e.n)
	default:
	}
	var a []code
	for _, x := range e.args {
		a = append(a, x.within(places))
	}
	switch e.op {
	case opConst:
		return func(*env) int { return n }
	case opVar:
		if e.next {
			return func(e *env) int { return int(e.next.scalars[v.slot]) }
		}
		return func(e *env) int { return int(e.cur.scalars[v.slot]) }
	case opSelect:
		if e.next {
			return func(e *env) int { return int(e.next.arrays[v.slot][a[0](e)]) }
		}
		return func(e *env) int { return int(e.cur.arrays[v.slot][a[0](e)]) }
	case opNot:
		return func(e *env) int { return 1 - a[0](e) }
	case opAnd:
		return func(e *env) int {
			for _, x := range a {
				if x(e) == 0 {
					return 0
				}
			}
			return 1
		}
	case opOr:
		return func(e *env) int {
			for _, x := range a {
				if x(e) != 0 {
					return 1
				}
			}
			return 0
		}
	case opImplies:
		return func(e *env) int {
			if a[0](e) == 0 {
				return 1
			}
			return a[1](e)
		}
	case opEq:
		return func(e *env) int { return truth(a[0](e) == a[1](e)) }
	case opLess:
		return func(e *env) int { return truth(a[0](e) < a[1](e)) }
	case opLessEq:
		return func(e *env) int { return truth(a[0](e) <= a[1](e)) }
	case opAdd:
		return func(e *env) int {
			sum := 0
			for _, x := range a {
				sum += x(e)
			}
			return sum
		}
	case opSub:
		return func(e *env) int { return a[0](e) - a[1](e) }
	case opIf:
		return func(e *env) int {
			if a[0](e) != 0 {
				return a[1](e)
			}
			return a[2](e)
		}
	default:
		all := e.op == opAll
		return func(e *env) int {
			r := truth(all)
			for x := range e.nodes {
				e.bound[n] = x
				if (a[0](e) != 0) != all {
					r = truth(!all)
					break
				}
			}
			return r
		}
	}
}

// A Machine evaluates a table for some number of nodes, for one goroutine at a time.
type Machine struct {
	T          *Table
	nodes      int
	steps      []*program
	at         map[int64][]*program // of the owner, by place
	out        map[int64][]*program // of a thread outside
	others     []*program           // of all other threads outside that change something
	invariants []code
	properties []code
	theorems   []code
	init       code
	stepping   env // of step, which is called often
}

type program struct {
	*Step
	number int
	guard  code
	role   code
	do     []change
	needs  [width]bool // which scalars of a thread it depends on
}

type change struct {
	Update
	at, to, of code
}

// NewMachine compiles t.
func NewMachine(t *Table, nodes int) *Machine {
	if t.scalars > width || t.arrays > width/2 || nodes > maxNodes || len(t.Steps) > 256 {
		panic("a state has no room for so much")
	}
	m := &Machine{T: t, nodes: nodes, at: map[int64][]*program{}, out: map[int64][]*program{}, init: t.Init.compile()}
	for n, s := range t.Steps {
		p := &program{Step: s, number: n, guard: And(s.from, s.Guard).compile(), role: True.compile()}
		if s.role != nil {
			p.role = s.role.compile()
		}
		for _, u := range s.Do {
			c := change{Update: u}
			switch {
			case u.of != nil:
				c.of = u.of(&Expr{op: opBound, sort: Node, n: outermost}).compile()
			default:
				c.to = u.to.compile()
				if u.at != nil {
					c.at = u.at.compile()
				}
			}
			p.do = append(p.do, c)
		}
		for _, v := range t.Vars {
			if v.Kind == Thread && !v.Array {
				p.needs[v.slot] = v != t.TPC && s.mentions(v)
			}
		}
		m.steps = append(m.steps, p)
		if s.Inside {
			m.at[s.From] = append(m.at[s.From], p)
		} else {
			m.out[s.From] = append(m.out[s.From], p)
			if s.Solver {
				m.others = append(m.others, p)
			}
		}
	}
	for _, i := range t.Invariants {
		m.invariants = append(m.invariants, i.Is.compile())
	}
	for _, th := range t.Theorems {
		m.theorems = append(m.theorems, th.Is.compile())
	}
	for _, p := range t.Properties {
		m.properties = append(m.properties, p.Is.compile())
	}
	return m
}

func (m *Machine) env(s, next *State) *env { return &env{cur: s, next: next, nodes: m.nodes} }

// Broken returns the first invariant that does not hold in s, nil if all do.
func (m *Machine) Broken(s *State) *Invariant {
	e := m.env(s, nil)
	for i, c := range m.invariants {
		if c(e) == 0 {
			return m.T.Invariants[i]
		}
	}
	return nil
}

// unsafe returns the name of the first safe invariant or theorem that does not hold in s.
func (m *Machine) unsafe(s *State) string {
	e := m.env(s, nil)
	for i, c := range m.invariants {
		if m.T.Invariants[i].Safe && c(e) == 0 {
			return m.T.Invariants[i].Name
		}
	}
	for i, c := range m.theorems {
		if c(e) == 0 {
			return m.T.Theorems[i].Name
		}
	}
	return ""
}

// violated returns the name of the first property that does not hold of the step from s to next.
func (m *Machine) violated(s, next *State) string {
	e := m.env(s, next)
	for i, c := range m.properties {
		if c(e) == 0 {
			return m.T.Properties[i].Name
		}
	}
	return ""
}

// step makes the step p from s to next, and reports whether it is possible.
func (m *Machine) step(p *program, s, next *State) bool {
	m.stepping = env{cur: s, next: next, nodes: m.nodes}
	e := &m.stepping
	if p.guard(e) == 0 {
		return false
	}
	*next = *s
	for _, c := range p.do {
		switch {
		case c.of != nil:
			for x := range m.nodes {
				e.bound[outermost] = x
				next.SetAt(c.v, x, c.of(e))
			}
		case c.at != nil:
			next.SetAt(c.v, c.at(e), c.to(e))
		default:
			next.Set(c.v, c.to(e))
		}
	}
	return true
}

// String prints a state.
func (m *Machine) String(s *State) string {
	var b strings.Builder
	for _, v := range m.T.Vars {
		if v.Kind == Thread {
			continue
		}
		fmt.Fprintf(&b, "%s=", v.Name)
		switch {
		case v.Array:
			fmt.Fprint(&b, slices.Collect(func(yield func(int) bool) {
				for x := range m.nodes {
					if !yield(s.GetAt(v, x)) {
						return
					}
				}
			}))
		case v == m.T.PC:
			b.WriteString(m.T.Places[s.Get(v)])
		default:
			fmt.Fprint(&b, s.Get(v))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}
