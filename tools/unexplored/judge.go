package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

// A function of the core. Methods are called by their type, as in Type.Method.
type function struct {
	file, name string
	begin, end position // of its body
}

func (f function) key() string { return f.file + ":" + f.name }

type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// A block is a piece of code that was compiled, and how often it ran.
type block struct {
	begin position
	ran   bool
}

// functionsOf returns the functions with a body that is not empty, of the files that belong to a
// build without tags: what ships. So a file whose place another takes under the explorer counts as
// not reached.
func functionsOf(root string, dirs []string) ([]function, error) {
	var all []function
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			ships, err := build.Default.MatchFile(filepath.Join(root, filepath.FromSlash(dir)), e.Name())
			if err != nil {
				return nil, err
			}
			if !ships {
				continue
			}
			fs, err := functionsIn(root, path.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			all = append(all, fs...)
		}
	}
	return all, nil
}

func functionsIn(root, file string) (fs []function, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || len(f.Body.List) == 0 {
			continue
		}
		begin, end := set.Position(f.Body.Pos()), set.Position(f.Body.End())
		fs = append(fs, function{file, nameOf(f), position{begin.Line, begin.Column}, position{end.Line, end.Column}})
	}
	return fs, nil
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// readProfile returns the blocks of a coverage profile, by file. Lines look like
//
//	github.com/farad-go/farad/waiter/watch.go:70.34,73.2 3 1
func readProfile(name string) (map[string][]block, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	blocks := map[string][]block{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if n == 1 && strings.HasPrefix(line, "mode: ") || line == "" {
			continue
		}
		file, b, ok := parseBlock(line)
		if !ok {
			return nil, fmt.Errorf("%s:%d: not a line of a coverage profile", name, n)
		}
		blocks[file] = append(blocks[file], b)
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%s: no code is in this profile", name)
	}
	return blocks, nil
}

func parseBlock(line string) (file string, b block, ok bool) {
	file, rest, ok := strings.Cut(line, ":")
	if !ok {
		return "", b, false
	}
	fields := strings.Fields(rest)
	if len(fields) != 3 {
		return "", b, false
	}
	begin, _, _ := strings.Cut(fields[0], ",")
	row, column, _ := strings.Cut(begin, ".")
	var errs [3]error
	b.begin.line, errs[0] = strconv.Atoi(row)
	b.begin.column, errs[1] = strconv.Atoi(column)
	count, err := strconv.ParseUint(fields[2], 10, 64)
	errs[2] = err
	b.ran = count > 0
	return strings.TrimPrefix(file, module+"/"), b, errs == [3]error{}
}

// A verdict on the core.
type verdict struct {
	problems        []string
	reached, listed int
}

// judge compares what was reached with the list of what is not, which has a reason for each.
func judge(functions []function, blocks map[string][]block, list map[string]string) (v verdict) {
	exists := map[string]bool{}
	for _, f := range functions {
		exists[f.key()] = true
		reached := slices.ContainsFunc(blocks[f.file], func(b block) bool {
			return b.ran && !b.begin.before(f.begin) && b.begin.before(f.end)
		})
		_, listed := list[f.key()]
		switch {
		case reached && listed:
			v.problem("%s is listed, but a scenario reaches it: take it off %s", f.key(), listName)
		case !reached && !listed:
			v.problem("%s: no scenario of tier one reaches it, and %s gives no reason", f.key(), listName)
		}
		if reached {
			v.reached++
		} else if listed {
			v.listed++
		}
	}
	for key := range list {
		if !exists[key] {
			v.problem("%s is listed, but does not exist: take it off %s", key, listName)
		}
	}
	slices.Sort(v.problems)
	return v
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// readList reads the functions that no scenario reaches: a line has a file, its functions, and the
// reason, with tabs between them.
func readList(name string) (map[string]string, error) {
	return repo.ReadReasons(name, 2, func(columns []string) (keys []string) {
		for f := range strings.FieldsSeq(columns[1]) {
			keys = append(keys, columns[0]+":"+f)
		}
		return keys
	})
}
