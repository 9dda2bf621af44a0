//go:build !interleave

// Package sync_test has the tests that are about all locks.
package sync_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/library"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

const module = "github.com/farad-go/farad"

// A swap says what takes the place of which type of the standard library.
type swap struct {
	folder string            // of the package that the tests run in
	types  map[string]string // by the library's name, without the package
	fresh  string            // an expression for a pointer to a new lock; "": the zero value will do
	files  []string          // of the library's tests
	want   []string          // some of the tests that must be among those that run
}

var swaps = map[string]swap{
	"Cond and WaitGroup": {
		folder: "sync",
		types:  map[string]string{"Mutex": "sync.Mutex", "WaitGroup": "sync.WaitGroup"},
		files:  []string{"cond_test.go", "waitgroup_test.go"},
		want: []string{
			"TestCondSignal",
			"TestCondSignalGenerations",
			"TestCondBroadcast",
			"TestRace",
			"TestCondSignalStealing",
			"TestCondCopy",
			"TestWaitGroup",
			"TestWaitGroupMisuse",
			"TestWaitGroupRace",
			"TestWaitGroupAlign",
			"TestWaitGroupGo",
		},
	},
	"Mutex": {
		folder: "sync/mutex",
		types:  map[string]string{"Mutex": "mutex.Mutex"},
		files:  []string{"mutex_test.go", "cond_test.go"},
		want:   []string{"TestMutex", "TestMutexFairness", "TestCondSignal", "TestCondBroadcast"},
	},
	"Word": {
		folder: "sync/mutex",
		types:  map[string]string{"Mutex": "mutex.Word"},
		files:  []string{"mutex_test.go", "cond_test.go"},
		want:   []string{"TestMutex", "TestMutexFairness", "TestCondSignal", "TestCondBroadcast"},
	},
	"Mutex with a waiting array": {
		folder: "twa",
		types:  map[string]string{"Mutex": "twa.Mutex"},
		files:  []string{"mutex_test.go", "cond_test.go"},
		want:   []string{"TestMutex", "TestMutexFairness", "TestCondSignal", "TestCondBroadcast"},
	},
	"RWLock": {
		folder: "sync/rwlock",
		types:  map[string]string{"Mutex": "rwlock.RWLock", "RWMutex": "rwlock.RWLock"},
		files:  []string{"rwmutex_test.go", "mutex_test.go", "cond_test.go"},
		want: []string{
			"TestRWMutex",
			"TestParallelReaders",
			"TestRLocker",
			"TestMutex",
			"TestMutexFairness",
			"TestCondSignal",
		},
	},
	"RWLock with bias": {
		folder: "sync/rwlock",
		types:  map[string]string{"Mutex": "rwlock.RWLock", "RWMutex": "rwlock.RWLock"},
		fresh:  "rwlock.NewBiased()",
		files:  []string{"rwmutex_test.go", "mutex_test.go", "cond_test.go"},
		want: []string{
			"TestRWMutex",
			"TestParallelReaders",
			"TestRLocker",
			"TestMutex",
			"TestMutexFairness",
			"TestCondSignal",
		},
	},
}

// The standard library's own tests of its locks, with ours in their place. They are read where Go
// is installed and changed on the way: nothing of them is kept.
func TestPassTheStandardLibrarysTests(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	folder, err := library.Folder()
	if err != nil {
		t.Skip(err)
	}
	for name, s := range swaps {
		t.Run(name, func(t *testing.T) {
			var tests []string
			overlay := s.withoutOwnTests(t)
			for _, file := range s.files {
				source, names := s.translate(t, filepath.Join(folder, file))
				tests = append(tests, names...)
				written := filepath.Join(t.TempDir(), file)
				require.NoError(t, os.WriteFile(written, source, 0o600))
				overlay[filepath.Join(s.dir(t), "library_"+file)] = written
			}
			for _, want := range s.want {
				require.Contains(t, tests, want, "the library's tests have changed")
			}
			passed := s.run(t, overlay)
			slices.Sort(tests)
			slices.Sort(passed)
			require.Equal(t, tests, passed)
			t.Log(passed)
		})
	}
}

