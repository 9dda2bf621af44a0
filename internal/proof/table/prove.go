package table

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Any number of waiters, and few of them.
const (
	anyNumber = 0
	few       = 3
)

func assume(e *Expr, n int) string { return "(assert " + e.text(n) + ")\n" }
func refute(e *Expr, n int) string { return "(assert (not " + e.text(n) + "))\n" }

// An Open is a question without the answer that is needed.
type Open struct {
	Step, Of string
	Answer   Answer
}

func (o Open) String() string { return fmt.Sprintf("%s does not keep %q: %s", o.Step, o.Of, o.Answer) }

// A Result is what became of one statement: an invariant, a property or a theorem.
type Result struct {
	Name, Text string
	Open       []Open // empty: it is proved
	Queries    int
	Time       time.Duration
}

// A statement is what is asked of every step, of the first state, or of every state.
type statement struct {
	name, text    string
	first, always *Expr // nil: not asked
	step          *Expr // of the two states of a step
}

func (t *Table) statements() (all []statement) {
	for _, i := range t.Invariants {
		all = append(all, statement{name: i.Name, text: i.Text, first: i.Is, step: Next(i.Is)})
	}
	for _, p := range t.Properties {
		all = append(all, statement{name: p.Name, text: p.Text, step: p.Is})
	}
	for _, th := range t.Theorems {
		all = append(all, statement{name: th.Name, text: th.Text, always: th.Is})
	}
	return all
}

// Prove asks of each statement whether it follows: of an invariant whether it holds at first and
// whether every step keeps it, of a property whether every step has it, of a theorem whether the
// invariants imply it. Two solvers share the work.
func (t *Table) Prove(solver string) ([]Result, error) {
	statements := t.statements()
	results := make([]Result, len(statements))
	err := share(len(statements), solver, func(s *Solver, n int) error {
		return s.scope(func() error { return t.prove(s, &statements[n], &results[n]) })
	})
	return results, err
}

