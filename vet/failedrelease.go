package vet

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

var failedRelease = &analysis.Analyzer{
	Name: "failedrelease",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find releases of what was not acquired

An acquire that fails acquires nothing. A release on that path panics, or gives back what somebody
else holds, and then one too many comes in:

	if err := sem.Acquire(ctx, 1); err != nil {
		sem.Release(1) // not acquired
		return err
	}

A deferred release that stands before the look at the error runs on that path, too:

	err := sem.Acquire(ctx, 1)
	defer sem.Release(1)
	if err != nil {
		return err
	}

A release is reported if on all paths to it the last acquire of the same lock has failed, or nothing
has looked at its outcome, and the function has nothing left of earlier acquires. The fix removes
the release, or moves the defer behind the look at the error.

Not found are releases in another function, also in a function literal; locks in slices and maps;
functions that release before they acquire, because their caller may hold the lock; and those that
acquire or release different numbers of permits, or keys. If the outcome is passed to a function,
as to require.NoError, nothing is known of it.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer, ctrlflow.Analyzer},
	Run:      runFailedRelease,
}

func runFailedRelease(pass *analysis.Pass) (any, error) {
	for _, s := range scopes(pass) {
		for _, l := range s.locks {
			if l.handle || l.broken || l.foreign || l.outside {
				continue
			}
			for _, f := range l.frees {
				if f.stmt != nil && !l.paid || len(f.states) == 0 ||
					slices.ContainsFunc(f.states, func(st state) bool { return !st.empty() }) {
					continue
				}
				text := l.path.text + "." + l.release
				d := analysis.Diagnostic{
					Pos: f.call.Pos(), End: f.call.End(),
					Message: text + " releases what was not acquired: the acquire has failed on this path",
					Related: []analysis.RelatedInformation{{Pos: f.states[0].at, Message: "the acquire"}},
				}
				if f.stmt != nil {
					d.Pos, d.End = f.stmt.Pos(), f.stmt.End()
					d.Message = "deferred " + text +
						" runs also if the acquire has failed: defer it after the look at the error"
				}
				if fix, ok := s.withoutRelease(f); ok {
					d.SuggestedFixes = []analysis.SuggestedFix{fix}
				}
				pass.Report(d)
			}
		}
	}
	return nil, nil
}

// withoutRelease returns a fix if one is certain: the release is a statement of its own; or it is
// deferred directly before the statement that looks at the error and leaves.
func (s *scope) withoutRelease(f free) (fix analysis.SuggestedFix, ok bool) {
	s.inside(func(n ast.Node, _ []ast.Node) {
		list := statements(n)
		for i, stmt := range list {
			if e, is := stmt.(*ast.ExprStmt); is && e.X == ast.Expr(f.call) {
				fix, ok = analysis.SuggestedFix{
					Message:   "Remove the release",
					TextEdits: []analysis.TextEdit{s.delete(stmt)},
				}, true
			}
			if f.stmt == nil || stmt != ast.Stmt(f.stmt) || i+1 == len(list) {
				continue
			}
			look, is := list[i+1].(*ast.IfStmt)
			if !is || look.Init != nil || look.Else != nil || !leaves(look.Body) || !s.looks(look.Cond, f.states) {
				continue
			}
			var text bytes.Buffer
			if format.Node(&text, s.pass.Fset, f.stmt) != nil {
				continue
			}
			fix, ok = analysis.SuggestedFix{
				Message: "Move the defer behind the look at the error",
				TextEdits: []analysis.TextEdit{
					s.delete(stmt),
					{Pos: look.End(), End: look.End(), NewText: append([]byte("\n"), text.Bytes()...)},
				},
			}, true
		}
	})
	return fix, ok
}

// looks reports whether a condition is that the acquire of all the states has failed.
func (s *scope) looks(cond ast.Expr, states []state) bool {
	for _, st := range states {
		if s.outcome(&lock{}, cond, true, st) != failed || s.outcome(&lock{}, cond, false, st) != succeeded {
			return false
		}
	}
	return true
}

// leaves reports whether a block ends with a return.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	_, returns := b.List[len(b.List)-1].(*ast.ReturnStmt)
	return returns
}

// statements returns the statements of a block or a case.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// delete returns the edit that removes a statement, with its line if nothing else is there.
func (s *scope) delete(stmt ast.Stmt) analysis.TextEdit {
	file := s.pass.Fset.File(stmt.Pos())
	first, last := file.Line(stmt.Pos()), file.Line(stmt.End())
	begin, end := file.LineStart(first), token.Pos(file.Base()+file.Size())
	if last < file.LineCount() {
		end = file.LineStart(last + 1)
	}
	alone := true
	s.inside(func(n ast.Node, _ []ast.Node) {
		o, ok := n.(ast.Stmt)
		_, clause := n.(*ast.CaseClause)
		switch {
		case !ok, o.Pos() >= stmt.Pos() && o.End() <= stmt.End(): // it, or a part of it
			return
		case clause && o.Pos() < begin: // around it, without a brace
			return
		}
		if o.Pos() >= begin && o.Pos() < end || o.End() > begin && o.End() <= end {
			alone = false
		}
	})
	if !alone {
		begin, end = stmt.Pos(), stmt.End()
	}
	return analysis.TextEdit{Pos: begin, End: end}
}