// The race detector's own tests, with our package in the place of the standard one: it sees the
// races of those who misuse a lock or a group, and no others.
func TestRacesAreSeen(t *testing.T) {
	if !locktest.RaceEnabled {
		t.Skip("there is no race detector")
	}
	folder, err := library.Folder()
	if err != nil {
		t.Skip(err)
	}
	s := swap{folder: "sync"}
	overlay := s.withoutOwnTests(t)
	for _, file := range []string{"mutex_test.go", "rwmutex_test.go", "waitgroup_test.go", "sync_test.go", "pool_test.go"} {
		source, err := os.ReadFile(filepath.Join(folder, "..", "runtime", "race", "testdata", file))
		require.NoError(t, err)
		source = bytes.Replace(source, []byte("package race_test"), []byte("package sync_test"), 1)
		source = bytes.Replace(source, []byte("\"sync\"\n"), []byte("\""+module+"/sync\"\n"), 1)
		written := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.WriteFile(written, source, 0o600))
		overlay[filepath.Join(s.dir(t), "race_"+file)] = written
	}
	add := func(file string) {
		overlay[filepath.Join(s.dir(t), "race_more_"+file)] = filepath.Join(s.dir(t), "testdata", "races", file)
	}
	add("races_test.go")
	t.Run("program", func(t *testing.T) { requireRaces(t, s.build(t, overlay)) })
	add("bubbles_test.go")
	t.Run("program with bubbles", func(t *testing.T) { requireRaces(t, s.build(t, overlay)) })
	add("observed_test.go")
	t.Run("program that is observed", func(t *testing.T) { requireRaces(t, s.build(t, overlay)) })
	t.Run("program that is observed and portable", func(t *testing.T) {
		if testing.Short() {
			t.Skip("what sleeps is the same as without: under the race detector all do so in channels")
		}
		requireRaces(t, s.build(t, overlay, "-tags=farad_portable"))
	})
}

func requireRaces(t *testing.T, program string) {
	t.Helper()
	ran := races(program, "Race")
	for i := 0; len(ran) < 40; i++ { // Misuse that is too late, or too early, is a panic.
		require.Less(t, i, 10, "it ends early: %v", ran)
		ran = races(program, "Race")
	}
	for name, seen := range ran {
		if strings.HasPrefix(name, "TestNoRace") {
			// What is seen may be the one before it, whose report came late.
			for range 3 {
				require.False(t, seen && races(program, "^"+name+"$")[name], "%s: a race that is none", name)
			}
		}
		for i := 0; strings.HasPrefix(name, "TestRace") && !seen; i++ {
			// Most of them count on one goroutine being slower than another.
			require.Less(t, i, 10, "%s: not seen", name)
			seen = races(program, "^"+name+"$")[name]
		}
	}
}

// races runs tests that may have races, and reports of each whether it has.
func races(program, pattern string) map[string]bool {
	cmd := exec.Command(program, "-test.v", "-test.run", pattern)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0")
	out, _ := cmd.CombinedOutput() // It fails if there are races.
	seen := map[string]bool{}
	var name string
	for line := range strings.Lines(string(out)) {
		if begins, ok := strings.CutPrefix(line, "=== RUN   "); ok {
			name = strings.TrimSpace(begins)
			seen[name] = false
		} else if strings.Contains(line, "DATA RACE") {
			seen[name] = true
		}
	}
	return seen
}

func (s swap) dir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(s.folder)))
	require.NoError(t, err)
	return dir
}

// withoutOwnTests returns an overlay that hides the tests of the package.
func (s swap) withoutOwnTests(t *testing.T) map[string]string {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(s.dir(t), "*_test.go"))
	require.NoError(t, err)
	overlay := map[string]string{}
	for _, file := range own {
		overlay[file] = ""
	}
	return overlay
}