// share gives the numbers below n to two solvers.
func share(n int, solver string, do func(s *Solver, n int) error) error {
	var wg sync.WaitGroup
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() {
			s, err := Start(solver)
			if err != nil {
				errs[i] = err
				return
			}
			defer s.Close()
			for n := range next {
				if errs[i] = do(s, n); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// prove asks whatever a statement needs.
func (t *Table) prove(s *Solver, st *statement, r *Result) error {
	r.Name, r.Text = st.name, st.text
	began := time.Now()
	defer func() { r.Time = time.Since(began) }()
	ask := func(step, assumed string, is *Expr) error {
		a, err := s.within(assumed + refute(is, anyNumber))
		r.Queries++
		if a != Unsat {
			r.Open = append(r.Open, Open{step, st.name, a})
		}
		return err
	}
	if err := s.say(t.declarations(anyNumber)); err != nil {
		return err
	}
	if st.first != nil {
		if err := ask("the first state", assume(t.Init, anyNumber), st.first); err != nil {
			return err
		}
	}
	if err := s.say(t.assumed(anyNumber, nil)); err != nil {
		return err
	}
	if st.always != nil {
		if err := ask("a state", "", st.always); err != nil {
			return err
		}
	}
	if st.step == nil {
		return nil
	}
	for _, step := range t.Steps {
		if !step.Solver || st.first != nil && !step.touches(st.first) {
			continue
		}
		if err := ask(step.Name, step.may(anyNumber)+step.relation(t, anyNumber), st.step); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	return nil
}

// touches reports whether s changes anything that e speaks of.
func (s *Step) touches(e *Expr) bool {
	for _, u := range s.Do {
		if e.mentions(u.v) {
			return true
		}
	}
	return false
}

// assumed says that the invariants hold, but for the part without.
func (t *Table) assumed(n int, without *Invariant) string {
	var b strings.Builder
	for _, i := range t.Parts() {
		if without == nil || i.Is != without.Is {
			b.WriteString(assume(i.Is, n))
		}
	}
	return b.String()
}

// Parts returns what the invariants say, each part by itself.
func (t *Table) Parts() (parts []*Invariant) {
	for _, i := range t.Invariants {
		if i.Is.op != opAnd {
			parts = append(parts, i)
			continue
		}
		for n, is := range i.Is.args {
			parts = append(parts, &Invariant{Name: fmt.Sprintf("%s, part %d", i.Name, n+1), Text: i.Text, Is: is})
		}
	}
	return parts
}

// Refute looks for a first state or a step, among few waiters, that does not keep the invariants
// without one part, or has not the properties, and for a state without a theorem. If there is none
// the result is nil.
func (t *Table) Refute(s *Solver, without *Invariant) (found *Open, err error) {
	var first, next, theorems []statement
	for _, i := range t.Parts() {
		if without == nil || i.Is != without.Is {
			first = append(first, statement{name: i.Name, step: i.Is})
			next = append(next, statement{name: i.Name, step: Next(i.Is)})
		}
	}
	for _, p := range t.Properties {
		next = append(next, statement{name: p.Name, step: p.Is})
	}
	for _, th := range t.Theorems {
		theorems = append(theorems, statement{name: th.Name, step: th.Is})
	}
	err = s.scope(func() error {
		if err := s.say(t.declarations(few)); err != nil {
			return err
		}
		if found, err = s.refute("the first state", assume(t.Init, few), first); found != nil || err != nil {
			return err
		}
		if err := s.say(t.assumed(few, without)); err != nil {
			return err
		}
		if found, err = s.refute("a state", "", theorems); found != nil || err != nil {
			return err
		}
		if err := s.say(define(next)); err != nil { // once for all steps
			return err
		}
		for _, step := range t.Steps {
			if !step.Solver {
				continue
			}
			found, err = s.refuteDefined(step.Name, step.may(few)+step.relation(t, few), next)
			if found != nil || err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// define gives a name to what several statements say together.
func define(goals []statement) string {
	var all []*Expr
	for _, g := range goals {
		all = append(all, g.step)
	}
	return "(define-fun |all of them| () Bool " + And(all...).text(few) + ")\n"
}

// refute looks for a counterexample to one of several statements, and says to which.
func (s *Solver) refute(name, assumed string, goals []statement) (found *Open, err error) {
	err = s.scope(func() error {
		if err := s.say(define(goals)); err != nil {
			return err
		}
		found, err = s.refuteDefined(name, assumed, goals)
		return err
	})
	return found, err
}

// refuteDefined is refute where the statements have their name.
func (s *Solver) refuteDefined(name, assumed string, goals []statement) (found *Open, err error) {
	err = s.scope(func() error {
		if err := s.say(assumed); err != nil {
			return err
		}
		a, err := s.within("(assert (not |all of them|))\n")
		if err != nil || a == Unsat {
			return err
		}
		for _, g := range goals {
			if a, err = s.within(refute(g.step, few)); err != nil {
				return err
			}
			if a != Unsat {
				found = &Open{name, g.name, a}
				return nil
			}
		}
		return fmt.Errorf("%s: all together do not hold, and each does", name)
	})
	return found, err
}

// Possible returns the steps that are possible in no state of few waiters that the invariants
// allow.
func (t *Table) Possible(s *Solver) (never []Open, err error) {
	err = s.scope(func() error {
		if err := s.say(t.declarations(few) + t.assumed(few, nil)); err != nil {
			return err
		}
		for _, step := range t.Steps {
			a, err := s.within(step.may(few))
			if err != nil {
				return err
			}
			if a != Sat {
				never = append(never, Open{step.Name, "a state in which it is possible", a})
			}
		}
		return nil
	})
	return never, err
}

// A Doubt is a reason to distrust a proof, and the question that removes it.
type Doubt struct {
	Name string
	ask  func(s *Solver) (string, error)
}

// Doubts returns them: each part of each invariant may be superfluous, and each planted defect may
// go unnoticed.
func (t *Table) Doubts() (doubts []Doubt) {
	for _, i := range t.Parts() {
		doubts = append(doubts, Doubt{"without " + i.Name, func(s *Solver) (string, error) {
			o, err := t.Refute(s, i)
			switch {
			case err != nil:
				return "", err
			case o == nil:
				return "", fmt.Errorf("nobody needs %q", i.Name)
			case o.Answer != Sat:
				return "", fmt.Errorf("undecided: %s", o)
			}
			return o.String(), nil
		}})
	}
	for _, d := range t.Defects {
		doubts = append(doubts, Doubt{"planted: " + d.Name, func(s *Solver) (string, error) { return d.refuse(s) }})
	}
	return doubts
}

// refuse plants the defect in a table of its own, and has the solver and a bounded run refuse it.
func (d *Defect) refuse(s *Solver) (string, error) {
	t := d.make()
	o, err := t.Refute(s, nil)
	switch {
	case err != nil:
		return "", err
	case o == nil:
		return "", fmt.Errorf("the proof does not notice")
	case o.Answer != Sat:
		return "", fmt.Errorf("undecided: %s", o)
	}
	m, from := d.start(t)
	r := m.Reach(from, d.States, d.may)
	switch {
	case (r.Bad != "") != d.Reaches:
		return "", fmt.Errorf("a bounded run is said to reach a bad state: %t; it has met %q in %d states", d.Reaches, r.Bad, r.States)
	case r.Bad != "":
		return fmt.Sprintf("%s; a bounded run reaches a bad state: %s", o, r.Bad), nil
	default:
		return fmt.Sprintf("%s; only the induction breaks: a bounded run meets nothing bad in %d states", o, r.States), nil
	}
}

// Resolve asks all doubts, and calls report for each, in order.
func Resolve(doubts []Doubt, solver string, report func(d Doubt, answer string, err error)) error {
	answers, fails := make([]string, len(doubts)), make([]error, len(doubts))
	err := share(len(doubts), solver, func(s *Solver, n int) error {
		answers[n], fails[n] = doubts[n].ask(s)
		return nil
	})
	if err != nil {
		return err
	}
	for n, d := range doubts {
		report(d, answers[n], fails[n])
	}
	return nil
}
