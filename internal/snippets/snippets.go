// Package snippets compiles the code in the documents: each fenced block of Go in README.md and the
// guides. Blocks are parts of programs. A prelude declares what they use and do not show.
//
// Tests compile the blocks with the packages of the tree. tools/release compiles them with those
// that are packed for a release, and has the go command do so as well.
//
// The package imports the standard library only.
package snippets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Block is a fenced block of Go.
type Block struct {
	File string // where it stands, relative to the root
	Text string
}

// A Set has the blocks of one module, and what they need.
type Set struct {
	prelude  string
	patterns []string // of the packages that a block may name; of two with one name, the first counts
	is       func(Block) bool
}

const module = "github.com/farad-go/farad"

// Locks are the blocks about the packages of the root.
var Locks = &Set{
	prelude: locksPrelude,
	patterns: []string{
		module + "/sync/...", module + "/twa", module + "/runtime/...", module + "/waiter", module + "/observe",
		module + "/observe/observetest", module + "/limit/...", "go.uber.org/goleak",
		"context", "errors", "fmt", "log", "net/http", "os", "testing", "testing/synctest", "time",
	},
	is: func(b Block) bool { return !Fleet.is(b) },
}

// Fleet are the blocks about the modules of a fleet, which the root does not know.
var Fleet = &Set{
	prelude: fleetPrelude,
	patterns: []string{
		module + "/fleet", module + "/fleet/etcd", module + "/fleet/embedded", module + "/fleet/fence/...",
		module + "/observe",
		"context", "crypto/tls", "crypto/x509", "database/sql", "net/http", "time",
		"go.etcd.io/etcd/client/v3", "google.golang.org/grpc", "google.golang.org/grpc/credentials",
	},
	is: func(b Block) bool { return b.File == "docs/guides/fleet.md" || strings.Contains(b.Text, "fleet.") },
}

// A block may declare a name of the prelude anew.
const (
	locksPrelude = `
var (
	ctx   context.Context
	mu    *sync.Mutex
	cond  *sync.Cond
	wg    *sync.WaitGroup
	t     *testing.T
	ex    *rt.Executor
	sem   *semaphore.Semaphore
	quit  chan struct{}
	slots chan struct{}

	places *semaphore.Semaphore
)

func work() error                                    { return nil }
func use()                                           {}
func compute() (int, error)                          { return 0, nil }
func serve(w http.ResponseWriter, r *http.Request)   {}
`
	fleetPrelude = `
var (
	ctx         context.Context
	client      *clientv3.Client
	f           *fleet.Fleet
	sem         *fleet.Semaphore
	p           *fleet.Permit
	db          *sql.DB
	object      fence.Object
	endpoints   []string
	address     string
	authority   *x509.CertPool
	certificate tls.Certificate
	config      *tls.Config
)

func export(context.Context) error { return nil }
func schedule(context.Context)     {}
`
)

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	qualified = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)
)

// Blocks returns the blocks of README.md and the guides below root.
func (s *Set) Blocks(root string) (blocks []Block, err error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, name := range append(names, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		short, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		for _, m := range goBlock.FindAllSubmatch(text, -1) {
			if b := (Block{File: filepath.ToSlash(short), Text: string(m[1])}); s.is(b) {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks, nil
}

// A Compiler compiles blocks with the packages that the go command finds from a folder.
type Compiler struct {
	prelude  string
	fset     *token.FileSet
	importer types.Importer
	paths    map[string]string // import paths by package name
}

// Compiler returns a compiler with the packages of the module in dir, and those that it requires.
// The environment is that of the go command; nil: of this process.
func (s *Set) Compiler(ctx context.Context, dir string, env []string) (*Compiler, error) {
	list := exec.CommandContext(ctx, "go", append([]string{
		"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.DepOnly}} {{.Export}}",
	}, s.patterns...)...)
	list.Dir, list.Env = dir, env
	var complaint bytes.Buffer
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, complaint.Bytes())
	}
	exports, paths := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue // no Go files, or unsafe
		}
		name, path := f[1], f[0]
		exports[path] = f[3] // of all, because exported types refer to others
		if f[2] == "true" || strings.Contains(path, "/internal/") {
			continue
		}
		if old, ok := paths[name]; !ok || s.rank(path) < s.rank(old) {
			paths[name] = path
		}
	}
	c := &Compiler{prelude: s.prelude, fset: token.NewFileSet(), paths: paths}
	c.importer = importer.ForCompiler(c.fset, "gc", func(name string) (io.ReadCloser, error) {
		file, ok := exports[name]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(file)
	})
	return c, nil
}

// rank returns which pattern a package matches.
func (s *Set) rank(path string) int {
	return slices.IndexFunc(s.patterns, func(pattern string) bool {
		parent, all := strings.CutSuffix(pattern, "/...")
		return path == parent || all && strings.HasPrefix(path, parent+"/")
	})
}

