package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"
)

// A state is what a function has of a lock at one point, on one of the paths that lead there. All
// states at a point are a set: what holds for each of them holds on every path.
type state struct {
	held    uint8      // how often: 0, 1, or 2 for more
	pending *types.Var // what the outcome of the last acquire is in, not looked at yet
	inline  bool       // the outcome is the condition that ends the block
	failed  bool       // the last acquire has failed
	done    bool       // there was an acquire, and its release
	owed    bool       // a release was deferred without an acquire
	lost    bool       // nothing is known any more
	at      token.Pos  // of the last acquire
}

// maxStates bounds the states at a point. A function that has more is not judged.
const maxStates = 32

// A lock is what one function does with one lock, in one of its modes.
type lock struct {
	path    path
	typ     string // of Farad
	release string // the method that gives back; "" of a handle
	handle  bool   // path is a variable with a handle

	args     map[string]bool // the arguments that say what and how much
	argRoots []*types.Var
	acquires int
	releases int
	deferred bool // a defer gives back
	outside  bool // another function of the same declaration acquires or gives back
	foreign  bool // gives back on a path without an acquire
	broken   bool // there are too many states
	paid     bool // a return on which a deferred release gives back what was not acquired

	exits []exit
	frees []free
}

// An exit is a return, with the states that lead to it.
type exit struct {
	stmt   *ast.ReturnStmt
	states []state
}

// A free is a release, with the states that lead to it.
type free struct {
	call   *ast.CallExpr
	stmt   *ast.DeferStmt // nil if it is not deferred
	states []state
}

// A scope is a function with what it does with locks. Function literals are scopes of their own.
type scope struct {
	pass  *analysis.Pass
	decl  *ast.FuncDecl // around it
	node  ast.Node      // *ast.FuncDecl or *ast.FuncLit
	typ   *ast.FuncType
	body  *ast.BlockStmt
	graph *cfg.CFG
	locks []*lock

	tagged map[ast.Expr]bool // cases of switches with a tag: no conditions
}

// scopes returns all functions that acquire something, with the balances of their locks.
func scopes(pass *analysis.Pass) []*scope {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	graphs := pass.ResultOf[ctrlflow.Analyzer].(*ctrlflow.CFGs)
	var all []*scope
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		decl := n.(*ast.FuncDecl)
		if decl.Body == nil {
			return
		}
		mine := []*scope{{pass: pass, decl: decl, node: decl, typ: decl.Type, body: decl.Body}}
		ast.Inspect(decl.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok {
				mine = append(mine, &scope{pass: pass, decl: decl, node: lit, typ: lit.Type, body: lit.Body})
			}
			return true
		})
		for _, s := range mine {
			s.find()
		}
		for _, s := range mine {
			for _, l := range s.locks {
				for _, other := range mine {
					l.outside = l.outside || other != s && other.has(l.path)
				}
			}
		}
		for _, s := range mine {
			s.locks = slices.DeleteFunc(s.locks, func(l *lock) bool { return l.acquires == 0 || len(l.args) > 1 })
			if len(s.locks) == 0 {
				continue
			}
			if s.node == decl {
				s.graph = graphs.FuncDecl(decl)
			} else {
				s.graph = graphs.FuncLit(s.node.(*ast.FuncLit))
			}
			if s.graph == nil {
				continue
			}
			for _, l := range s.locks {
				if !s.reassigned(l) {
					s.run(l)
				}
			}
			all = append(all, s)
		}
	})
	return all
}

// has reports whether the function acquires or releases a lock by the path.
func (s *scope) has(p path) bool {
	return slices.ContainsFunc(s.locks, func(l *lock) bool { return l.path == p })
}

// inside walks the body of the function without its literals.
func (s *scope) inside(f func(n ast.Node, above []ast.Node)) {
	walk(s.body, func(n ast.Node, above []ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		f(n, above)
		return true
	})
}