// build compiles the tests of the package under the overlay for the race detector, and returns
// where they are.
func (s swap) build(t *testing.T, overlay map[string]string, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "races")
	s.goTest(t, append(flags, "-race", "-c", "-o="+program, "-overlay="+written(t, overlay))...)
	return program
}

// run runs the tests of the package under the overlay, and returns the names of those that have
// passed.
func (s swap) run(t *testing.T, overlay map[string]string) (passed []string) {
	t.Helper()
	args := []string{"-v", "-count=1", "-timeout=60s", "-overlay=" + written(t, overlay)}
	if locktest.RaceEnabled {
		args = append(args, "-race")
	}
	out := s.goTest(t, args...)
	for _, m := range regexp.MustCompile(`(?m)^--- PASS: (\w+) `).FindAllSubmatch(out, -1) {
		passed = append(passed, string(m[1]))
	}
	return passed
}

// written returns the file of the overlay.
func written(t *testing.T, overlay map[string]string) string {
	t.Helper()
	content, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	return file
}

// goTest runs go test on the package.
func (s swap) goTest(t *testing.T, args ...string) (out []byte) {
	t.Helper()
	cmd := exec.Command("go", slices.Concat([]string{"test", "-vet=off"}, args, []string{"./" + s.folder})...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return out
}

// foreign reports whether a name stands for what is not about locks or works in the library only:
// its semaphores, its helpers, and the misuse that ends its process.
func foreign(name string) bool {
	return strings.HasPrefix(name, "Runtime_") || name == "testenv" || name == "misuseTests"
}

// translate returns the library's file with our types, without what is foreign, and the names of
// its tests.
func (s swap) translate(t *testing.T, file string) (source []byte, tests []string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	f.Name.Name = path.Base(s.folder) + "_test"
	library.Drop(f, foreign)
	if s.fresh != "" {
		s.makeFresh(t, f)
	}
	s.rename(f)
	if s.folder == "sync" {
		library.Import(f)
	} else {
		library.Import(f, module+"/"+s.folder)
	}
	var text strings.Builder
	require.NoError(t, format.Node(&text, fset, f))
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
			tests = append(tests, fn.Name.Name)
		}
	}
	return []byte(text.String()), tests
}

// makeFresh has f begin with fresh locks instead of zero values.
func (s swap) makeFresh(t *testing.T, f *ast.File) {
	t.Helper()
	expr := func() ast.Expr {
		x, err := parser.ParseExpr(s.fresh)
		require.NoError(t, err)
		return x
	}
	isLock := func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		return ok && s.types[id.Name] != ""
	}
	made := 0
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec: // var m Mutex
			if isLock(n.Type) && n.Values == nil {
				for range n.Names {
					n.Values = append(n.Values, &ast.StarExpr{X: expr()})
				}
				made++
			}
		case *ast.CallExpr: // new(Mutex)
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "new" && isLock(n.Args[0]) {
				*n = *expr().(*ast.CallExpr)
				made++
			}
		case *ast.UnaryExpr: // &Mutex{}
			if lit, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND && isLock(lit.Type) {
				n.X = &ast.StarExpr{X: expr()}
				made++
			}
		}
		return true
	})
	require.NotZero(t, made)
}

// rename replaces the names of types, and puts the library's package before those that stay.
func (s swap) rename(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		switch {
		case !ok:
		case s.types[id.Name] != "":
			id.Name = s.types[id.Name]
		case slices.Contains([]string{"Cond", "Locker", "NewCond"}, id.Name):
			id.Name = "sync." + id.Name
		}
		return true
	})
	for _, i := range f.Imports {
		i.Name = nil // of the library's package, which the tests import by a dot
		if s.folder == "sync" && i.Path.Value == `"sync"` {
			i.Path.Value = `"` + module + `/sync"` // in its place
		}
	}
}
