package table

import (
	"fmt"
	"strings"
)

// The rendering to SMT-LIB 2. Where something is proved the waiters are a sort without an
// interpretation: there may be any number of them. Where a counterexample is looked for there are
// few, and "all" and "any" are written out: then the solver always decides, and what it finds is a
// counterexample among any number, too.

// A writer renders expressions.
type writer struct {
	strings.Builder
	few   int // how many waiters there are; 0: any number
	bound map[int64]string
	depth int
}

func sortName(s Sort) string { return [...]string{"Bool", "Int", "Node"}[s] }

func (v *Var) smt(next bool) string {
	if next && v.Kind != Rigid {
		return "|" + v.Name + "'|"
	}
	return "|" + v.Name + "|"
}

var operators = map[op]string{
	opNot: "not", opAnd: "and", opOr: "or", opImplies: "=>", opEq: "=", opLess: "<", opLessEq: "<=", opAdd: "+",
	opSub: "-", opIf: "ite", opAll: "forall", opAny: "exists",
}

func (w *writer) list(name string, args []*Expr) {
	w.WriteString("(" + name)
	for _, a := range args {
		w.WriteByte(' ')
		w.expr(a)
	}
	w.WriteByte(')')
}

func (w *writer) expr(e *Expr) {
	switch e.op {
	case opConst:
		switch {
		case e.sort == Bool:
			fmt.Fprint(w, e.n == 1)
		case e.n < 0:
			fmt.Fprintf(w, "(- %d)", -e.n)
		default:
			fmt.Fprint(w, e.n)
		}
	case opVar:
		w.WriteString(e.v.smt(e.next))
	case opSelect:
		w.list("select "+e.v.smt(e.next), e.args)
	case opBound:
		w.WriteString(w.bound[e.n])
	case opAnd, opOr:
		if len(e.args) == 0 {
			fmt.Fprint(w, e.op == opAnd)
			return
		}
		w.list(operators[e.op], e.args)
	case opAll, opAny:
		w.quantify(e.op, e.n, func() { w.expr(e.args[0]) })
	default:
		w.list(operators[e.op], e.args)
	}
}

// quantify renders what body renders, for all nodes or any.
func (w *writer) quantify(o op, n int64, body func()) {
	if w.few == 0 {
		w.depth++
		w.bound[n] = fmt.Sprintf("x%d", w.depth)
		fmt.Fprintf(w, "(%s ((x%d Node)) ", operators[o], w.depth)
		body()
		w.depth--
		w.WriteByte(')')
		return
	}
	w.WriteString(map[op]string{opAll: "(and", opAny: "(or"}[o])
	for i := range w.few {
		w.bound[n] = fmt.Sprintf("n%d", i)
		w.WriteByte(' ')
		body()
	}
	w.WriteByte(')')
}

// text renders e among so many waiters.
func (e *Expr) text(few int) string {
	w := writer{few: few, bound: map[int64]string{}}
	w.expr(e)
	return w.String()
}

// declarations declares the variables of a state and of the next one.
func (t *Table) declarations(few int) string {
	var b strings.Builder
	if few == 0 {
		b.WriteString("(declare-sort Node 0)\n")
	} else {
		b.WriteString("(declare-datatypes ((Node 0)) ((")
		for i := range few {
			fmt.Fprintf(&b, "(n%d)", i)
		}
		b.WriteString(")))\n")
	}
	for _, v := range t.Vars {
		s := sortName(v.Sort)
		if v.Array {
			s = "(Array Node " + s + ")"
		}
		fmt.Fprintf(&b, "(declare-const %s %s)\n", v.smt(false), s)
		if v.Kind != Rigid && v.Kind != Thread {
			fmt.Fprintf(&b, "(declare-const %s %s)\n", v.smt(true), s)
		}
	}
	return b.String()
}

// relation renders what a step does, without its guard. What it changes of a thread's variables is
// left out: the proof knows nothing of them in any state.
func (s *Step) relation(t *Table, few int) string {
	var b strings.Builder
	changed := map[*Var]string{}
	var all []string
	for _, u := range s.Do {
		switch {
		case u.v.Kind == Thread:
		case u.of != nil:
			changed[u.v] = ""
			w := writer{few: few, bound: map[int64]string{}}
			w.quantify(opAll, outermost, func() {
				fmt.Fprintf(&w, "(= (select %s %s) ", u.v.smt(true), w.bound[outermost])
				w.expr(u.of(&Expr{op: opBound, sort: Node, n: outermost}))
				w.WriteByte(')')
			})
			all = append(all, w.String())
		case u.at != nil:
			old, ok := changed[u.v]
			if !ok {
				old = u.v.smt(false)
			}
			changed[u.v] = fmt.Sprintf("(store %s %s %s)", old, u.at.text(few), u.to.text(few))
		default:
			changed[u.v] = u.to.text(few)
		}
	}
	for _, v := range t.Vars {
		if v.Kind == Rigid || v.Kind == Thread {
			continue
		}
		to, ok := changed[v]
		switch {
		case !ok:
			fmt.Fprintf(&b, "(assert (= %s %s))\n", v.smt(true), v.smt(false))
		case to != "":
			fmt.Fprintf(&b, "(assert (= %s %s))\n", v.smt(true), to)
		}
	}
	for _, f := range all {
		fmt.Fprintf(&b, "(assert %s)\n", f)
	}
	return b.String()
}

// may renders the condition under which a step is possible.
func (s *Step) may(few int) string {
	at := s.from
	if !s.Inside { // Any thread may be there.
		at = True
	}
	return fmt.Sprintf("(assert %s)\n(assert %s)\n", at.text(few), s.Guard.text(few))
}
