package xsync_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// core has the folders and files whose code reaches atomics, mutexes, pools and sleeps through the
// door only, so that an explorer of interleavings sees every step that matters.
var core = []string{
	"waiter", "internal/waiting", "internal/engine", "internal/parking", "internal/parking/twobit", "bench/papers/chains", "bench/papers/phased", "bench/papers/innerlocks",
	"bench/papers/lanes",
	"sync", "twa", "limit",
	// The executor's own concurrency; its other files use timers, contexts, coroutines and the
	// pool.
	"runtime/task.go", "runtime/queue.go", "runtime/worker.go", "runtime/idle.go", "runtime/monitor.go", "runtime/panics.go", "runtime/registry.go", "runtime/timer.go", "runtime/context.go",
	"runtime/completion.go", "runtime/future.go", "runtime/select.go", "runtime/join.go", "runtime/dump.go",
	"runtime/bridge.go", "runtime/blocking.go",
}

// exceptions lists what else the core may do. An exception that is no longer needed must be
// removed.
var exceptions = []exception{
	{"internal/waiting/limit.go", "chan", "two values to compare with; nothing is ever sent"},
	{"sync/across.go", `import "sync"`, "what sleeps across the border of a bubble; no scenario has bubbles"},
	{"sync/across.go", `import "sync/atomic"`, "the same"},
	{"sync/across.go", "chan", "the same"},
	{"sync/across.go", "go", "the same"},
	{"sync/across.go", "select", "the same"},
	{"sync/across.go", "receive", "the same"},
	{"sync/across.go", "close", "the same"},
	{"sync/bubble.go", `import "sync"`, "the same"},
	{"sync/bubble_group.go", `import "sync"`, "the same"},
	{"internal/waiting/context.go", "context.AfterFunc", "how a real context tells its watch; models have a twin of the file"},
	{"bench/papers/lanes/lock.go", `import "sync"`, "Locker, the interface"},
	{"sync/mutex/packed.go", `import "sync"`, "Locker, the interface"},
	{"sync/rwlock/rwlock.go", `import "sync"`, "Locker, the interface"},
	{"sync/alias.go", `import "sync"`, "what the package has of the standard library"},
	{"sync/misuse.go", `import "sync"`, "whose locks end the process"},
	{"sync/capacitor/wrap.go", `import "sync"`, "Locker, the interface"},
	{"sync/mutex/pointer.go", `import "unsafe"`, "two bits in an address; what happens to them goes through the door"},
	{"sync/waitgroup.go", "go", "the goroutine of the user's function, as the standard library starts it"},
	{
		"runtime/panics.go",
		"go",
		"a panic of the handler ends the program, where nothing recovers from it; no scenario goes there",
	},
	{"runtime/panics.go", "select", "the same: until the program has ended"},
	{"limit/grpclimit/client.go", `import "sync/atomic"`, "a module of its own, without a scenario; it has no insides of this one"},
	{"internal/waiting/context.go", "runtime.AddCleanup", "the same for a context that is dropped"},
}

type exception struct{ file, what, why string }

// Whatever does not go through the door is invisible to the model checker, which then shows less
// than it says.
func TestCoreUsesTheDoor(t *testing.T) {
	needed := make([]bool, len(exceptions))
	for _, folder := range core {
		for _, file := range sources(t, folder) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(root, file), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range besides(f) {
				i := slices.IndexFunc(exceptions, func(e exception) bool { return e.file == file && e.what == d.what })
				if i >= 0 {
					needed[i] = true
					continue
				}
				require.Fail(require.GoOn(t), "not through the door", "%s:%d: %s", file, fset.Position(d.pos).Line, d.what)
			}
		}
	}
	for i, e := range exceptions {
		require.True(require.GoOn(t), needed[i], "exception without a need: %v", e)
	}
}

const root = "../.."

// sources returns the Go files below folder that are not tests, for whatever platform and with
// whatever tags.
func sources(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"):
			rel, err := filepath.Rel(root, p)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	}))
	require.NotZero(t, len(files), folder)
	return files
}

// A detour is a step that an explorer behind the door would not see.
type detour struct {
	pos  token.Pos
	what string
}

var (
	forbiddenImports = []string{"sync", "sync/atomic", "unsafe"}

	// What starts goroutines, sleeps, yields, or works on channels without the syntax for it.
	forbiddenNames = map[string][]string{
		"context": {"AfterFunc"},
		"reflect": {"ChanOf", "MakeChan", "Select"},
		"runtime": {"AddCleanup", "Gosched", "Goexit", "LockOSThread", "SetFinalizer"},
		"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick", "Ticker", "Timer"},
	}
)

