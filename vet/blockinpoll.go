package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

var blockInPoll = &analysis.Analyzer{
	Name: "blockinpoll",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find waits that block the worker of a task

A task of package runtime (rt) is cooperative: it keeps its worker until it waits by a future. A
wait that blocks the goroutine stops the worker, and with it the tasks behind it. If all workers
wait for what only another task can do, the executor stands still:

	rt.Go(ex, func(cx *rt.Context) (int, error) {
		if err := sem.Acquire(ctx, 1); err != nil { // blocks the worker
			return 0, err
		}
		...

A task waits by rt.Await of a future, sleeps by rt.Sleep, and runs code that blocks in rt.Blocking.

Reported are, in a function that is passed to rt.Go or rt.GoNamed, and in the method Poll of a type
whose values are passed to Spawn: time.Sleep, the Wait of wait groups and condition variables, acquires
and waits of Farad with a context or a timeout, receives from a channel and selects without default.

Not found are the plain Lock and RLock, because a task may take a lock that is held briefly; sends;
waits in functions that the task calls; and those in function literals. Receives from the Done of a
future are not reported: it may be complete by then.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runBlockInPoll,
}

func runBlockInPoll(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	decls := map[*types.Func]*ast.FuncDecl{}
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		decl := n.(*ast.FuncDecl)
		if f, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func); ok && decl.Body != nil {
			decls[f] = decl
		}
	})
	var bodies []*ast.BlockStmt
	add := func(b *ast.BlockStmt) {
		if !slices.Contains(bodies, b) {
			bodies = append(bodies, b)
		}
	}
	in.Preorder([]ast.Node{(*ast.CallExpr)(nil)}, func(n ast.Node) {
		call := n.(*ast.CallExpr)
		typ, name := methodOf(typeutil.StaticCallee(pass.TypesInfo, call))
		switch {
		case isFunc(pass.TypesInfo, call, root+"runtime", "Go", "GoNamed"):
			if lit, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.FuncLit); ok {
				add(lit.Body)
				return
			}
			if decl := decls[function(pass.TypesInfo, call.Args[len(call.Args)-1])]; decl != nil {
				add(decl.Body)
			}
		case name == "Spawn" && (typ == "runtime.Executor" || typ == "runtime.Context") && len(call.Args) == 1:
			o, _, _ := types.LookupFieldOrMethod(pass.TypesInfo.TypeOf(call.Args[0]), true, pass.Pkg, "Poll")
			if f, ok := o.(*types.Func); ok {
				if decl := decls[f.Origin()]; decl != nil {
					add(decl.Body)
				}
			}
		}
	})
	for _, b := range bodies {
		checkTask(pass, b)
	}
	return nil, nil
}

// function returns the declared function that an expression names.
func function(info *types.Info, e ast.Expr) *types.Func {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		f, _ := info.Uses[e].(*types.Func)
		return f
	case *ast.SelectorExpr:
		f, _ := info.Uses[e.Sel].(*types.Func)
		return f
	}
	return nil
}

// checkTask reports what blocks in the body of a task.
func checkTask(pass *analysis.Pass, body *ast.BlockStmt) {
	info := pass.TypesInfo
	walk(body, func(n ast.Node, above []ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt:
			return false
		case *ast.SelectStmt:
			polls := slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool { return c.(*ast.CommClause).Comm == nil })
			if !polls {
				pass.Report(analysis.Diagnostic{
					Pos: n.Select, End: n.Body.Lbrace,
					Message: "select without default blocks the worker of the task: use rt.Select",
				})
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !inSelect(above) && !ofFuture(info, n.X) {
				pass.ReportRangef(n, "a receive blocks the worker of the task: wait by a future, or in rt.Blocking")
			}
		case *ast.CallExpr:
			m, _ := called(info, n)
			byError, byBool := mayFail(info, n)
			switch {
			case isFunc(info, n, "time", "Sleep"):
				pass.ReportRangef(n, "time.Sleep blocks the worker of the task: use rt.Sleep")
			case isFunc(info, n, "sync", "WaitGroup.Wait", "Cond.Wait"), m.role == wait && m.name == "Wait":
				pass.ReportRangef(n, "Wait blocks the worker of the task: wait in rt.Blocking")
			case m.role != none && m.role != release && isLimit(info, n) && (byError || byBool) && !isTry(m.name):
				pass.ReportRangef(n, "%s blocks the worker of the task: await a future", m.name)
			}
		}
		return true
	})
}

func isTry(name string) bool { return len(name) > 3 && name[:3] == "Try" }

// inSelect reports whether a receive is the communication of a select.
func inSelect(above []ast.Node) bool {
	for _, n := range slices.Backward(above) {
		switch n := n.(type) {
		case *ast.CommClause:
			return true
		case ast.Stmt:
			switch n.(type) {
			case *ast.ExprStmt, *ast.AssignStmt:
			default:
				return false
			}
		}
	}
	return false
}

// ofFuture reports whether a channel is what the Done of one of Farad's types returns.
func ofFuture(info *types.Info, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	typ, name := methodOf(typeutil.StaticCallee(info, call))
	return typ != "" && name == "Done"
}