// find fills in the locks that the function acquires or gives back by a path.
func (s *scope) find() {
	s.tagged = map[ast.Expr]bool{}
	s.inside(func(n ast.Node, above []ast.Node) {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if n.Tag != nil {
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						s.tagged[e] = true
					}
				}
			}
		case *ast.CallExpr:
			m, on := called(s.pass.TypesInfo, n)
			switch m.role {
			case acquire, release:
				p, ok := pathOf(s.pass.TypesInfo, on)
				if !ok || p.root == nil {
					return
				}
				for _, l := range s.of(m, p) {
					l.note(s.pass.TypesInfo, n, m)
					if d, ok := above[len(above)-1].(*ast.DeferStmt); ok && d.Call == n && m.role == release {
						l.deferred = true
					}
				}
			case handle:
				if v := handleOf(s.pass.TypesInfo, n, above); v != nil {
					l := s.lock(lock{path: path{v, v.Name()}, typ: named(v.Type()), handle: true})
					l.acquires++
				}
			}
		}
	})
}

// of returns the locks that a call of m by a path is about. A release may be of a handle.
func (s *scope) of(m method, p path) []*lock {
	if handles[m.typ] {
		return []*lock{s.lock(lock{path: p, typ: m.typ, handle: true})}
	}
	back := m.release
	if m.role == release {
		back = m.name
	}
	return []*lock{s.lock(lock{path: p, typ: m.typ, release: back})}
}

// lock returns the lock of the function that is like l.
func (s *scope) lock(l lock) *lock {
	for _, o := range s.locks {
		if o.path == l.path && o.typ == l.typ && o.release == l.release {
			return o
		}
	}
	l.args = map[string]bool{}
	s.locks = append(s.locks, &l)
	return &l
}

// note counts a call, and keeps its arguments, except for the context or the duration.
func (l *lock) note(info *types.Info, call *ast.CallExpr, m method) {
	if m.role == acquire {
		l.acquires++
	} else {
		l.releases++
	}
	if l.handle {
		return
	}
	var text strings.Builder
	for i, a := range call.Args {
		if i == 0 && isLimit(info, call) {
			continue
		}
		if v := info.Types[a].Value; v != nil {
			text.WriteString(v.ExactString() + ",")
			continue
		}
		text.WriteString(types.ExprString(a) + ",")
		ast.Inspect(a, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := info.Uses[id].(*types.Var); ok {
					l.argRoots = append(l.argRoots, v)
				}
			}
			return true
		})
	}
	l.args[text.String()] = true
}

// isLimit reports whether the first parameter of what is called is a context or a duration.
func isLimit(info *types.Info, call *ast.CallExpr) bool {
	sig, ok := info.TypeOf(call.Fun).(*types.Signature)
	if !ok || sig.Params().Len() == 0 {
		return false
	}
	t := sig.Params().At(0).Type().String()
	return t == "context.Context" || t == "time.Duration"
}

// handleOf returns the local variable that a call's handle goes to.
func handleOf(info *types.Info, call *ast.CallExpr, above []ast.Node) *types.Var {
	a, ok := above[len(above)-1].(*ast.AssignStmt)
	if !ok || len(a.Rhs) != 1 || ast.Unparen(a.Rhs[0]) != call || isBlank(a.Lhs[0]) {
		return nil
	}
	return variable(info, a.Lhs[0])
}

// reassigned reports whether the lock's path, or an argument, may mean something else later.
func (s *scope) reassigned(l *lock) (changed bool) {
	info := s.pass.TypesInfo
	assigned := func(e ast.Expr, call ast.Expr) {
		id, isIdent := ast.Unparen(e).(*ast.Ident)
		if isIdent && (id.Name == "_" || info.Defs[id] != nil) {
			return
		}
		p, ok := pathOf(info, e)
		if !ok || p.root == nil {
			return
		}
		if l.handle && p == l.path && call != nil {
			if c, ok := ast.Unparen(call).(*ast.CallExpr); ok {
				if m, _ := called(info, c); m.role == handle {
					return
				}
			}
		}
		changed = changed || p.within(l.path) || slices.Contains(l.argRoots, p.root)
	}
	ast.Inspect(s.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, e := range n.Lhs {
				switch {
				case len(n.Rhs) == len(n.Lhs):
					assigned(e, n.Rhs[i])
				case len(n.Rhs) == 1:
					assigned(e, n.Rhs[0])
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil {
					assigned(e, nil)
				}
			}
		case *ast.IncDecStmt:
			assigned(n.X, nil)
		case *ast.UnaryExpr:
			if v := variable(info, n.X); n.Op == token.AND && v != nil {
				changed = changed || slices.Contains(l.argRoots, v) || l.handle && v == l.path.root
			}
		}
		return true
	})
	return changed
}

// A flow is the set of states at the beginning of each block.
type flow map[*cfg.Block][]state

