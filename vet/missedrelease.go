package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/types/typeutil"
)

var missedRelease = &analysis.Analyzer{
	Name: "missedrelease",
	URL:  "https://pkg.go.dev/github.com/farad-go/farad/vet",
	Doc: `find returns that leave a lock held

A function that acquires and releases must do so on every path:

	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err // the permit is gone for good
	}
	sem.Release(1)
	return nil

A return is reported if all paths to it hold the lock and another return has released it, and if
the caller cannot be meant to release it. That is so if the function returns nothing; if it returns
an error that is not nil where it holds the lock, and nil where it has released it; and in the same
way for false and true. A handle (semaphore.Permit, limit.Permit, fleet.Permit) in a local variable
is nobody else's, so there what is returned does not matter.

Not found is what may be released elsewhere: if a defer, a goroutine or another function literal
releases the lock; if it, or the value that it is a field of, is passed, stored or returned; if a
method or function of the package that is called on the way may release; if the name of the
function says that it locks; and functions that never release, because that is what they are for.
Locks in slices and maps are not followed. The fix adds the release where the values that are
returned cannot depend on it.`,
	Requires: []*analysis.Analyzer{inspect.Analyzer, ctrlflow.Analyzer},
	Run:      runMissedRelease,
}

func runMissedRelease(pass *analysis.Pass) (any, error) {
	var may map[*types.Func]bool
	for _, s := range scopes(pass) {
		for _, l := range s.locks {
			if l.releases == 0 || l.deferred || l.outside || l.broken || l.foreign && !l.handle {
				continue
			}
			if may == nil {
				may = mayRelease(pass)
			}
			if !l.handle && (saysLock(s.decl) || s.aliased(l)) || s.elsewhere(l, may) {
				continue
			}
			for _, e := range l.exits {
				if len(e.states) == 0 || slices.ContainsFunc(e.states, func(st state) bool {
					return st.lost || st.pending != nil || st.held == 0
				}) {
					continue
				}
				if l.handle && !slices.ContainsFunc(l.exits, exit.released) || !l.handle && !s.mustBalance(l, e) {
					continue
				}
				s.reportMissed(l, e)
			}
		}
	}
	return nil, nil
}

func (s *scope) reportMissed(l *lock, e exit) {
	what := l.path.text + "." + l.release
	if l.handle {
		what = "the release of " + l.path.text
	}
	d := analysis.Diagnostic{
		Pos: e.stmt.Pos(), End: e.stmt.End(),
		Message: fmt.Sprintf("this return is without %s, which others have", what),
		Related: []analysis.RelatedInformation{{Pos: e.states[0].at, Message: "the acquire"}},
	}
	if e.stmt.Pos() >= s.body.Rbrace { // the end of the function
		d.Pos, d.End = s.body.Rbrace, s.body.Rbrace+1
		d.Message = fmt.Sprintf("the function ends without %s, which its returns have", what)
	} else if free := l.plain(); free != "" && s.constant(e.stmt) {
		d.SuggestedFixes = []analysis.SuggestedFix{{
			Message:   "Release before the return",
			TextEdits: []analysis.TextEdit{{Pos: e.stmt.Pos(), End: e.stmt.Pos(), NewText: []byte(free + "\n")}},
		}}
	}
	s.pass.Report(d)
}

// plain returns the text of a release, if all of them are the same.
func (l *lock) plain() (text string) {
	for _, f := range l.frees {
		t := types.ExprString(f.call)
		if text != "" && t != text {
			return ""
		}
		text = t
	}
	return text
}

// constant reports whether the values of a return do not depend on when they are read.
func (s *scope) constant(r *ast.ReturnStmt) bool {
	for _, e := range r.Results {
		id, ok := e.(*ast.Ident)
		if ok {
			switch o := s.pass.TypesInfo.ObjectOf(id).(type) {
			case *types.Nil, *types.Const:
				continue
			case *types.Var:
				if o.Parent() != s.pass.Pkg.Scope() {
					continue
				}
			}
		}
		if _, ok := e.(*ast.BasicLit); !ok {
			return false
		}
	}
	return true
}

// released reports whether a path leads to e on which the lock was acquired and released.
func (e exit) released() bool {
	return slices.ContainsFunc(e.states, func(st state) bool {
		return !st.lost && st.pending == nil && st.held == 0 && st.done && !st.failed
	})
}

// mustBalance reports whether e holds the lock against what the other returns do, so that no caller
// can be meant to release it.
func (s *scope) mustBalance(l *lock, e exit) bool {
	results := s.typ.Results
	if results.NumFields() == 0 {
		return slices.ContainsFunc(l.exits, exit.released)
	}
	if len(e.stmt.Results) != results.NumFields() {
		return false
	}
	last := e.stmt.Results[len(e.stmt.Results)-1]
	isFalse := s.isConst(last, "false")
	if !isFalse && !s.isFailure(e.stmt, last) {
		return false
	}
	return slices.ContainsFunc(l.exits, func(o exit) bool {
		if !o.released() || len(o.stmt.Results) != results.NumFields() {
			return false
		}
		other := o.stmt.Results[len(o.stmt.Results)-1]
		return isFalse && s.isConst(other, "true") || !isFalse && s.pass.TypesInfo.Types[other].IsNil()
	})
}

func (s *scope) isConst(e ast.Expr, value string) bool {
	v := s.pass.TypesInfo.Types[e].Value
	return v != nil && v.ExactString() == value
}

