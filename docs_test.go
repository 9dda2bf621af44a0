package farad_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code in the documents compiles: every fenced block of Go is type-checked against the module.
func TestCodeInTheDocumentsCompiles(t *testing.T) {
	guides, err := filepath.Glob("docs/guides/*.md")
	require.NoError(t, err)
	guides = slices.DeleteFunc(guides, func(name string) bool {
		return name == "docs/guides/fleet.md" // of a module of its own, whose tests compile it
	})
	check := newSnippets(t)
	blocks := 0
	for _, name := range append(guides, "README.md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range goBlock.FindAllSubmatch(text, -1) {
			if strings.Contains(string(m[1]), "fleet.") {
				continue // as above
			}
			blocks++
			require.NoError(t, check.compile(string(m[1])), "%s:\n%s", name, m[1])
		}
	}
	require.Greater(t, blocks, 5)
}

func TestCodeThatDoesNotCompileIsFound(t *testing.T) {
	check := newSnippets(t)
	require.NoError(t, check.compile("sem.Release(1)\n"))
	require.NoError(t, check.compile("func f() { sem.Release(1) }\n"))
	require.ErrorContains(t, check.compile("sem.Free(1)\n"), "Free")
	require.ErrorContains(t, check.compile("func f() { semaphore.Make(1) }\n"), "Make")
	require.Error(t, check.compile("sem.Release(1\n"))
}

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	qualified = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)
)

