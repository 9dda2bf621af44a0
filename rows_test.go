package farad_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a row of docs/rows.md names exists: identifiers, tests, files, and workloads of bench/.
func TestRowsNameWhatExists(t *testing.T) {
	if _, err := os.Stat("bench"); err != nil {
		t.Skip("a copy of the module without bench/, which is one of its own")
	}
	document, err := os.ReadFile("docs/rows.md")
	require.NoError(t, err)
	ids, faults := readRows(string(document), existing{
		names:     declared(t, "."),
		paths:     func(name string) bool { found, err := filepath.Glob(name); return err == nil && len(found) > 0 },
		workloads: sourceOf(t, "bench"),
	})
	require.Empty(t, faults)
	for prefix, n := range map[string]int{"V": 22, "E": 8, "B": 10, "T": 32, "C": 19} {
		for i := range n {
			id := fmt.Sprint(prefix, i+1)
			require.True(t, slices.Contains(ids, id), id)
		}
	}
}

func TestRowsThatNameWhatDoesNotExistAreFound(t *testing.T) {
	there := existing{
		names:     map[string]bool{"Lock": true, "Mutex.Lock": true, "mutex.Mutex.Lock": true, "TestLock": true, "ExampleLock": true},
		paths:     func(name string) bool { return name == "sync/mutex" || name == "mutex/" },
		workloads: `name: "word"`,
	}
	for row, want := range map[string][]string{
		"| T1 | it locks | `Lock` in bench/ | `TestLock/one`, `word-1` in bench/ |":     nil,
		"| B1 | it locks | `mutex.Mutex.Lock` in `mutex/` | `TestLock`, `/two` |":       nil,
		"| V1 | it locks | `sync/mutex` | `ExampleLock` |":                              nil,
		"| V1 | it locks | – | `TestLock` |":                                            nil,
		"| C1 | it locks | `Lock` | `word-1` to `-4` in bench/ |":                       nil,
		"| E1 | it locks | `Lock` | the tests of `sync/mutex` |":                        nil,
		"| T1 | it locks | `Mutex.Lock`, `Unlock` | `TestLock` |":                       {"T1: no Unlock"},
		"| V1 | it locks | `Mutex.Lock`, `sync/word` | `TestLock` |":                    {"V1: no sync/word"},
		"| C1 | it locks | `Lock` | `pointer-1` in bench/ |":                            {"C1: no pointer-1 in bench/"},
		"| T1 | it locks | `RWMutex.Lock` | `TestLock` |":                               {"T1: no RWMutex.Lock"},
		"| T1 | it locks | `Lock` | `TestLock`, `TestUnlock/one` |":                     {"T1: no TestUnlock"},
		"| T1 | it locks | lock | `TestLock` |":                                         {"T1: implemented by nothing"},
		"| E1 | it locks | `Lock` | measured |":                                         {"E1: shown by nothing"},
		"| E1 | it locks | `Lockable` | `TestUnlock` |":                                 {"E1: no Lockable", "E1: no TestUnlock"},
		"| T1, T2 | it locks; it unlocks | `Lock` | `TestLock` |":                       {"T1, T2: several rows in one"},
		"| T1 | it locks | `Lock` |":                                                    {"T1: 3 columns"},
		"| T1 | it locks | `Lock` | `TestLock` |\n| T1 | again | `Lock` | `TestLock` |": {"T1: twice"},
	} {
		_, faults := readRows("# Rows\n\n| ID | what |\n|---|---|\n"+row+"\n", there)
		require.Equal(t, want, faults, row)
	}
	require.Subset(t, declared(t, "sync/mutex"), map[string]bool{
		"Mutex": true, "mutex.Mutex": true, "mutex.Mutex.Lock": true, "Mutex.Lock": true, "NewPacked": true,
		"mutex.NewPacked": true, "Pointer.Store": true, "Mutex.e": true, "perWord": true, "TestWordSizes": true,
	})
}

var (
	rowStart = regexp.MustCompile(`^\| ([A-Z]\d[^|]*) \|`)
	symbol   = regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)*)`")
	location = regexp.MustCompile("`([\\w.*-]+/[\\w./*-]*|[\\w-]+\\.(?:go|md))`")
	workload = regexp.MustCompile("`([a-z][a-z-]*)-[\\dx]+`")
	test     = regexp.MustCompile("`((?:Test|Example|Fuzz)\\w*)")
)

// existing is what rows may name.
type existing struct {
	names     map[string]bool
	paths     func(name string) bool
	workloads string // the text in which their names stand
}

// readRows returns the rows' ids, and what is wrong with them.
func readRows(document string, there existing) (ids, faults []string) {
	for line := range strings.Lines(document) {
		start := rowStart.FindStringSubmatch(line)
		if start == nil {
			continue
		}
		id := start[1]
		fault := func(format string, args ...any) { faults = append(faults, id+": "+fmt.Sprintf(format, args...)) }
		switch cells := strings.Split(line, "|"); {
		case strings.Contains(id, ","):
			fault("several rows in one")
		case slices.Contains(ids, id):
			fault("twice")
		case len(cells) != 6:
			fault("%d columns", len(cells)-2)
		default:
			code, shown := cells[3], cells[4]
			symbols, tests := all(symbol, code), all(test, shown)
			files := slices.DeleteFunc(all(location, code), func(s string) bool { return slices.Contains(symbols, s) })
			proofs := all(location, shown)
			var loads []string
			if strings.Contains(shown, "in bench/") {
				loads = all(workload, shown)
			}
			symbols = slices.DeleteFunc(symbols, func(s string) bool { return slices.Contains(files, s) })
			if len(symbols)+len(files) == 0 && strings.TrimSpace(code) != "–" { // a mechanism that we leave out
				fault("implemented by nothing")
			}
			if len(tests)+len(proofs)+len(loads) == 0 {
				fault("shown by nothing")
			}
			for _, name := range append(symbols, tests...) {
				if !there.names[name] && !there.paths(name) {
					fault("no %s", name)
				}
			}
			for _, name := range append(files, proofs...) {
				if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") {
					continue // a subtest
				}
				if !there.paths(name) {
					fault("no %s", name)
				}
			}
			for _, name := range loads {
				if !strings.Contains(there.workloads, `"`+name) {
					fault("no %s-1 in bench/", name)
				}
			}
		}
		ids = append(ids, id)
	}
	return ids, faults
}

// all returns what the first group of the expression matches in the text.
func all(e *regexp.Regexp, text string) (found []string) {
	for _, m := range e.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// sourceOf returns the text of all Go files in a folder and below it.
func sourceOf(t *testing.T, folder string) string {
	t.Helper()
	var text strings.Builder
	for _, name := range filesWith(t, ".go") {
		if strings.HasPrefix(filepath.ToSlash(name), folder+"/") {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			text.Write(source)
		}
	}
	return text.String()
}

// declared returns the names of all top-level declarations in a folder and below it: alone, and
// qualified by the type and by the package.
func declared(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(path ...string) {
		for i := range path {
			names[strings.Join(path[i:], ".")] = true
		}
	}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(file.Name.Name, decl.Name.Name)
				} else {
					add(file.Name.Name, typeName(decl.Recv.List[0].Type), decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(file.Name.Name, spec.Name.Name)
						if body, ok := spec.Type.(*ast.StructType); ok {
							for _, field := range body.Fields.List {
								for _, name := range field.Names {
									add(file.Name.Name, spec.Name.Name, name.Name)
								}
							}
						}
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							add(file.Name.Name, name.Name)
						}
					}
				}
			}
		}
		return nil
	}))
	return names
}

// typeName returns the name of a receiver's type, without star and type parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