// run finds the states of a lock at all points of the function, and keeps those at its releases
// and returns. It ends: sets only grow, and maxStates bounds them.
func (s *scope) run(l *lock) {
	if len(s.graph.Blocks) == 0 {
		return
	}
	in := flow{}
	first := s.graph.Blocks[0]
	in[first] = []state{{}}
	for work := []*cfg.Block{first}; len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		out := s.block(l, b, in[b], false)
		for i, next := range b.Succs {
			grown := false
			for _, st := range s.branch(l, b, i, out) {
				if !slices.Contains(in[next], st) {
					in[next] = append(in[next], st)
					grown = true
				}
			}
			if len(in[next]) > maxStates {
				l.broken = true
				return
			}
			if grown {
				work = append(work, next)
			}
		}
	}
	for _, b := range s.graph.Blocks {
		if len(in[b]) > 0 {
			s.block(l, b, in[b], true)
		}
	}
}

// block takes states through a block, up to its condition. With record it keeps what is found.
func (s *scope) block(l *lock, b *cfg.Block, states []state, record bool) []state {
	states = slices.Clone(states)
	cond := s.condition(b)
	for _, n := range b.Nodes {
		if d, ok := n.(*ast.DeferStmt); ok && s.event(l, d.Call) == release {
			if record {
				l.frees = append(l.frees, free{d.Call, d, slices.Clone(states)})
			}
			for i, st := range states {
				states[i].owed = st.owed || st.empty()
			}
			continue
		}
		r, returns := n.(*ast.ReturnStmt)
		if returns && record {
			for _, st := range states {
				l.paid = l.paid || st.owed && st.empty()
			}
		}
		for i := range states {
			if e, ok := n.(ast.Expr); !ok || e != cond {
				states[i] = s.mention(states[i], n)
			}
		}
		walk(n, func(c ast.Node, above []ast.Node) bool {
			if _, ok := c.(*ast.FuncLit); ok {
				return false
			}
			call, ok := c.(*ast.CallExpr)
			if !ok {
				return true
			}
			role := s.event(l, call)
			if role == release && record {
				l.frees = append(l.frees, free{call, nil, slices.Clone(states)})
			}
			for i, st := range states {
				switch role {
				case acquire, handle:
					states[i] = s.acquired(l, st, call, n, above, cond)
				case release:
					l.foreign = l.foreign || st.held == 0 && !st.empty() && !st.lost
					states[i] = st.released()
				}
			}
			return true
		})
		if returns && record {
			l.exits = append(l.exits, exit{r, slices.Clone(states)})
		}
	}
	return states
}

// empty reports that the last acquire failed, or that nothing has looked whether it did.
func (st state) empty() bool {
	return !st.lost && (st.pending != nil || st.failed && st.held == 0)
}

func (st state) released() state {
	switch {
	case st.held == 1:
		st.held, st.done = 0, true
	case st.held == 0 && !st.empty():
		st.lost = true
	}
	return st
}

// event returns what a call does with the lock.
func (s *scope) event(l *lock, call *ast.CallExpr) role {
	m, on := called(s.pass.TypesInfo, call)
	switch m.role {
	case acquire, release:
		p, ok := pathOf(s.pass.TypesInfo, on)
		back := m.release
		if m.role == release {
			back = m.name
		}
		if ok && p == l.path && (back == l.release || l.handle && handles[m.typ]) {
			return m.role
		}
	case handle:
		if l.handle {
			return handle // acquired compares the variable
		}
	}
	return none
}

// acquired is the state after an acquire. Its outcome goes to a variable, or is the condition, or
// is not understood.
func (s *scope) acquired(
	l *lock, st state, call *ast.CallExpr, n ast.Node, above []ast.Node, cond ast.Expr,
) state {
	info := s.pass.TypesInfo
	byError, byBool := mayFail(info, call)
	m, _ := called(info, call)
	var left []ast.Expr
	if len(above) > 0 {
		switch a := above[len(above)-1].(type) {
		case *ast.AssignStmt:
			if len(a.Rhs) == 1 && ast.Unparen(a.Rhs[0]) == call {
				left = a.Lhs
			}
		case *ast.ValueSpec:
			for _, name := range a.Names {
				left = append(left, name)
			}
		}
	}
	if m.role == handle && (len(left) == 0 || variable(info, left[0]) != l.path.root) {
		return st // of another handle
	}
	st.failed, st.at = false, call.Pos()
	if !byError && !byBool {
		st.held = min(st.held+1, 2)
		return st
	}
	if st.pending != nil {
		st.lost = true
	}
	if len(left) > 0 {
		last := left[len(left)-1]
		v := variable(info, last)
		if v != nil && v.Parent() != s.pass.Pkg.Scope() && !v.IsField() && !isBlank(last) {
			st.pending = v
			return st
		}
	}
	if e, ok := n.(ast.Expr); ok && e == cond && m.role == acquire {
		st.inline = true
		return st
	}
	st.lost = true
	return st
}