// prelude declares what the blocks use and do not show. A block may declare a name anew.
const prelude = `package snippet

import (
	"context"
	"net/http"
	"testing"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

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

// snippets compiles blocks of code.
type snippets struct {
	fset     *token.FileSet
	importer types.Importer
	paths    map[string]string // import paths by package name
}

func newSnippets(t *testing.T) *snippets {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}",
		"./sync/...", "./twa", "./runtime/...", "./waiter", "./observe", "./limit/...", "net/http", "testing/synctest")
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports, paths := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		exports[f[0]] = f[2] // of all, because exported types refer to others
		if strings.Contains(f[0], "/internal/") || strings.HasPrefix(f[0], "vendor/") {
			continue
		}
		if old, ok := paths[f[1]]; !ok || !strings.Contains(old, ".") { // ours before the standard library's
			paths[f[1]] = f[0]
		}
	}
	s := &snippets{fset: token.NewFileSet(), paths: paths}
	s.importer = importer.ForCompiler(s.fset, "gc", func(name string) (io.ReadCloser, error) {
		file, ok := exports[name]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(file)
	})
	return s
}

// compile type-checks a block of declarations or of statements.
func (s *snippets) compile(block string) error {
	text := "package snippet\n" + block
	if _, err := parser.ParseFile(s.fset, "block.go", text, parser.SkipObjectResolution); err != nil {
		text = "package snippet\nfunc _() {\n" + block + "\n}\n"
		if _, again := parser.ParseFile(s.fset, "block.go", text, parser.SkipObjectResolution); again != nil {
			return errors.Join(err, again)
		}
		text = "package snippet\nfunc _() error {\n" + block + "\nreturn nil\n}\n" // blocks may return errors
	}
	var imports bytes.Buffer
	for _, m := range qualified.FindAllStringSubmatch(block, -1) {
		if p, ok := s.paths[m[1]]; ok && !strings.Contains(imports.String(), `"`+p+`"`) {
			fmt.Fprintf(&imports, "import %s %q\n", m[1], p)
		}
	}
	text = strings.Replace(text, "package snippet\n", "package snippet\n"+imports.String(), 1)
	file, err := parser.ParseFile(s.fset, "block.go", text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	rest, err := parser.ParseFile(s.fset, "prelude.go", prelude, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	without(rest, file)
	var faults []error
	config := types.Config{Importer: s.importer, Error: func(err error) {
		// A block shows calls, not what is done with their results.
		if !strings.Contains(err.Error(), "declared and not used") && !strings.Contains(err.Error(), "imported and not used") {
			faults = append(faults, err)
		}
	}}
	_, _ = config.Check("snippet", s.fset, []*ast.File{file, rest}, nil) // Error gets each
	return errors.Join(faults...)
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
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && own[v.Names[0].Name] {
					v.Names[0].Name = "_"
				}
			}
		} else if f, ok := d.(*ast.FuncDecl); ok && own[f.Name.Name] {
			f.Name.Name = "_"
		}
	}
}

// Links between the documents lead somewhere.
func TestLinksLeadToFiles(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	indented := regexp.MustCompile(`(?m)^    .*$`) // code
	links := 0
	for _, name := range filesWith(t, ".md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range link.FindAllSubmatch(indented.ReplaceAll(text, nil), -1) {
			links++
			target := path.Join(path.Dir(filepath.ToSlash(name)), string(m[1]))
			_, err := os.Stat(filepath.FromSlash(target))
			require.NoError(t, err, "%s links to %s", name, m[1])
		}
	}
	require.Greater(t, links, 50)
}

// No line needs scrolling: prose and comments end at column 100, code at column 120.
func TestLinesAreShort(t *testing.T) {
	var faults []string
	for _, name := range filesWith(t, ".go", ".md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		faults = append(faults, longLines(filepath.ToSlash(name), string(text))...)
	}
	require.Empty(t, faults)
}

func TestLongLinesAreFound(t *testing.T) {
	words := strings.Repeat("word ", 30)
	for _, c := range []struct {
		name, text string
		faults     int
	}{
		{"a.md", words, 1},
		{"a.md", "| " + words, 0}, // tables
		{"a.md", "# Title\n\n```\n" + words + "\n```\n", 0},
		{"a.md", "    " + words, 0}, // code
		{"a.md", strings.Repeat("x", 130), 0},
		{"a.go", "// " + words, 1},
		{"a.go", "//\t" + words, 1},
		{"a.go", "x := 1 // " + words, 1},
		{"a.go", "\tx := 1 // " + words[:80], 0},
		{"a.go", "//go:generate " + words, 0},
		{"internal/proof/table/a.go", "t.step(" + words + ")", 0},
		{"internal/proof/table/a.go", "// " + words, 1},
	} {
		require.Len(t, longLines(c.name, c.text), c.faults, "%s: %q", c.name, c.text)
	}
}

func longLines(name, text string) (faults []string) {
	fenced := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		limit := 100
		if path.Ext(name) == ".md" {
			if strings.HasPrefix(trimmed, "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    ") ||
				strings.HasPrefix(trimmed, "<") || strings.HasPrefix(trimmed, "![") {
				continue
			}
		} else if strings.HasPrefix(trimmed, "//go:") {
			continue
		} else if !strings.HasPrefix(trimmed, "//") {
			limit = 120
		}
		if strings.HasSuffix(name, "_test.go") && limit == 120 && strings.ContainsAny(line, "\"`") {
			continue // what a test expects, to the letter
		}
		if limit == 120 && strings.HasPrefix(name, "internal/proof/table/") {
			continue // a step of a proof is one line, as a row of a table is
		}
		width := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
		// A word alone, as a link's address or a path, cannot be broken.
		if width > limit && strings.Contains(strings.TrimLeft(trimmed, "-*/ "), " ") {
			faults = append(faults, fmt.Sprintf("%s:%d: %d columns, not %d", name, n, width, limit))
		}
	}
	return faults
}

// filesWith returns the files of the repository whose names end in one of the extensions.
func filesWith(t *testing.T, extensions ...string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "results"):
			return fs.SkipDir
		}
		for _, e := range extensions {
			if !d.IsDir() && filepath.Ext(name) == e {
				names = append(names, name)
			}
		}
		return nil
	}))
	return names
}

