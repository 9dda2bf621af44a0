package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (g *generator) list(list []ast.Stmt) {
	for i, s := range list {
		if droppable(s) {
			g.add("drop", "", []edit{g.remove(s.Pos(), s.End())}, s)
			if used := g.locals(s); used != "" {
				g.out[len(g.out)-1].compiling = []edit{g.replace(s.Pos(), s.End(), used, "")}
			}
		}
		if i+1 < len(list) {
			g.swap(s, list[i+1:])
		}
	}
}

func droppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ReturnStmt:
		return len(s.Results) == 0
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && len(targetsOf(s)) > 0
	}
	return false
}

// locals returns a statement that does nothing but use the local variables of s.
func (g *generator) locals(s ast.Stmt) string {
	var names, blanks []string
	seen := map[types.Object]bool{}
	ast.Inspect(s, func(n ast.Node) bool {
		id, _ := n.(*ast.Ident)
		v, ok := g.file.pkg.info.Uses[id].(*types.Var)
		if !ok || v.IsField() || v.Parent() == v.Pkg().Scope() || seen[v] || s.Pos() <= v.Pos() && v.Pos() < s.End() {
			return true
		}
		seen[v] = true
		names, blanks = append(names, id.Name), append(blanks, "_")
		return true
	})
	if len(names) == 0 {
		return ""
	}
	return strings.Join(blanks, ", ") + " = " + strings.Join(names, ", ")
}

// swap exchanges a statement with the next one, or a lock and its deferred unlock with the one
// after them.
func (g *generator) swap(a ast.Stmt, next []ast.Stmt) {
	b := next[0]
	_, aLocks := lockCall(a)
	bCall, bLocks := lockCall(b)
	if ret, ok := b.(*ast.ReturnStmt); ok {
		if call, _ := lockCall(a); simple(a) && call == unlocks && g.calls(ret) {
			at := g.offset(a.Pos())
			g.add("swap.late", "defer "+g.print(a), []edit{{at, at, "defer "}}, a, b)
		}
		return
	}
	if _, ok := b.(*ast.DeferStmt); ok {
		if aLocks && bCall == unlocks && len(next) > 1 && (simple(next[1]) || isIf(next[1])) {
			g.exchange(a.Pos(), b.End(), next[1], a, b)
		}
		return
	}
	switch {
	case simple(a) && simple(b):
		if g.defines(a, b) {
			return // does not compile
		}
		if g.calls(a) || g.calls(b) || g.depend(a, b) {
			g.exchange(a.Pos(), a.End(), b, a)
		}
	case simple(a) && aLocks && closed(b), simple(b) && bLocks && closed(a):
		g.exchange(a.Pos(), a.End(), b, a)
	}
}

func (g *generator) exchange(from, to token.Pos, second ast.Stmt, first ...ast.Node) {
	edits := []edit{
		{g.offset(from), g.offset(to), g.text(second.Pos(), second.End())},
		{g.offset(second.Pos()), g.offset(second.End()), g.text(from, to)},
	}
	g.add("swap", "", edits, append(first, second)...)
}

// simple reports whether a statement does its work where it stands and nothing else.
func simple(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt:
		return true
	}
	return false
}

func isIf(s ast.Stmt) bool {
	_, ok := s.(*ast.IfStmt)
	return ok
}

// closed reports whether a compound statement always runs to its end, with the locks as it found
// them: so that a lock can be taken or released on its other side.
func closed(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
	default:
		return false
	}
	ok := true
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			ok = false
		case ast.Stmt:
			if _, locks := lockCall(n); locks {
				ok = false
			}
		}
		return ok
	})
	return ok
}

type lockKind int

const (
	locks lockKind = iota + 1
	unlocks
)

// lockCall reports whether a statement locks or unlocks a mutex, now or deferred.
func lockCall(s ast.Stmt) (lockKind, bool) {
	var x ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		x = s.X
	case *ast.DeferStmt:
		x = s.Call
	}
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 0 {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			switch sel.Sel.Name {
			case "Lock", "RLock":
				return locks, true
			case "Unlock", "RUnlock":
				return unlocks, true
			}
		}
	}
	return 0, false
}

// calls reports whether a statement does anything that another goroutine could see happen at some
// moment: a call, a send, a receive.
func (g *generator) calls(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if t := g.file.pkg.info.Types[n.Fun]; !t.IsType() && !t.IsBuiltin() {
				found = true
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.SendStmt:
			found = true
		}
		return !found
	})
	return found
}

// defines reports whether b uses a variable that a declares.
func (g *generator) defines(a, b ast.Stmt) bool {
	declared := map[types.Object]bool{}
	for _, x := range targetsOf(a) {
		if id, ok := x.(*ast.Ident); ok && g.file.pkg.info.Defs[id] != nil {
			declared[g.file.pkg.info.Defs[id]] = true
		}
	}
	found := false
	ast.Inspect(b, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || declared[g.file.pkg.info.Uses[id]]
		}
		return !found
	})
	return found
}

// depend reports whether one of two statements uses what the other sets.
func (g *generator) depend(a, b ast.Stmt) bool {
	return g.uses(a, targetsOf(b)) || g.uses(b, targetsOf(a))
}

func (g *generator) uses(s ast.Stmt, set []ast.Expr) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok {
			for _, t := range set {
				found = found || types.ExprString(x) == types.ExprString(t)
			}
		}
		return !found
	})
	return found
}

// targetsOf returns what a statement assigns to.
func targetsOf(s ast.Stmt) []ast.Expr {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return []ast.Expr{s.X}
	case *ast.AssignStmt:
		var set []ast.Expr
		for _, x := range s.Lhs {
			if id, ok := x.(*ast.Ident); !ok || id.Name != "_" {
				set = append(set, x)
			}
		}
		return set
	}
	return nil
}

func (g *generator) noLock(body *ast.BlockStmt) {
	var edits []edit
	var nodes []ast.Node
	kinds := map[lockKind]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		s, ok := n.(ast.Stmt)
		if !ok {
			return true
		}
		if kind, ok := lockCall(s); ok {
			kinds[kind] = true
			edits = append(edits, g.remove(s.Pos(), s.End()))
			nodes = append(nodes, s)
		}
		return true
	})
	if kinds[locks] && kinds[unlocks] {
		g.add("nolock", "", edits, nodes...)
	}
}

func (g *generator) dropCase(c *ast.CaseClause) {
	if len(c.Body) > 0 {
		from, to := c.Body[0].Pos(), c.Body[len(c.Body)-1].End()
		nodes := make([]ast.Node, len(c.Body))
		for i, s := range c.Body {
			nodes[i] = s
		}
		g.add("case", "", []edit{g.remove(from, to)}, nodes...)
	}
}

func (g *generator) results(r *ast.ReturnStmt) {
	flipped := map[string]string{"true": "false", "false": "true"}
	for _, x := range r.Results {
		if id, ok := x.(*ast.Ident); ok && flipped[id.Name] != "" {
			note := g.print(r) + " -> " + flipped[id.Name]
			g.add("return", note, []edit{g.replace(id.Pos(), id.End(), flipped[id.Name], "")}, r)
		}
	}
}
