package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Tree is all packages of all modules of the repository, as they are in the working tree, for all
// platforms and with all build tags.
type Tree struct {
	Packages map[string]*Package // by folder
	root     string
	files    []string            // all files of the repository
	modules  map[string]string   // paths by folder
	byPath   map[string]*Package // by import path
}

// A Package is a folder with Go files. All names are relative to the root and have slashes.
type Package struct {
	Dir    string
	Module string   // the folder of the module
	Files  []string // in the folder, and in those below it that are no package, without prose

	imports     map[string]bool // by files that are no tests
	testImports map[string]bool
	explored    bool
}

// Pattern returns the argument of the go command for the package, in the folder of its module.
func (p *Package) Pattern() string {
	switch p.Module {
	case p.Dir:
		return "."
	case ".":
		return "./" + p.Dir
	}
	return "." + strings.TrimPrefix(p.Dir, p.Module)
}

// Explored reports whether the package has scenarios for the explorer. (The explorer's own tests
// are no scenarios.)
func (p *Package) Explored() bool { return p.explored && p.Dir != "internal/interleave" }

// HasTests reports whether the package has a test file.
func (p *Package) HasTests() bool {
	return slices.ContainsFunc(p.Files, func(name string) bool {
		return path.Dir(name) == p.Dir && strings.HasSuffix(name, "_test.go")
	})
}

// Load reads the repository in root: what git tracks, and what it neither tracks nor ignores.
func Load(ctx context.Context, root string) (*Tree, error) {
	t := &Tree{
		root: root, Packages: map[string]*Package{}, modules: map[string]string{}, byPath: map[string]*Package{},
	}
	cmd := exec.CommandContext(ctx, "git", "-c", "core.quotePath=false", "ls-files", "-co", "--exclude-standard", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		// Git also lists files that are deleted and not yet committed so.
		if _, err := os.Stat(filepath.Join(root, string(name))); err == nil {
			t.files = append(t.files, string(name))
		}
	}
	slices.Sort(t.files)
	for _, name := range t.files {
		if path.Base(name) == "go.mod" && !inTestdata(name) {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			line, _, _ := strings.Cut(string(text), "\n")
			module, ok := strings.CutPrefix(line, "module ")
			if !ok {
				return nil, fmt.Errorf("%s does not begin with its module", name)
			}
			t.modules[path.Dir(name)] = strings.TrimSpace(module)
		}
	}
	if t.modules["."] == "" {
		return nil, errors.New("the root is no module")
	}
	for _, name := range t.files {
		if path.Ext(name) == ".go" && !inTestdata(name) {
			if err := t.addFile(name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range t.files {
		if p := t.Owner(name); p != nil {
			p.Files = append(p.Files, name)
		}
	}
	return t, nil
}

func (t *Tree) addFile(name string) error {
	dir := path.Dir(name)
	p := t.Packages[dir]
	if p == nil {
		module := dir
		for t.modules[module] == "" {
			module = path.Dir(module)
		}
		p = &Package{Dir: dir, Module: module, imports: map[string]bool{}, testImports: map[string]bool{}}
		t.Packages[dir] = p
		t.byPath[path.Join(t.modules[module], strings.TrimPrefix(p.Pattern(), "./"))] = p
	}
	text, err := os.ReadFile(filepath.Join(t.root, name))
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		return err
	}
	imports := p.imports
	if strings.HasSuffix(name, "_test.go") {
		imports = p.testImports
		p.explored = p.explored || bytes.Contains(text, []byte("interleave.Check(t, "))
	}
	for _, i := range file.Imports {
		if imported, err := strconv.Unquote(i.Path.Value); err == nil {
			imports[imported] = true
		}
	}
	return nil
}

func inTestdata(name string) bool { return strings.Contains("/"+name, "/testdata/") }

// Owner returns the package that a file belongs to: that of its folder, or of the nearest one above
// it. Prose belongs to none, unless it is the data of a test. At the root of a module lie files of
// all kinds; what is no Go there, nor the module's own, belongs to none as well.
func (t *Tree) Owner(name string) *Package {
	if path.Ext(name) == ".md" && !inTestdata(name) {
		return nil
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if p := t.Packages[dir]; p != nil && !inTestdata(dir+"/") {
			if dir == p.Module && path.Ext(name) != ".go" && !inTestdata(name) {
				return nil
			}
			return p
		}
		if t.modules[dir] != "" {
			return nil
		}
	}
}

// ModuleFiles returns the names of go.mod and go.sum of a package's module.
func (p *Package) ModuleFiles() []string {
	return []string{path.Join(p.Module, "go.mod"), path.Join(p.Module, "go.sum")}
}

// Match returns the packages of a module that a pattern of the go command stands for, such as
// ./sync/... or ./waiter, in the order of their folders.
func (t *Tree) Match(module, pattern string) ([]*Package, error) {
	if _, ok := t.modules[module]; !ok {
		return nil, fmt.Errorf("no module %s", module)
	}
	dir, all := strings.CutSuffix(path.Join(module, pattern), "/...")
	if path.Base(pattern) == "..." && path.Clean(pattern) == "..." {
		dir, all = module, true
	}
	var found []*Package
	for _, name := range slices.Sorted(maps.Keys(t.Packages)) {
		p := t.Packages[name]
		if p.Module == module && (name == dir || all && (dir == "." || strings.HasPrefix(name, dir+"/"))) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("module %s: no package matches %s", module, pattern)
	}
	return found, nil
}

// Closure returns the packages of the repository that the tests of p are made of: p, what its tests
// import, and all that these import.
func (t *Tree) Closure(p *Package) map[*Package]bool {
	in := map[*Package]bool{}
	var add func(imports map[string]bool)
	add = func(imports map[string]bool) {
		for i := range imports {
			if q := t.byPath[i]; q != nil && !in[q] {
				in[q] = true
				add(q.imports)
			}
		}
	}
	add(p.imports)
	add(p.testImports)
	in[p] = true
	return in
}

// Inputs returns the files that the tests of p are made of, in order: those of its closure, without
// the tests of what is imported, and go.mod and go.sum.
func (t *Tree) Inputs(p *Package) []string {
	names := map[string]bool{}
	for q := range t.Closure(p) {
		for _, name := range append(q.ModuleFiles(), q.Files...) {
			if q == p || !strings.HasSuffix(name, "_test.go") {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
