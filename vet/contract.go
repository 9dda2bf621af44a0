package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// root is the path of the module whose contracts the analyzers know.
const root = "github.com/farad-go/farad/"

// contracts are the methods that acquire, what gives back, and those that only wait. Every analyzer
// reads them from here. A line is one of
//
//	package.Type: methods = method  the first acquire, the last gives back
//	package.Type: methods -> Handle the first return a handle, a type of the same package
//	package.Handle = methods        any of them gives back what the handle has
//	package.Type: methods           they wait, and acquire nothing
//
// Whether a method can fail, its last result says: an error or a bool.
// TestContractsAreThoseOfTheAPI compares the table with what the modules export.
const contracts = `
sync.Mutex: Lock LockContext LockTimeout TryLock = Unlock
sync.RWMutex: Lock LockContext LockTimeout TryLock = Unlock
sync.RWMutex: RLock RLockContext RLockTimeout TryRLock = RUnlock
sync.Cond: Wait WaitContext WaitTimeout
sync.WaitGroup: Wait WaitContext WaitTimeout
sync/capacitor.Gate: Arrive ArriveTimeout TryArrive = Depart
sync/capacitor.Wrapped: Lock LockContext TryLock = Unlock
sync/keyed.Mutex: Lock LockContext LockTimeout TryLock = Unlock
sync/keyed.RWMutex: Lock LockContext LockTimeout TryLock = Unlock
sync/keyed.RWMutex: RLock RLockContext RLockTimeout TryRLock = RUnlock
sync/keyed.Semaphore: Acquire AcquireTimeout TryAcquire = Release
sync/mutex.Mutex: Lock LockContext LockTimeout TryLock = Unlock
sync/mutex.Pointer: Lock LockContext LockTimeout TryLock = Unlock
sync/mutex.Word: Lock LockContext LockTimeout TryLock = Unlock
sync/mutex.Packed: Lock LockContext LockTimeout TryLock = Unlock
sync/mutex.Guard: DoContext
sync/rwlock.RWLock: Lock LockContext LockTimeout TryLock = Unlock
sync/rwlock.RWLock: RLock RLockContext RLockTimeout TryRLock = RUnlock
sync/rwlock.RWLock: ULock ULockContext ULockTimeout TryULock = UUnlock
sync/rwlock.RWLock: UpgradeContext UpgradeTimeout TryUpgrade
sync/rwlock.Guard: ReadContext WriteContext
sync/semaphore.Semaphore: Acquire AcquireTimeout TryAcquire = Release
sync/semaphore.Semaphore: AcquirePermit TryAcquirePermit -> Permit
sync/semaphore.Tenant: Acquire AcquireTimeout TryAcquire = Release
sync/semaphore.Tenant: AcquirePermit -> Permit
sync/semaphore.Permit = Release
twa.Mutex: Lock LockContext LockTimeout TryLock = Unlock
twa.Semaphore: Acquire AcquireTimeout TryAcquire = Release
twa.Array: Wait WaitLazy WaitUntil
twa.EventCount: Await
observe/hook.Record: Await
limit.Limiter: Acquire TryAcquire -> Permit
limit.Permit = Success Dropped Ignore
fleet.Mutex: Lock TryLock -> Permit
fleet.RWMutex: Lock RLock -> Permit
fleet.Semaphore: Acquire AcquireTimeout TryAcquire = Release
fleet.Semaphore: AcquirePermit TryAcquirePermit -> Permit
fleet.Permit = Release
fleet.Keyed: Acquire TryAcquire -> Permit
fleet.Election: Campaign -> Permit
`

// A role is what a method does by its contract.
type role uint8

const (
	none    role = iota
	acquire      // of what release gives back
	handle       // acquires, and returns a handle
	release
	wait
)

// A method is a method of the contracts.
type method struct {
	typ     string // "sync/mutex.Mutex"
	name    string
	role    role
	release string // of an acquire: the method that gives back
}

// methods are those of the contracts by type and name, and handles the types of handles.
var methods, handles = parse(contracts)

