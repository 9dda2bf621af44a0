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

// Whoever looks for what a row of docs/rows.md names finds it.
func TestRowsNameWhatExists(t *testing.T) {
	if _, err := os.Stat("bench"); err != nil {
		t.Skip("a copy of the module without bench/, which is one of its own")
	}
	document, err := os.ReadFile("docs/rows.md")
	require.NoError(t, err)
	ids, faults := readRows(string(document), declared(t, "."))
	require.Empty(t, faults)
	for prefix, n := range map[string]int{"B": 10, "T": 32} {
		for i := range n {
			id := fmt.Sprint(prefix, i+1)
			require.True(t, slices.Contains(ids, id), id)
		}
	}
}

func TestRowsThatNameWhatDoesNotExistAreFound(t *testing.T) {
	names := map[string]bool{"Lock": true, "Mutex.Lock": true, "mutex.Mutex.Lock": true, "TestLock": true}
	for row, want := range map[string][]string{
		"| T1 | it locks | `Lock` in bench/ | `TestLock/one`, `word-1` in bench/ |":     nil,
		"| B1 | it locks | `mutex.Mutex.Lock` in `mutex/` | `TestLock`, `/two` |":       nil,
		"| T1 | it locks | `Mutex.Lock`, `Unlock` | `TestLock` |":                       {"T1: no Unlock"},
		"| T1 | it locks | `RWMutex.Lock` | `TestLock` |":                               {"T1: no RWMutex.Lock"},
		"| T1 | it locks | `Lock` | `TestLock`, `TestUnlock/one` |":                     {"T1: no TestUnlock"},
		"| T1 | it locks | lock | `TestLock` |":                                         {"T1: implemented by nothing"},
		"| T1 | it locks | `Lock` | `word-1` in bench/ |":                               {"T1: shown by nothing"},
		"| E1 | it locks | `Lockable` | `word-1` in bench/ |":                           nil,
		"| E1 | it locks | `Lockable` | `TestUnlock` |":                                 {"E1: no TestUnlock"},
		"| T1, T2 | it locks; it unlocks | `Lock` | `TestLock` |":                       {"T1, T2: several rows in one"},
		"| T1 | it locks | `Lock` |":                                                    {"T1: 3 columns"},
		"| T1 | it locks | `Lock` | `TestLock` |\n| T1 | again | `Lock` | `TestLock` |": {"T1: twice"},
	} {
		_, faults := readRows("# Rows\n\n| ID | what |\n|---|---|\n"+row+"\n", names)
		require.Equal(t, want, faults, row)
	}
	require.Subset(t, declared(t, "sync/mutex"), map[string]bool{
		"Mutex": true, "mutex.Mutex": true, "mutex.Mutex.Lock": true, "Mutex.Lock": true, "NewPacked": true, "mutex.NewPacked": true,
		"Pointer.Store": true, "perWord": true, "TestWordSizes": true,
	})
}

var (
	rowStart = regexp.MustCompile(`^\| ([A-Z]\d[^|]*) \|`)
	symbol   = regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)*)`")
	test     = regexp.MustCompile(`\bTest[A-Z]\w*`)
)

// readRows returns the rows' ids, and what is wrong with them: tests that are not among the names;
// and in the parts B and T symbols that are not, or none at all of either.
func readRows(document string, names map[string]bool) (ids, faults []string) {
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
			var symbols []string
			strict := id[0] == 'B' || id[0] == 'T'
			if strict {
				for _, m := range symbol.FindAllStringSubmatch(cells[3], -1) {
					symbols = append(symbols, m[1])
				}
			}
			tests := test.FindAllString(cells[4], -1)
			if strict && len(symbols) == 0 {
				fault("implemented by nothing")
			}
			if strict && len(tests) == 0 {
				fault("shown by nothing")
			}
			for _, name := range append(symbols, tests...) {
				if !names[name] {
					fault("no %s", name)
				}
			}
		}
		ids = append(ids, id)
	}
	return ids, faults
}

// declared returns the names of what is declared on the top level of all files in a folder and
// below it: alone, and behind those of its type and of its package.
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