// Compile returns the source of a package that has the block, of declarations or of statements,
// and the prelude. The go command can compile it.
func (c *Compiler) Compile(block string) (source []byte, err error) {
	file, err := c.parse(block)
	if err != nil {
		return nil, err
	}
	prelude, err := parser.ParseFile(c.fset, "prelude.go", c.withImports(c.prelude), parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	without(prelude, file)
	var faults []error
	open := false                    // the statements may go on behind the block
	unused := map[token.Pos]string{} // variables: a block shows calls, not what is done with their results
	config := types.Config{Importer: c.importer, Error: func(err error) {
		e, _ := errors.AsType[types.Error](err)
		if name, ok := strings.CutPrefix(e.Msg, "declared and not used: "); ok {
			unused[e.Pos] = name
		} else if e.Msg == "missing return" {
			open = true
		} else if !strings.HasSuffix(e.Msg, "and not used") { // imports, as names of variables may be those of packages
			faults = append(faults, err)
		}
	}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	_, _ = config.Check("snippet", c.fset, []*ast.File{file, prelude}, info) // Error gets each
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if last, ok := file.Decls[len(file.Decls)-1].(*ast.FuncDecl); ok && open {
		last.Body.List = append(last.Body.List, &ast.ReturnStmt{Results: []ast.Expr{ast.NewIdent("nil")}})
	}
	use(file, unused)
	if len(unused) > 0 {
		return nil, fmt.Errorf("declared and not used: %v", unused)
	}
	return c.source(info, file, prelude)
}

// parse parses a block.
func (c *Compiler) parse(block string) (*ast.File, error) {
	text, wrapped := block, false
	for {
		file, err := parser.ParseFile(c.fset, "block.go", c.withImports(text), parser.SkipObjectResolution)
		if err == nil || wrapped {
			return file, err
		}
		// Blocks of statements may return errors.
		text, wrapped = "func _() {\n"+block+"\n}\n", true
		if strings.Contains(block, "return ") {
			text = "func _() error {\n" + block + "\n}\n"
		}
	}
}

// withImports returns a file with the packages that a text may name.
func (c *Compiler) withImports(text string) string {
	names := map[string]bool{}
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		names[m[1]] = c.paths[m[1]] != ""
	}
	var b strings.Builder
	b.WriteString("package snippet\n")
	for name, known := range names {
		// The block may have the import itself.
		own := regexp.MustCompile(`(?m)^\s*(import )?"` + regexp.QuoteMeta(c.paths[name]) + `"`)
		if known && !own.MatchString(text) {
			fmt.Fprintf(&b, "import %s %q\n", name, c.paths[name])
		}
	}
	return b.String() + text
}

// without takes the declarations out of the prelude that the block has itself.
func without(prelude, block *ast.File) {
	own := map[string]bool{}
	for _, d := range block.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			own[d.Name.Name] = d.Recv == nil
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, n := range v.Names {
						own[n.Name] = true
					}
				}
			}
		}
	}
	for _, d := range prelude.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && own[f.Name.Name] {
			f.Name.Name = "_"
		} else if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && own[v.Names[0].Name] {
					v.Names[0].Name = "_"
				}
			}
		}
	}
}

// use adds a use behind the statements that declare what nothing uses, and forgets these variables.
func use(file *ast.File, unused map[token.Pos]string) {
	uses := func(list []ast.Stmt) (all []ast.Stmt) {
		for _, s := range list {
			all = append(all, s)
			switch s.(type) {
			case *ast.AssignStmt, *ast.DeclStmt:
			default:
				continue
			}
			for pos, name := range unused {
				if s.Pos() <= pos && pos < s.End() {
					all = append(all, &ast.AssignStmt{
						Lhs: []ast.Expr{ast.NewIdent("_")}, Tok: token.ASSIGN, Rhs: []ast.Expr{ast.NewIdent(name)},
					})
					delete(unused, pos)
				}
			}
		}
		return all
	}
	var bodies []*[]ast.Stmt
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			bodies = append(bodies, &n.List)
		case *ast.CaseClause:
			bodies = append(bodies, &n.Body)
		case *ast.CommClause:
			bodies = append(bodies, &n.Body)
		}
		return true
	})
	slices.Reverse(bodies) // the inner ones first: a variable belongs to the innermost statement
	for _, b := range bodies {
		*b = uses(*b)
	}
}

// source returns the text of the files, as one, with the imports that they use.
func (c *Compiler) source(info *types.Info, files ...*ast.File) ([]byte, error) {
	imports := map[string]string{}
	for _, o := range info.Uses {
		if p, ok := o.(*types.PkgName); ok {
			imports[p.Name()] = p.Imported().Path()
		}
	}
	var b bytes.Buffer
	b.WriteString("package snippet\n\n")
	for name, path := range imports {
		fmt.Fprintf(&b, "import %s %q\n", name, path)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			b.WriteString("\n")
			if err := format.Node(&b, c.fset, d); err != nil {
				return nil, err
			}
			b.WriteString("\n")
		}
	}
	return format.Source(b.Bytes())
}
