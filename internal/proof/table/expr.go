// Package table has algorithms as tables of atomic steps. A solver proves of a table what holds for
// any number of threads; tests follow the code step by step beside it. Read table.go first, then
// engine.go.
//
// What the tables call thousands of times is not inlined: the package would take twice as long to
// compile, and it is compiled for each way of building.
package table

import (
	"fmt"
	"sync/atomic"
)

// A Sort is what an expression is.
type Sort uint8

// The sorts. A Node is a waiter: there is any number of them.
const (
	Bool Sort = iota
	Int
	Node
)

// A Kind says whose a variable is.
type Kind uint8

const (
	// Shared variables are in memory; the tie compares them.
	Shared Kind = iota
	// Ghost variables exist in the proof only.
	Ghost
	// Owner variables are the locals of the thread that has the mutex, of which there is one.
	Owner
	// Thread variables are the locals of any other thread. The proof knows nothing of them: in each
	// step they may have any value. Only the tie follows those of the thread under test.
	Thread
	// Rigid variables never change.
	Rigid
)

// A Var is a variable of a table, or, if it is an array, one for each node.
type Var struct {
	Name  string
	Sort  Sort
	Kind  Kind
	Array bool
	slot  int
	fixed *Expr // not nil: in this table it is no variable, but always that
}

type op uint8

const (
	opConst op = iota
	opVar
	opSelect
	opBound
	opNot
	opAnd
	opOr
	opImplies
	opEq
	opLess
	opLessEq
	opAdd
	opSub
	opIf
	opAll
	opAny
)

// An Expr is a formula or a term over the variables of a state, and of the next one.
type Expr struct {
	op   op
	sort Sort
	n    int64 // opConst: the value; opBound, opAll, opAny: the number of the bound node
	v    *Var
	next bool // opVar, opSelect: in the next state
	args []*Expr
}

// Num is a constant.
//
//go:noinline
func Num(n int64) *Expr { return &Expr{op: opConst, sort: Int, n: n} }

// Is is a constant of sort Bool.
func Is(b bool) *Expr {
	e := &Expr{op: opConst, sort: Bool}
	if b {
		e.n = 1
	}
	return e
}

// True is what always holds.
var True = Is(true)

// V is the value of a variable.
//
//go:noinline
func (v *Var) V() *Expr {
	if v.Array {
		panic(v.Name + " is an array")
	}
	if v.fixed != nil {
		return v.fixed
	}
	return &Expr{op: opVar, sort: v.Sort, v: v}
}

// At is the value of an array at node x.
//
//go:noinline
func (v *Var) At(x *Expr) *Expr {
	if !v.Array || x.sort != Node {
		panic(v.Name + " is no array, or its index is no node")
	}
	return &Expr{op: opSelect, sort: v.Sort, v: v, args: []*Expr{x}}
}

// Not holds if a does not.
//
//go:noinline
func Not(a *Expr) *Expr { return node(opNot, Bool, a) }

// And holds if all do.
//
//go:noinline
func And(a ...*Expr) *Expr { return node(opAnd, Bool, a...) }

// Or holds if one does.
//
//go:noinline
func Or(a ...*Expr) *Expr { return node(opOr, Bool, a...) }

// Implies holds unless a does and b does not.
func Implies(a, b *Expr) *Expr { return node(opImplies, Bool, a, b) }

// Eq holds if a and b are the same.
//
//go:noinline
func Eq(a, b *Expr) *Expr {
	if a.sort != b.sort {
		panic("comparison of different sorts")
	}
	return &Expr{op: opEq, sort: Bool, args: []*Expr{a, b}}
}

// Less is a < b.
func Less(a, b *Expr) *Expr { return node(opLess, Bool, ints(a, b)...) }

// LessEq is a ≤ b.
func LessEq(a, b *Expr) *Expr { return node(opLessEq, Bool, ints(a, b)...) }

// Add is a sum.
func Add(a ...*Expr) *Expr { return node(opAdd, Int, ints(a...)...) }

// Sub is a difference.
func Sub(a, b *Expr) *Expr { return node(opSub, Int, ints(a, b)...) }

// If is a or b.
func If(c, a, b *Expr) *Expr {
	if a.sort != b.sort || c.sort != Bool {
		panic("a choice between different sorts")
	}
	return &Expr{op: opIf, sort: a.sort, args: []*Expr{c, a, b}}
}

// All holds if f holds of every node.
func All(f func(x *Expr) *Expr) *Expr { return quantify(opAll, f) }

// Any holds if f holds of a node.
func Any(f func(x *Expr) *Expr) *Expr { return quantify(opAny, f) }

// bound numbers the nodes of quantifiers: each has its own, so that none is captured by another.
var bound atomic.Int64

// outermost is the number of a node that no quantifier has: the one of which an update of all
// speaks.
const outermost = 0

//go:noinline
func quantify(o op, f func(x *Expr) *Expr) *Expr {
	x := &Expr{op: opBound, sort: Node, n: bound.Add(1)}
	return &Expr{op: o, sort: Bool, n: x.n, args: []*Expr{f(x)}}
}

func node(o op, s Sort, args ...*Expr) *Expr {
	for _, a := range args {
		if s == Bool && o != opLess && o != opLessEq && a.sort != Bool {
			panic(fmt.Sprintf("an operand of sort %d", a.sort))
		}
	}
	return &Expr{op: o, sort: s, args: args}
}

func ints(a ...*Expr) []*Expr {
	for _, e := range a {
		if e.sort != Int {
			panic("an operand that is no number")
		}
	}
	return a
}

// Next is e in the next state.
func Next(e *Expr) *Expr {
	r := *e
	r.next = e.v != nil && e.v.Kind != Rigid
	r.args = nil
	for _, a := range e.args {
		r.args = append(r.args, Next(a))
	}
	return &r
}

// An Update says what a variable is in the next state. What no update names stays as it is.
type Update struct {
	v  *Var
	at *Expr               // of an array: the node whose value changes; nil: all
	to *Expr               // the new value
	of func(x *Expr) *Expr // of an array: the new value of x
}

// Set is the update of v to e.
//
//go:noinline
func (v *Var) Set(e *Expr) Update {
	if v.Array || v.Sort != e.sort {
		panic("no such update of " + v.Name)
	}
	return Update{v: v, to: e}
}

// SetAt is the update of v to e at node x.
//
//go:noinline
func (v *Var) SetAt(x, e *Expr) Update {
	if !v.Array || v.Sort != e.sort || x.sort != Node {
		panic("no such update of " + v.Name)
	}
	return Update{v: v, at: x, to: e}
}

// SetAll is the update of v to f(x) at every node x.
func (v *Var) SetAll(f func(x *Expr) *Expr) Update { return Update{v: v, of: f} }
