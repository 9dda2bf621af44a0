package table

import "slices"

// A Table is an algorithm: its variables, its steps, what holds in every state, and what follows.
type Table struct {
	Name   string
	Source string // the folder of the code that it stands for
	Assume []string

	Vars       []*Var
	PC         *Var  // where the owner of the mutex is; nil: the algorithm has none
	TPC        *Var  // where the thread under test is
	Inside     int64 // the place of a thread that has the mutex: the owner\'s place says where
	Any        *Var  // the thread\'s variable that stands for any node; nil: there is none
	Places     []string
	Init       *Expr
	Steps      []*Step
	Invariants []*Invariant
	Properties []*Property
	Theorems   []*Theorem
	Defects    []*Defect

	Domains []Domain // of the variables of a thread

	Canon func(t *Table, s *State, nodes int) // renumbers what grows without end; nil: nothing does

	scalars, arrays int
}

// An Access is what a step does to shared memory. Each step does one thing, or none: then it is
// local, and may be made together with the step before.
type Access uint8

// A Step is one atomic step. The table of a file lists those of one function after the other.
type Step struct {
	Name   string
	In     string // the function of the source
	Access Access
	From   int64 // Inside: the owner's place; otherwise the thread's
	Inside bool  // of the owner of the mutex
	Locks  bool  // it gets the mutex, which is free
	Choice bool  // somebody else's choice, which the code under test may never make
	Guard  *Expr
	Do     []Update
	Solver bool // it changes what the proof knows

	from *Expr // the place, as a condition
	role *Expr // part of the condition, of what all threads share: a run looks at it first; nil: none
}

// An Invariant holds in every state, between any two steps.
type Invariant struct {
	Name string
	Text string // in words
	Is   *Expr
	// Safe says that this is what the algorithm is for, and not only what the induction needs: a
	// bounded run that reaches a state without it has reached a bad state.
	Safe bool
}

// A Property holds of every step, from a state to the next.
type Property struct {
	Name, Text string
	Is         *Expr
}

// A Theorem follows from the invariants, in every state.
type Theorem struct {
	Name, Text string
	Is         *Expr
}

// A Defect is a change of the table that a proof must refuse.
type Defect struct {
	Name string
	// Reaches says that a bounded run from a first state reaches a bad state. Otherwise only the
	// induction breaks: the defect needs more than the run has, or is harmless beside the rest.
	Reaches bool
	States  int // how many states the run has

	make  func() *Table // a table with the defect
	start func(t *Table) (*Machine, []State)
	may   func(*Step) bool // the steps of the run: without what is not needed it gets further
}

//go:noinline
func (t *Table) add(v *Var) *Var {
	if v.Array {
		v.slot = t.arrays
		t.arrays++
	} else {
		v.slot = t.scalars
		t.scalars++
	}
	t.Vars = append(t.Vars, v)
	return v
}

func (t *Table) scalar(k Kind, s Sort, name string) *Var {
	return t.add(&Var{Name: name, Sort: s, Kind: k})
}

func (t *Table) array(k Kind, s Sort, name string) *Var {
	return t.add(&Var{Name: name, Sort: s, Kind: k, Array: true})
}

// fix makes a variable a constant, which no step changes.
func (t *Table) fix(v *Var, is *Expr) {
	v.fixed = is
	t.without(v)
}

// without takes variables out of the table.
func (t *Table) without(vars ...*Var) {
	all := t.Vars
	t.Vars, t.scalars, t.arrays = nil, 0, 0
	for _, v := range all {
		if !slices.Contains(vars, v) {
			t.add(v)
		}
	}
}

// Step returns the step of that name.
//
//go:noinline
func (t *Table) Step(name string) *Step {
	for _, s := range t.Steps {
		if s.Name == name {
			return s
		}
	}
	panic("no step " + name)
}

// drop takes the updates of variables from a step.
func (t *Table) drop(name string, vars ...*Var) {
	s := t.Step(name)
	s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return slices.Contains(vars, u.v) })
}

// also adds updates to a step.
func (t *Table) also(name string, do ...Update) {
	s := t.Step(name)
	s.Do = append(slices.Clone(s.Do), do...)
}

// change replaces the updates of variables in a step.
func (t *Table) change(name string, do ...Update) {
	for _, u := range do {
		t.drop(name, u.v)
	}
	t.also(name, do...)
}

// goes has a step of the owner lead to a place, which may depend on the state.
func (t *Table) goes(name string, place *Expr) { t.change(name, t.PC.Set(place)) }

// only adds a condition to a step.
func (t *Table) only(name string, is *Expr) {
	s := t.Step(name)
	s.Guard = And(s.Guard, is)
}

// finish derives what is derived. It is called when the table is complete, and after a change.
func (t *Table) finish() {
	seen := map[string]bool{}
	for _, s := range t.Steps {
		if seen[s.Name] {
			panic("two steps " + s.Name)
		}
		seen[s.Name] = true
		s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v.fixed != nil })
		s.Solver = false
		for _, u := range s.Do {
			s.Solver = s.Solver || u.v.Kind != Thread
		}
		at := t.TPC
		if s.Inside {
			at = t.PC
		}
		s.from = True
		if at != nil {
			s.from = Eq(at.V(), Num(s.From))
		}
	}
}

func (t *Table) invariant(name, text string, is *Expr) {
	t.Invariants = append(t.Invariants, &Invariant{Name: name, Text: text, Is: is})
}

func (t *Table) safe(name, text string, is *Expr) {
	t.Invariants = append(t.Invariants, &Invariant{Name: name, Text: text, Is: is, Safe: true})
}

func (t *Table) property(name, text string, is *Expr) {
	t.Properties = append(t.Properties, &Property{name, text, is})
}

func (t *Table) theorem(name, text string, is *Expr) {
	t.Theorems = append(t.Theorems, &Theorem{name, text, is})
}

// mentions reports whether e speaks of v.
func (e *Expr) mentions(v *Var) bool {
	if e.v == v {
		return true
	}
	for _, a := range e.args {
		if a.mentions(v) {
			return true
		}
	}
	return false
}

// mentions reports whether what s does to others depends on v.
func (s *Step) mentions(v *Var) bool {
	if s.Guard.mentions(v) {
		return true
	}
	for _, u := range s.Do {
		switch {
		case u.v.Kind == Thread: // What its thread then knows changes nothing.
		case u.of != nil:
			if u.of(&Expr{op: opBound, sort: Node}).mentions(v) {
				return true
			}
		case u.to.mentions(v), u.at != nil && u.at.mentions(v):
			return true
		}
	}
	return false
}
