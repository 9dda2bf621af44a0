package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

var unreleasedFuture = &analysis.Analyzer{
	Name: "unreleasedfuture",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find futures that are bound and never released

A future holds its place in the line, and then what it was granted, until it is released or its
grant is taken. One that is dropped blocks everybody behind it:

	var f waiter.Future
	sem.Bind(&f, 1)
	select {
	case <-f.Done():
		return work() // the permit is never given back
	case <-ctx.Done():
		return ctx.Err() // the place in line is never given up
	}

Reported is a future in a local variable that the function binds, uses by its methods and by the
waits of package runtime, and neither releases nor takes in any place. The fix defers the release
directly behind the bind, if the function calls no other release.

Not found are futures in fields, slices and maps, those that are passed to other functions, stored
or combined, and those that only some paths release. A future of no permits has nothing to release;
nor has one that ends with an error, so nothing is said if its Err is passed to a function.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runUnreleasedFuture,
}

// futures are the types of futures, with the methods that end a round.
var futures = map[string][]string{
	"waiter.Future": {"Release", "Take"},
	"fleet.Future":  {"Release", "Permit"},
}

// A round is what a declaration does with a local future.
type round struct {
	typ   string
	bind  *ast.CallExpr // the first
	in    ast.Stmt      // the statement that it is, nil if it is part of another
	loop  bool          // it is in a loop or a function literal
	ended bool          // or it may be, elsewhere
}

func runUnreleasedFuture(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		decl := n.(*ast.FuncDecl)
		if decl.Body == nil {
			return
		}
		rounds := map[*types.Var]*round{}
		otherRelease := false
		walk(decl.Body, func(n ast.Node, above []ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				m, _ := called(pass.TypesInfo, n)
				otherRelease = otherRelease || m.role == release
			case *ast.Ident:
				v, ok := pass.TypesInfo.ObjectOf(n).(*types.Var)
				if !ok || v.IsField() || v.Parent() == pass.Pkg.Scope() {
					return true
				}
				if pass.TypesInfo.Defs[n] != nil {
					if typ := named(v.Type()); futures[typ] != nil && isFresh(pass.TypesInfo, n, above) {
						rounds[v] = &round{typ: typ}
					}
					return true
				}
				if r := rounds[v]; r != nil {
					r.use(pass, above)
				}
			}
			return true
		})
		for v, r := range rounds {
			if r.bind == nil || r.ended {
				continue
			}
			ends := futures[r.typ]
			d := analysis.Diagnostic{
				Pos: r.bind.Pos(), End: r.bind.End(),
				Message: v.Name() + " is bound and never released: " + v.Name() + "." + ends[0] +
					" ends it in every state",
			}
			if r.in != nil && !r.loop && !otherRelease {
				d.SuggestedFixes = []analysis.SuggestedFix{{
					Message: "Defer the release",
					TextEdits: []analysis.TextEdit{{
						Pos: r.in.End(), End: r.in.End(), NewText: []byte("\ndefer " + v.Name() + "." + ends[0] + "()"),
					}},
				}}
			}
			pass.Report(d)
		}
	})
	return nil, nil
}

// isFresh reports whether a definition makes a future, rather than naming one that is elsewhere.
func isFresh(info *types.Info, id *ast.Ident, above []ast.Node) bool {
	switch p := above[len(above)-1].(type) {
	case *ast.ValueSpec:
		return len(p.Values) == 0 && !isPointer(info.ObjectOf(id).Type())
	case *ast.AssignStmt:
		if len(p.Lhs) != 1 || len(p.Rhs) != 1 {
			return false
		}
		switch e := ast.Unparen(p.Rhs[0]).(type) {
		case *ast.CompositeLit:
			return true
		case *ast.UnaryExpr:
			_, lit := ast.Unparen(e.X).(*ast.CompositeLit)
			return e.Op == token.AND && lit
		case *ast.CallExpr:
			b, ok := typeutil.Callee(info, e).(*types.Builtin)
			return ok && b.Name() == "new"
		}
	}
	return false
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// use notes one use of the future, by the nodes above it.
func (r *round) use(pass *analysis.Pass, above []ast.Node) {
	i := len(above) - 1
	for ; i >= 0; i-- {
		u, unary := above[i].(*ast.UnaryExpr)
		address := unary && u.Op == token.AND
		if _, paren := above[i].(*ast.ParenExpr); !paren && !address {
			break
		}
	}
	if i < 0 {
		r.ended = true
		return
	}
	switch p := above[i].(type) {
	case *ast.SelectorExpr:
		call, ok := above[i-1].(*ast.CallExpr)
		switch {
		case !ok || call.Fun != ast.Expr(p), slices.Contains(futures[r.typ], p.Sel.Name):
			r.ended = true
		case p.Sel.Name == "Err":
			_, passed := above[i-2].(*ast.CallExpr) // to what may require that it is an error
			r.ended = r.ended || passed
		case !slices.Contains([]string{"Poll", "Done", "Complete", "String"}, p.Sel.Name):
			r.ended = true
		}
	case *ast.CallExpr:
		f := typeutil.StaticCallee(pass.TypesInfo, p)
		typ, name := methodOf(f)
		switch {
		case typ != "" && strings.HasPrefix(name, "Bind"):
			v := pass.TypesInfo.Types[p.Args[len(p.Args)-1]].Value
			r.ended = r.ended || v != nil && v.ExactString() == "0" // of no permits
			r.bound(p, above[:i])
		case typ == "runtime.Context" && name == "Poll":
		case isFunc(pass.TypesInfo, p, root+"runtime", "Await", "Select", "Join", "BlockOn"):
		default:
			r.ended = true
		}
	default:
		r.ended = true
	}
}

func (r *round) bound(call *ast.CallExpr, above []ast.Node) {
	if r.bind != nil {
		r.loop = true // two rounds: where the release belongs is not certain
		return
	}
	r.bind = call
	if stmt, ok := above[len(above)-1].(*ast.ExprStmt); ok {
		r.in = stmt
	}
	for _, n := range above {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.IfStmt, *ast.CaseClause, *ast.CommClause:
			r.loop = true
		}
	}
}