// The front page of the module names every package that a program may import.
func TestFrontPageListsEveryPackage(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	packages := 0
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch base := path.Base(name); {
		case base == "internal", base == "testdata", name != "." && strings.HasPrefix(base, "."),
			name == "bench", name == "tools", name == "examples", strings.HasPrefix(name, "fleet/"):
			return fs.SkipDir
		}
		files, err := filepath.Glob(name + "/*.go")
		if len(files) == 0 || name == "." {
			return err
		}
		packages++
		require.Regexp(t, `(?m)^//\t`+regexp.QuoteMeta(name)+` +\S`, string(page), "%s is missing", name)
		return nil
	}))
	require.Greater(t, packages, 12)
}

// What uses unsafe code, linknames or assembly in the packages that ship has a row in the document.
func TestUnsafeCodeIsListed(t *testing.T) {
	page, err := os.ReadFile("docs/design/unsafe.md")
	require.NoError(t, err)
	sensitive := regexp.MustCompile(`(?m)\bunsafe\.[A-Z]|^//go:linkname|\bos\.Args\[?\b.*test|runtime\.FuncForPC`)
	listed := 0
	for _, name := range filesWith(t, ".go", ".s") {
		name = filepath.ToSlash(name)
		switch {
		case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "bench/"), strings.HasPrefix(name, "tools/"),
			strings.HasPrefix(name, "internal/interleave/"), strings.HasPrefix(name, "internal/locktest/"):
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if path.Ext(name) == ".s" || sensitive.Match(text) {
			require.True(t, strings.Contains(string(page), name) || strings.Contains(string(page), "`"+path.Base(name)+"`"),
				"%s is not in docs/design/unsafe.md", name)
			listed++
		}
	}
	require.Greater(t, listed, 8)
}

// The page of the house is true: a package imports only packages of lower floors.
func TestTheHouseHasFloors(t *testing.T) {
	page, err := os.ReadFile("docs/design/house.md")
	require.NoError(t, err)
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	list.Stderr = os.Stderr
	imports, err := list.Output()
	require.NoError(t, err)
	require.Empty(t, climbs(string(page), string(imports)))
}

func TestImportsThatClimbAreFound(t *testing.T) {
	page := "1  twa   sync/mutex\n0  waiter\n"
	line := func(name string, imports ...string) string {
		return module + name + " fmt " + strings.Join(imports, " ") + "\n"
	}
	below := line("waiter") + line("twa", module+"waiter")
	require.Empty(t, climbs(page, below+line("sync/mutex", module+"waiter")+line("examples/x", module+"twa")))
	require.Equal(t, []string{"sync/mutex imports twa"}, climbs(page, below+line("sync/mutex", module+"twa")))
	require.Equal(t, []string{"sync/word is on no floor"}, climbs(page, below+line("sync/mutex")+line("sync/word")))
	require.Equal(t, []string{"sync/mutex does not exist"}, climbs(page, below))
}

const module = "github.com/farad-go/farad/"

// climbs returns where packages differ from the floors of the page: imports of what is not below,
// and packages without a floor. Each line of the imports has a package, and what it imports.
func climbs(page, imports string) (faults []string) {
	floors := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\d)  (\w.*)$`).FindAllStringSubmatch(page, -1) {
		for name := range strings.FieldsSeq(m[2]) {
			floors[name] = int(m[1][0] - '0')
		}
	}
	aside := regexp.MustCompile(`^(examples|internal/(interleave|library|limitsim|locktest|proof))(/|$)`)
	there := map[string]bool{}
	for line := range strings.Lines(imports) {
		fields := strings.Fields(line)
		name, inside := strings.CutPrefix(fields[0], module)
		if !inside || aside.MatchString(name) {
			continue // the front page, examples, and what only tests use
		}
		there[name] = true
		floor, ok := floors[name]
		if !ok {
			faults = append(faults, name+" is on no floor")
			continue
		}
		for _, other := range fields[1:] {
			if other, ours := strings.CutPrefix(other, module); ours && floors[other] >= floor {
				faults = append(faults, name+" imports "+other)
			}
		}
	}
	for name := range floors {
		if !there[name] {
			faults = append(faults, name+" does not exist")
		}
	}
	return faults
}
