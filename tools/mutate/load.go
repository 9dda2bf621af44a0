package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A file is a source file to make mutants of.
type file struct {
	name   string // relative to the root, with slashes
	path   string
	src    []byte
	syntax *ast.File
	pkg    *pkg
}

// A pkg is a package, without its tests. Its types say where a mutation makes sense, and whether a
// mutant compiles: that takes milliseconds here and a second in the go command.
type pkg struct {
	path, dir string
	fset      *token.FileSet
	files     []*file
	importer  types.Importer
	info      *types.Info
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("not in a module")
	}
	return filepath.Dir(mod), nil
}

// moduleOf returns the folder of the module that dir is part of: that of root, or one below.
func moduleOf(root, dir string) string {
	for ; dir != root && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return root
}

// pathsOf returns the paths of the files that the targets, files or folders, stand for.
func pathsOf(targets []string) ([]string, error) {
	var paths []string
	for _, target := range targets {
		target, err := filepath.Abs(target)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(target); err != nil {
			return nil, err
		} else if info.IsDir() {
			in, err := filesIn(target)
			if err != nil {
				return nil, err
			}
			paths = append(paths, in...)
			continue
		}
		paths = append(paths, target)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// load returns the files with these paths, which are in order.
func load(ctx context.Context, root string, paths []string) ([]*file, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	dirs := map[string][]string{} // by module
	for _, path := range paths {
		dir := filepath.Dir(path)
		module := moduleOf(root, dir)
		dirs[module] = append(dirs[module], dir)
	}
	var pkgs []*pkg
	for module, dirs := range dirs {
		more, err := loadPackages(ctx, root, module, slices.Compact(dirs))
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, more...)
	}
	var files []*file
	for _, path := range paths {
		f := find(pkgs, path)
		if f == nil {
			return nil, fmt.Errorf("%s: not part of its package's build", path)
		}
		files = append(files, f)
	}
	return files, nil
}

// filesIn returns the files of a folder that are worth mutating: code that is in the program as it
// is shipped, and under the model checker too.
func filesIn(dir string) ([]string, error) {
	model := build.Default
	model.BuildTags = append(slices.Clone(model.BuildTags), "interleave")
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, path := range all {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || name == "doc.go" || name == "errors.go" {
			continue
		}
		shipped, err := build.Default.MatchFile(dir, name)
		if err != nil {
			return nil, err
		}
		explored, err := model.MatchFile(dir, name)
		if err != nil {
			return nil, err
		}
		if shipped && explored {
			files = append(files, path)
		}
	}
	return files, nil
}

func find(pkgs []*pkg, path string) *file {
	for _, p := range pkgs {
		for _, f := range p.files {
			if f.path == path {
				return f
			}
		}
	}
	return nil
}

// loadPackages asks the go command for the packages in dirs, of one module, and for what they
// import as the compiler's export data.
func loadPackages(ctx context.Context, root, module string, dirs []string) ([]*pkg, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export,DepOnly", "--"}, dirs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		DepOnly                 bool
	}
	var targets []listed
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			targets = append(targets, l)
		}
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var pkgs []*pkg
	for _, l := range targets {
		p := &pkg{path: l.ImportPath, dir: l.Dir, fset: fset, importer: imp}
		for _, name := range l.GoFiles {
			path := filepath.Join(l.Dir, name)
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, &file{name: filepath.ToSlash(rel), path: path, src: src})
		}
		if err := p.check(); err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// check parses and type-checks the package as it is.
func (p *pkg) check() error {
	var syntax []*ast.File
	for _, f := range p.files {
		f.pkg = p
		var err error
		if f.syntax, err = parser.ParseFile(p.fset, f.path, f.src, parser.ParseComments); err != nil {
			return err
		}
		syntax = append(syntax, f.syntax)
	}
	p.info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	conf := types.Config{Importer: p.importer}
	_, err := conf.Check(p.path, p.fset, syntax, p.info)
	return err
}

// compiles reports whether the package would compile with another text of f.
func (p *pkg) compiles(f *file, src []byte) bool {
	var syntax []*ast.File
	for name, text := range map[string][]byte{f.path: src, helperFile: helper(f)} {
		parsed, err := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		syntax = append(syntax, parsed)
	}
	for _, other := range p.files {
		if other != f {
			syntax = append(syntax, other.syntax)
		}
	}
	conf := types.Config{Importer: p.importer}
	_, err := conf.Check(p.path, p.fset, syntax, nil)
	return err == nil
}