// mention is the state after a node that is no condition: what looks at the outcome of an acquire
// in any other way is not understood.
func (s *scope) mention(st state, n ast.Node) state {
	if st.pending != nil && mentions(s.pass.TypesInfo, n, st.pending) {
		st.lost, st.pending = true, nil
	}
	return st
}

func mentions(info *types.Info, n ast.Node, v *types.Var) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.ObjectOf(id) == v {
			found = true
		}
		return !found
	})
	return found
}

// condition returns the expression that decides which of two blocks comes after b.
func (s *scope) condition(b *cfg.Block) ast.Expr {
	if len(b.Succs) != 2 || len(b.Nodes) == 0 || b.Kind == cfg.KindRangeLoop {
		return nil
	}
	e, _ := b.Nodes[len(b.Nodes)-1].(ast.Expr)
	if e == nil || s.tagged[e] {
		return nil
	}
	if t := s.pass.TypesInfo.TypeOf(e); t == nil || !types.Identical(t.Underlying(), types.Typ[types.Bool]) &&
		!types.Identical(t, types.Typ[types.UntypedBool]) {
		return nil
	}
	return e
}

// branch returns the states with which the i-th successor of b begins.
func (s *scope) branch(l *lock, b *cfg.Block, i int, states []state) []state {
	cond := s.condition(b)
	out := make([]state, 0, len(states))
	for _, st := range states {
		if cond != nil && (st.pending != nil || st.inline) {
			switch s.outcome(l, cond, i == 0, st) {
			case succeeded:
				st.held = min(st.held+1, 2)
				st.pending, st.inline = nil, false
			case failed:
				st.failed, st.pending, st.inline = true, nil, false
			case unclear:
				st.lost, st.pending, st.inline = true, nil, false
			}
		}
		out = append(out, st)
	}
	return out
}

// A verdict is what a condition says of an acquire.
type verdict uint8

const (
	unrelated verdict = iota
	unclear
	succeeded
	failed
)

// outcome returns what it says of the acquire of st that a condition is true, or false.
func (s *scope) outcome(l *lock, cond ast.Expr, is bool, st state) verdict {
	info := s.pass.TypesInfo
	switch e := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return s.outcome(l, e.X, !is, st)
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR:
			if is == (e.Op == token.LAND) {
				return max(s.outcome(l, e.X, is, st), s.outcome(l, e.Y, is, st))
			}
			// One of them may be as it is, whichever that is.
			x, y := s.outcome(l, e.X, is, st), s.outcome(l, e.Y, is, st)
			if x == unrelated && y == unrelated {
				return unrelated
			}
			return unclear
		case token.EQL, token.NEQ:
			x, y := ast.Unparen(e.X), ast.Unparen(e.Y)
			if info.Types[x].IsNil() {
				x, y = y, x
			}
			if !info.Types[y].IsNil() {
				break
			}
			isNil := is == (e.Op == token.EQL)
			call, isCall := x.(*ast.CallExpr)
			v := variable(info, x)
			switch {
			case st.inline && isCall && s.event(l, call) == acquire, st.pending != nil && v == st.pending:
				return pick(isNil)
			case l.handle && st.pending != nil && v == l.path.root:
				return pick(!isNil)
			}
		}
	case *ast.Ident:
		if st.pending != nil && variable(info, e) == st.pending {
			return pick(is)
		}
	case *ast.CallExpr:
		if st.inline && s.event(l, e) == acquire {
			return pick(is)
		}
		if st.pending != nil && isFunc(info, e, "errors", "Is", "As") && variable(info, e.Args[0]) == st.pending {
			if is {
				return failed
			}
			return unrelated
		}
	}
	if st.inline || mentions(info, cond, st.pending) {
		return unclear
	}
	return unrelated
}

func pick(success bool) verdict {
	if success {
		return succeeded
	}
	return failed
}
