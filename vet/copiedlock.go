package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

var copiedLock = &analysis.Analyzer{
	Name: "copiedlock",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find locks that are copied by a channel or out of an interface

A copy of a lock is another lock: it knows nothing of the goroutines that hold the first or wait for
it. The analyzer copylocks of go vet finds assignments, arguments, returns, ranges and conversions
to interfaces. It does not look at what is sent, nor at the variable of a type switch:

	ch <- *mu // a channel of interfaces, or of the type

	switch v := x.(type) {
	case sync.Mutex: // v is a copy
	}

Those are reported for the types of Farad that must not be copied, and for structs and arrays that
contain one. A value that is made where it is sent, as by a composite literal or a call, is no copy.

Not found are copies by append, copy, package reflect, and type parameters.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runCopiedLock,
}

func runCopiedLock(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.SendStmt)(nil), (*ast.TypeSwitchStmt)(nil)}, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SendStmt:
			if !exists(n.Value) {
				return
			}
			if inner := contained(pass.TypesInfo.TypeOf(n.Value)); inner != "" {
				pass.ReportRangef(n.Value, "this sends a copy of a lock: %s", inner)
			}
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				v, ok := pass.TypesInfo.Implicits[c].(*types.Var)
				if !ok || types.IsInterface(v.Type()) || !mentions(pass.TypesInfo, c, v) {
					continue
				}
				if inner := contained(v.Type()); inner != "" {
					first := c.(*ast.CaseClause).List[0]
					pass.ReportRangef(first, "%s is a copy of a lock in this case: %s", v.Name(), inner)
				}
			}
		}
	})
	return nil, nil
}

// exists reports whether an expression is a value that is somewhere already.
func exists(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.IndexExpr, *ast.SelectorExpr:
		return true
	case *ast.StarExpr:
		_, call := ast.Unparen(e.X).(*ast.CallExpr)
		return !call // it may return a pointer to a new value, as new does
	}
	return false
}

// contained returns the type of Farad that must not be copied which a type is or contains, "" if
// there is none.
func contained(t types.Type) string { return containedIn(t, map[types.Type]bool{}) }

func containedIn(t types.Type, seen map[types.Type]bool) string {
	if t == nil || seen[t] {
		return ""
	}
	seen[t] = true
	if name := named(t); name != "" && !isPointer(t) && isLock(types.Unalias(t).(*types.Named)) {
		return name
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if name := containedIn(f.Type(), seen); name != "" {
				return name
			}
		}
	case *types.Array:
		return containedIn(u.Elem(), seen)
	}
	return ""
}

// isLock reports whether a struct of Farad has a field that says that it must not be copied.
func isLock(t *types.Named) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if n, ok := types.Unalias(f.Type()).(*types.Named); ok && n.Obj().Name() == "noCopy" {
			return true
		}
	}
	return false
}