func parse(table string) (methods map[string]method, handles map[string]bool) {
	methods, handles = map[string]method{}, map[string]bool{}
	add := func(typ, names string, r role, back string) {
		for name := range strings.FieldsSeq(names) {
			methods[typ+"."+name] = method{typ, name, r, back}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		left, back, pairs := strings.Cut(line, "=")
		typ, names, acquires := strings.Cut(left, ":")
		typ, back = strings.TrimSpace(typ), strings.TrimSpace(back)
		switch {
		case pairs && acquires:
			add(typ, names, acquire, back)
			add(typ, back, release, "")
		case pairs:
			add(typ, back, release, "")
			handles[typ] = true
		default:
			if of, _, returns := strings.Cut(names, "->"); returns {
				add(typ, of, handle, "")
			} else {
				add(typ, names, wait, "")
			}
		}
	}
	return methods, handles
}

// named returns the name of one of Farad's types, or of a pointer to one, as the contracts write
// it; "" of other types.
func named(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	pkg, ok := strings.CutPrefix(n.Obj().Pkg().Path(), root)
	if !ok {
		return ""
	}
	return pkg + "." + n.Obj().Name()
}

// methodOf returns the type and the name of the method of Farad that f is, "" if it is none.
func methodOf(f *types.Func) (typ, name string) {
	if f == nil {
		return "", ""
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return "", ""
	}
	return named(recv.Type()), f.Name()
}

// called returns the method of the contracts that a call calls, and the expression of what it is
// called on. Calls by an interface are not found: what is behind it is not known.
func called(info *types.Info, call *ast.CallExpr) (m method, on ast.Expr) {
	f := typeutil.StaticCallee(info, call)
	typ, name := methodOf(f)
	m = methods[typ+"."+name]
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if m.role == none || !ok {
		return method{}, nil
	}
	if s := info.Selections[sel]; s == nil || s.Kind() != types.MethodVal {
		return method{}, nil
	}
	return m, sel.X
}

// isFunc reports whether the call is of a function of a package, or of a method of a type of it.
func isFunc(info *types.Info, call *ast.CallExpr, pkg string, names ...string) bool {
	f := typeutil.StaticCallee(info, call)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != pkg {
		return false
	}
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	return slices.Contains(names, name)
}

// mayFail reports whether the last result of a call is an error or a bool, and which.
func mayFail(info *types.Info, call *ast.CallExpr) (byError, byBool bool) {
	t := info.TypeOf(call)
	if tuple, ok := t.(*types.Tuple); ok {
		if tuple.Len() == 0 {
			return false, false
		}
		t = tuple.At(tuple.Len() - 1).Type()
	}
	if t == nil {
		return false, false
	}
	b, basic := t.Underlying().(*types.Basic)
	return types.Identical(t, types.Universe.Lookup("error").Type()), basic && b.Kind() == types.Bool
}

// neverEnds reports whether an expression is a context that does not end before the function does:
// context.Background, one that only a deferred cancel ends, or a variable that is that and nothing
// else.
func neverEnds(pass *analysis.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		switch {
		case isFunc(pass.TypesInfo, e, "context", "Background", "TODO", "WithoutCancel"):
			return true
		case isFunc(pass.TypesInfo, e, "testing", "common.Context"): // ends before the cleanup
			return true
		case isFunc(pass.TypesInfo, e, "context", "WithValue"):
			return neverEnds(pass, e.Args[0])
		}
	case *ast.Ident:
		v, ok := pass.TypesInfo.Uses[e].(*types.Var)
		if !ok || v.Pkg() != pass.Pkg || v.Exported() && v.Parent() == pass.Pkg.Scope() {
			return false
		}
		value, cancel, once := soleValue(pass, v)
		if !once || value == nil {
			return false
		}
		call, ok := value.(*ast.CallExpr)
		if ok && isFunc(pass.TypesInfo, call, "context", "WithCancel", "WithCancelCause") {
			return cancel != nil && neverEnds(pass, call.Args[0]) && onlyDeferred(pass, cancel)
		}
		return neverEnds(pass, value)
	}
	return false
}

// onlyDeferred reports whether a variable has no use but deferred calls and Cleanup of tests.
func onlyDeferred(pass *analysis.Pass, v *types.Var) bool {
	ok := true
	for _, f := range pass.Files {
		if v.Pos() < f.FileStart || v.Pos() >= f.FileEnd {
			continue
		}
		walk(f, func(n ast.Node, above []ast.Node) bool {
			id, is := n.(*ast.Ident)
			if !is || pass.TypesInfo.Uses[id] != v {
				return true
			}
			call, is := above[len(above)-1].(*ast.CallExpr)
			_, deferred := above[len(above)-2].(*ast.DeferStmt)
			harmless := is && (deferred && call.Fun == id || isFunc(pass.TypesInfo, call, "testing", "common.Cleanup"))
			ok = ok && harmless
			return true
		})
	}
	return ok
}

// soleValue returns the expression that a variable of the package is defined as, if nothing else is
// ever assigned to it and its address is not taken; and what is defined with it by the same call.
func soleValue(pass *analysis.Pass, v *types.Var) (value ast.Expr, beside *types.Var, once bool) {
	n := 0
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && (pass.TypesInfo.Defs[id] == v || pass.TypesInfo.Uses[id] == v)
	}
	for _, f := range pass.Files {
		if v.Parent() != pass.Pkg.Scope() && (v.Pos() < f.FileStart || v.Pos() >= f.FileEnd) {
			continue
		}
		ast.Inspect(f, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for i, l := range node.Lhs {
					if is(l) {
						n++
						if len(node.Rhs) == len(node.Lhs) {
							value = node.Rhs[i]
						} else if len(node.Lhs) == 2 {
							value, beside = node.Rhs[0], variable(pass.TypesInfo, node.Lhs[1-i])
						}
					}
				}
			case *ast.ValueSpec:
				for i, l := range node.Names {
					if is(l) {
						n++
						if i < len(node.Values) && len(node.Values) == len(node.Names) {
							value = node.Values[i]
						}
					}
				}
			case *ast.RangeStmt:
				if node.Key != nil && is(node.Key) || node.Value != nil && is(node.Value) {
					n++
				}
			case *ast.UnaryExpr:
				if is(node.X) && node.Op.String() == "&" {
					n += 2
				}
			}
			return true
		})
	}
	return value, beside, n == 1
}