// besides returns the detours of a file. Only what the syntax shows is found. So a range over
// anything that may be a channel is reported, unless it has two variables; to range over a number
// or over indices there is a form that cannot be mistaken. And the type <-chan struct{} is allowed:
// it is passed on, and tells contexts apart.
func besides(f *ast.File) []detour {
	var found []detour
	report := func(n ast.Node, what string) { found = append(found, detour{n.Pos(), what}) }

	packages := map[string]string{} // by their names in this file
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has complained
		}
		if slices.Contains(forbiddenImports, p) {
			report(spec, "import "+spec.Path.Value)
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." && forbiddenNames[p] != nil {
			report(spec, "dot import "+spec.Path.Value)
		}
		packages[name] = p
	}

	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			if !isDone(n) {
				report(n, "chan")
			}
		case *ast.SendStmt:
			report(n, "send")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "receive")
			}
		case *ast.SelectStmt:
			report(n, "select")
		case *ast.GoStmt:
			report(n, "go")
		case *ast.RangeStmt:
			if n.Value == nil && !isCount(n.X) {
				report(n, "range")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "close" {
				report(n, "close")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(forbiddenNames[packages[x.Name]], n.Sel.Name) {
				report(n, packages[x.Name]+"."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// isDone reports whether c is the type of a context's done channel.
func isDone(c *ast.ChanType) bool {
	s, ok := c.Value.(*ast.StructType)
	return ok && c.Dir == ast.RECV && s.Fields.NumFields() == 0
}

// isCount reports whether x cannot be a channel: a literal, or a call of the builtin len, cap, min,
// max or int.
func isCount(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return true
	case *ast.CallExpr:
		f, ok := x.Fun.(*ast.Ident)
		return ok && slices.Contains([]string{"len", "cap", "min", "max", "int"}, f.Name)
	}
	return false
}

func TestDetoursAreFound(t *testing.T) {
	const body = "package p\n"
	for source, want := range map[string]string{
		`import "sync"`:                                                               `import "sync"`,
		`import s "sync"`:                                                             `import "sync"`,
		`import _ "sync/atomic"`:                                                      `import "sync/atomic"`,
		`import "unsafe"`:                                                             `import "unsafe"`,
		`import . "time"`:                                                             `dot import "time"`,
		`type t struct { c chan struct{} }`:                                           "chan",
		`type t chan struct{}`:                                                        "chan",
		`type t = <-chan int`:                                                         "chan",
		`type t <-chan struct{ int }`:                                                 "chan",
		`func f(c chan<- struct{}) {}`:                                                "chan",
		`func f() (c <-chan chan int) { return }`:                                     "chan chan",
		`func f() { _ = make(chan struct{}, 1) }`:                                     "chan",
		`func f(c signal.Signal) { c <- struct{}{} }`:                                 "send",
		`func f(c <-chan struct{}) { <-c }`:                                           "receive",
		`func f(c <-chan struct{}) { _, _ = (<-c) }`:                                  "receive",
		`func f(c <-chan struct{}) { switch { case <-c == struct{}{}: } }`:            "receive",
		`func f(c <-chan struct{}) { select { case <-c: default: } }`:                 "select receive",
		`func f() { select {} }`:                                                      "select",
		`func f(c <-chan struct{}) { for range c {} }`:                                "range",
		`func f(c <-chan struct{}) { for x := range c { _ = x } }`:                    "range",
		`func f(c context.Context) { for range c.Done() {} }`:                         "range",
		`func f(c signal.Signal) { close(c) }`:                                        "close",
		`func f() { defer close(g()) }`:                                               "close",
		`func f() { go f() }`:                                                         "go",
		`func f() { func() { go func() {}() }() }`:                                    "go",
		"import \"runtime\"\nfunc f() { runtime.Gosched() }":                          "runtime.Gosched",
		"import r \"runtime\"\nvar f = r.Gosched":                                     "runtime.Gosched",
		"import \"time\"\nfunc f() { time.Sleep(1); g(time.After(1)) }":               "time.Sleep time.After",
		"import \"time\"\nvar t = time.NewTimer(1)":                                   "time.NewTimer",
		"import \"time\"\ntype t struct{ time.Timer }":                                "time.Timer",
		"import \"context\"\nfunc f(c context.Context) { context.AfterFunc(c, nil) }": "context.AfterFunc",
		"import \"runtime\"\nfunc f(p *int) { runtime.AddCleanup(p, g, 0) }":          "runtime.AddCleanup",
		"import \"reflect\"\nfunc f() { reflect.Select(nil) }":                        "reflect.Select",

		// What is no detour.
		`type t struct { done <-chan struct{} }`:                                               "",
		`func f(done <-chan struct{}) bool { return done != nil && done == g() }`:              "",
		`func f(s semaphore) { s.close(); s.Select() }`:                                        "",
		`func f(s []int) { for range 3 {}; for i := range len(s) {}; for _, x := range s {} }`: "",
		"import \"time\"\nvar now = time.Now":                                                  "",
		"import \"runtime\"\nfunc f(p any) { runtime.KeepAlive(p) }":                           "",
		`func f(time clock) { time.Sleep() }`:                                                  "",
		"// go f() <-c\nvar s = `select { case <-c: }`":                                        "",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", body+source, parser.SkipObjectResolution)
		require.NoError(t, err, source)
		var found []string
		for _, d := range besides(f) {
			found = append(found, d.what)
		}
		require.Equal(require.GoOn(t), want, strings.Join(found, " "), source)
	}
}
