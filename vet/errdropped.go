package vet

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

var errDropped = &analysis.Analyzer{
	Name: "errdropped",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find acquires whose outcome is dropped

What acquires with a context or a timeout can fail, and says so by its last result. A caller that
drops it goes on without the lock, and then releases what others hold:

	sem.Acquire(ctx, 1) // if ctx ends, nothing is acquired
	defer sem.Release(1)

The same holds for LockTimeout, which returns a bool, and for waits such as WaitContext. Who assigns
the outcome to _ may not care: that is reported only of an acquire, and only if the same declaration
releases the same lock further down. A function literal that is only the one call is not reported.

Not reported are calls whose context does not end before the function does: context.Background(),
t.Context() of a test, one that only a deferred cancel ends, or a variable that is one of those and
nothing else. Such a call ends with the lock, unless a semaphore is closed or too small. Calls on a
fleet are reported all the same: the network may fail. A TryLock or TryAcquire that returns a bool
is not reported: where nobody else has the lock yet, it succeeds. Not found are errors that are
assigned and not read, and calls by an interface.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      runErrDropped,
}

func runErrDropped(pass *analysis.Pass) (any, error) {
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		decl := n.(*ast.FuncDecl)
		if decl.Body == nil {
			return
		}
		walk(decl.Body, func(n ast.Node, above []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			careless := false
			switch p := above[len(above)-1].(type) {
			case *ast.ExprStmt:
				if isWholeLiteral(above[:len(above)-1]) {
					return true
				}
			case *ast.GoStmt, *ast.DeferStmt:
			case *ast.AssignStmt:
				for _, l := range p.Lhs {
					if !isBlank(l) {
						return true // an error, or a handle or a bool that says it, too
					}
				}
				if isWholeLiteral(above[:len(above)-1]) {
					return true
				}
				careless = true
			default:
				return true
			}
			checkDropped(pass, decl, call, careless)
			return true
		})
	})
	return nil, nil
}

// isWholeLiteral reports whether a statement is all that a function literal has. The last of above
// is the block around the statement.
func isWholeLiteral(above []ast.Node) bool {
	if len(above) < 2 {
		return false
	}
	body, ok := above[len(above)-1].(*ast.BlockStmt)
	_, lit := above[len(above)-2].(*ast.FuncLit)
	return ok && lit && len(body.List) == 1
}

// checkDropped reports a call whose outcome is dropped, if it matters. A careless one says that it
// drops it.
func checkDropped(pass *analysis.Pass, decl *ast.FuncDecl, call *ast.CallExpr, careless bool) {
	m, _ := called(pass.TypesInfo, call)
	byError, byBool := mayFail(pass.TypesInfo, call)
	what := "error"
	if byBool {
		what = "result"
	}
	switch {
	case m.role == none || m.role == release || !byError && !byBool:
	case byBool && strings.HasPrefix(m.name, "Try"):
	case !strings.HasPrefix(m.typ, "fleet.") && len(call.Args) > 0 && neverEnds(pass, call.Args[0]):
	case m.role == wait:
		if !careless && !byBool {
			pass.ReportRangef(call, "the error of %s is dropped: the wait may have ended early", m.name)
		}
	case !careless || m.role == acquire && releasesToo(pass, decl, call):
		pass.ReportRangef(call, "the %s of %s is dropped: nothing is acquired if it fails", what, m.name)
	}
}

// releasesToo reports whether the declaration releases further down what a call acquires.
func releasesToo(pass *analysis.Pass, decl *ast.FuncDecl, acquire *ast.CallExpr) (found bool) {
	m, on := called(pass.TypesInfo, acquire)
	p, ok := pathOf(pass.TypesInfo, on)
	if !ok {
		return false
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && !found && call.Pos() > acquire.Pos() {
			o, other := called(pass.TypesInfo, call)
			if o.role == release && o.typ == m.typ && o.name == m.release {
				q, ok := pathOf(pass.TypesInfo, other)
				found = ok && p == q
			}
		}
		return !found
	})
	return found
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}
