package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

// A path is a variable and the fields that lead from it to a lock: s.pool.mu. Two equal paths are
// the same lock as long as nothing assigns to the variable or to a field on the way.
type path struct {
	root *types.Var
	text string // with the fields, without dereferences
}

// pathOf returns the path that an expression is. Elements of slices and maps, and what calls
// return, have none.
func pathOf(info *types.Info, e ast.Expr) (p path, ok bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := info.ObjectOf(e).(*types.Var)
		return path{v, e.Name}, ok
	case *ast.StarExpr:
		return pathOf(info, e.X)
	case *ast.UnaryExpr:
		if e.Op.String() == "&" {
			return pathOf(info, e.X)
		}
	case *ast.SelectorExpr:
		if s := info.Selections[e]; s == nil { // of a package
			v, ok := info.Uses[e.Sel].(*types.Var)
			return path{v, e.Sel.Name}, ok
		} else if s.Kind() == types.FieldVal {
			p, ok = pathOf(info, e.X)
			p.text += "." + e.Sel.Name
			return p, ok
		}
	}
	return path{}, false
}

// within reports whether q is p, or leads on from p.
func (p path) within(q path) bool {
	return p.root == q.root && (p.text == q.text || strings.HasPrefix(q.text, p.text+"."))
}

// variable returns the local variable that an expression names, nil if it is no variable.
func variable(info *types.Info, e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := info.ObjectOf(id).(*types.Var)
	return v
}

// walk calls f for every node below n, with the nodes above it, the nearest last. If f returns
// false the nodes below are left out.
func walk(n ast.Node, f func(n ast.Node, above []ast.Node) bool) {
	var above []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return false
		}
		if !f(n, above) {
			return false
		}
		above = append(above, n)
		return true
	})
}
