package vet

import (
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/cfg"
)

var deferInLoop = &analysis.Analyzer{
	Name: "deferinloop",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find releases that are deferred in a loop

A deferred call runs at the end of the function, not of the turn of the loop. The next turn acquires
the same lock once more:

	for _, job := range jobs {
		mu.Lock()
		defer mu.Unlock() // the second turn waits forever for the first
		run(job)
	}

Reported is a deferred release in a loop whose body acquires the same lock, if the loop can come to
it again. Of semaphores and read locks, which can be held more than once, it is reported only if
more statements follow in the body of the loop: collecting permits until the function ends may be
what is meant. The fix puts the rest of the body into a function literal, if no statement in it
leaves the loop.

Not found are locks that differ from turn to turn, which a function may well lock all at a time, and
locks in slices and maps.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer, ctrlflow.Analyzer},
	Run:      runDeferInLoop,
}

func runDeferInLoop(pass *analysis.Pass) (any, error) {
	for _, s := range scopes(pass) {
		for _, l := range s.locks {
			if !l.deferred || l.handle || s.reassigned(l) {
				continue
			}
			s.inside(func(n ast.Node, above []ast.Node) {
				d, ok := n.(*ast.DeferStmt)
				if !ok || s.event(l, d.Call) != release {
					return
				}
				loop := innermost(above)
				if loop == nil || l.path.root.Pos() >= loop.Pos() && l.path.root.Pos() < loop.End() ||
					!s.acquiresIn(l, loop) || !s.again(d) {
					return
				}
				rest := following(d, above)
				if !exclusive(l) && len(rest) == 0 {
					return
				}
				diag := analysis.Diagnostic{
					Pos: d.Pos(), End: d.End(),
					Message: "deferred " + l.path.text + "." + l.release +
						" runs when the function ends, and the next turn of the loop acquires again",
				}
				if len(rest) > 0 && direct(d, loop) && stays(rest) {
					diag.SuggestedFixes = []analysis.SuggestedFix{{
						Message: "Put the rest of the body into a function",
						TextEdits: []analysis.TextEdit{
							{Pos: d.Pos(), End: d.Pos(), NewText: []byte("func() {\n")},
							{Pos: rest[len(rest)-1].End(), End: rest[len(rest)-1].End(), NewText: []byte("\n}()")},
						},
					}}
				}
				pass.Report(diag)
			})
		}
	}
	return nil, nil
}

// exclusive reports whether a lock cannot be held twice.
func exclusive(l *lock) bool { return l.release == "Unlock" || l.release == "UUnlock" }

// innermost returns the loop that is nearest.
func innermost(above []ast.Node) ast.Stmt {
	for _, n := range slices.Backward(above) {
		switch n := n.(type) {
		case *ast.ForStmt:
			return n
		case *ast.RangeStmt:
			return n
		}
	}
	return nil
}

func loopBody(loop ast.Stmt) *ast.BlockStmt {
	if f, ok := loop.(*ast.ForStmt); ok {
		return f.Body
	}
	return loop.(*ast.RangeStmt).Body
}

// acquiresIn reports whether the body of a loop acquires the lock, and does not release it but by
// defers.
func (s *scope) acquiresIn(l *lock, loop ast.Stmt) bool {
	acquires, releases := false, false
	s.inside(func(n ast.Node, above []ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || call.Pos() < loopBody(loop).Pos() || call.Pos() >= loop.End() {
			return
		}
		switch s.event(l, call) {
		case acquire:
			acquires = true
		case release:
			_, deferred := above[len(above)-1].(*ast.DeferStmt)
			releases = releases || !deferred
		}
	})
	return acquires && !releases
}

// again reports whether the function can come from a statement to the same one again.
func (s *scope) again(stmt ast.Stmt) bool {
	var from *cfg.Block
	for _, b := range s.graph.Blocks {
		if slices.Contains(b.Nodes, ast.Node(stmt)) {
			from = b
		}
	}
	if from == nil {
		return false
	}
	seen := map[*cfg.Block]bool{}
	for work := slices.Clone(from.Succs); len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == from {
			return true
		}
		if !seen[b] {
			seen[b] = true
			work = append(work, b.Succs...)
		}
	}
	return false
}

// following returns the statements behind a statement in its block.
func following(stmt ast.Stmt, above []ast.Node) []ast.Stmt {
	list := statements(above[len(above)-1])
	return list[slices.Index(list, stmt)+1:]
}

// direct reports whether a statement is one of the body of the loop, in no inner block.
func direct(stmt ast.Stmt, loop ast.Stmt) bool {
	return slices.Contains(loopBody(loop).List, stmt)
}

// stays reports whether no statement leaves the list, or is itself a defer.
func stays(list []ast.Stmt) bool {
	ok := true
	for _, stmt := range list {
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt, *ast.BranchStmt, *ast.LabeledStmt, *ast.DeferStmt:
				ok = false
			case *ast.CallExpr:
				if id, is := n.Fun.(*ast.Ident); is && id.Name == "recover" {
					ok = false
				}
			}
			return ok
		})
	}
	return ok
}