// isFailure reports whether an error that is returned is surely not nil.
func (s *scope) isFailure(r *ast.ReturnStmt, e ast.Expr) (sure bool) {
	info := s.pass.TypesInfo
	if t := info.TypeOf(e); t == nil || !types.Identical(t, types.Universe.Lookup("error").Type()) {
		return false
	}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		return isFunc(info, call, "errors", "New") || isFunc(info, call, "fmt", "Errorf")
	}
	if p, ok := pathOf(info, e); ok && p.root != nil && p.root.Pkg() != nil && p.root.Parent() == p.root.Pkg().Scope() {
		return strings.HasPrefix(strings.ToLower(p.root.Name()), "err")
	}
	v := variable(info, e)
	if v == nil {
		return false
	}
	s.inside(func(n ast.Node, _ []ast.Node) {
		look, ok := n.(*ast.IfStmt)
		if !ok || len(look.Body.List) == 0 || look.Body.List[len(look.Body.List)-1] != ast.Stmt(r) {
			return
		}
		c, ok := ast.Unparen(look.Cond).(*ast.BinaryExpr)
		if ok && c.Op == token.NEQ && variable(info, c.X) == v && info.Types[c.Y].IsNil() {
			sure = true
			for _, stmt := range look.Body.List[:len(look.Body.List)-1] {
				sure = sure && !mentionsAssigned(info, stmt, v)
			}
		}
	})
	return sure
}

// mentionsAssigned reports whether a statement may assign to v.
func mentionsAssigned(info *types.Info, n ast.Node, v *types.Var) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				found = found || variable(info, l) == v
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && variable(info, n.X) == v
		}
		return true
	})
	return found
}

// saysLock reports whether the name of a function says that it leaves a lock held.
func saysLock(f *ast.FuncDecl) bool {
	name := strings.ToLower(f.Name.Name)
	return slices.ContainsFunc([]string{"lock", "acquire", "enter", "begin", "start", "hold", "take", "arrive"},
		func(word string) bool { return strings.Contains(name, word) })
}

// aliased reports whether the function releases another lock of the same type, which may be the
// same lock under another name.
func (s *scope) aliased(l *lock) (found bool) {
	ast.Inspect(s.decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			m, on := called(s.pass.TypesInfo, call)
			if m.role == release && m.typ == l.typ && m.name == l.release {
				p, ok := pathOf(s.pass.TypesInfo, on)
				found = found || !ok || p != l.path
			}
		}
		return !found
	})
	return found
}

// harmless are methods of Farad that change nothing of who holds what.
var harmless = []string{"Waiting", "Len", "Size", "Available", "N", "Valid", "Lost", "Token", "Context", "Population"}

// elsewhere reports whether something else may release the lock: it, or what it is part of, is
// passed to somebody, or something is called on it that may.
func (s *scope) elsewhere(l *lock, may map[*types.Func]bool) (found bool) {
	info := s.pass.TypesInfo
	root := l.path.root
	global := root.Pkg() == nil || root.Parent() == root.Pkg().Scope()
	if root.Pkg() != s.pass.Pkg {
		return true
	}
	safe := func(call *ast.CallExpr) bool {
		f := typeutil.StaticCallee(info, call)
		return f != nil && f.Pkg() == s.pass.Pkg && !may[f.Origin()]
	}
	walk(s.decl.Body, func(n ast.Node, above []ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && global {
			if f := typeutil.StaticCallee(info, call); f != nil && may[f.Origin()] {
				found = true
			}
		}
		id, ok := n.(*ast.Ident)
		if !ok || info.Uses[id] != root {
			return !found
		}
		var cur ast.Expr = id
		up := len(above) - 1
		parent := func(i int) ast.Node {
			if i < 0 {
				return nil
			}
			return above[i]
		}
		for ; up >= 0; up-- {
			next, ok := above[up].(ast.Expr)
			if !ok {
				break
			}
			if p, is := pathOf(info, next); !is || !p.within(l.path) {
				break
			}
			cur = next
		}
		if u, ok := cur.(*ast.UnaryExpr); ok && u.Op == token.AND {
			found = true
			return false
		}
		switch p := parent(up).(type) {
		case *ast.SelectorExpr:
			call, isCall := parent(up - 1).(*ast.CallExpr)
			isCall = isCall && call.Fun == ast.Expr(p)
			sel := info.Selections[p]
			switch {
			case sel == nil:
				found = true
			case sel.Kind() == types.FieldVal:
				found = found || isCall // a function that is a field
			default:
				f, _ := sel.Obj().(*types.Func)
				typ, name := methodOf(f)
				switch m := methods[typ+"."+name]; {
				case !isCall:
					found = true // a method value
				case m.role != none, typ != "" && slices.Contains(harmless, name):
				default:
					found = found || !safe(call)
				}
			}
		case *ast.CallExpr:
			found = found || !safe(p)
		case *ast.BinaryExpr:
		case *ast.AssignStmt:
			found = found || !slices.Contains(p.Lhs, cur)
		default:
			found = true
		}
		return !found
	})
	return found
}

// mayRelease returns the functions of the package that may release something, by themselves or by
// what they call. A name that releases is enough.
func mayRelease(pass *analysis.Pass) map[*types.Func]bool {
	releases := map[string]bool{"Close": true}
	for _, m := range methods {
		if m.role == release {
			releases[m.name] = true
		}
	}
	uses := map[*types.Func][]*types.Func{}
	may := map[*types.Func]bool{}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			f, _ := pass.TypesInfo.Defs[decl.Name].(*types.Func)
			ast.Inspect(decl.Body, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if releases[id.Name] {
					may[f] = true
				}
				if o, ok := pass.TypesInfo.Uses[id].(*types.Func); ok && o.Pkg() == pass.Pkg {
					uses[f] = append(uses[f], o.Origin())
				}
				return true
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for f, others := range uses {
			if !may[f] && slices.ContainsFunc(others, func(o *types.Func) bool { return may[o] }) {
				may[f], changed = true, true
			}
		}
	}
	return may
}
