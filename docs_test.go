package farad_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/snippets"
)

// The code in the documents compiles: every fenced block of Go is type-checked against the module.
// The tests of fleet/embedded have those about a fleet.
func TestCodeInTheDocumentsCompiles(t *testing.T) {
	blocks, err := snippets.Locks.Blocks(".")
	require.NoError(t, err)
	require.Greater(t, len(blocks), 20)
	compiler, err := snippets.Locks.Compiler(t.Context(), ".", nil)
	require.NoError(t, err)
	for _, b := range blocks {
		_, err := compiler.Compile(b.Text)
		require.NoError(t, err, "%s:\n%s", b.File, b.Text)
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

// The front page of the module names every package that a program may import, of all modules.
func TestFrontPageListsEveryPackage(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	files, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	packages := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^pkg ([^,]+),`).FindAllStringSubmatch(string(text), -1) {
			packages[m[1]] = true
		}
	}
	require.Greater(t, len(packages), 20)
	for name := range packages {
		require.Regexp(t, `(?m)^//\t`+regexp.QuoteMeta(name)+` +\S`, string(page), "%s is missing", name)
	}
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

// What a program imports does not lead to the explorer under any build tag, because go mod vendor
// copies the files for all of them.
func TestNobodyVendorsTheExplorer(t *testing.T) {
	ships := map[string]bool{}
	for _, file := range filesWith(t, ".go") {
		folder := filepath.ToSlash(filepath.Dir(file))
		if !regexp.MustCompile(`(^|/)(internal|testdata)(/|$)|^(bench|tools|examples)/`).MatchString(folder) {
			ships[folder] = true
		}
	}
	met := vendored(t, slices.Sorted(maps.Keys(ships))...)
	require.NotContains(t, met, "internal/interleave")
	for _, folder := range []string{"sync", "waiter", "internal/xsync/model", "fleet/internal/share"} {
		require.Contains(t, met, folder)
	}
}

// A program that uses locks vendors those, their waits and the hooks of their records, but not what
// makes or shows these. The figure is that of docs/policy.md, which a rehearsal of a release
// measures.
func TestAProgramWithLocksVendorsLittle(t *testing.T) {
	for _, folder := range []string{"sync", "sync/mutex", "sync/rwlock", "sync/keyed", "sync/semaphore", "twa", "waiter"} {
		for other := range vendored(t, folder) {
			require.NotRegexp(t, `^(observe|internal/observed/records)(/|$)`, other, "%s leads to it", folder)
		}
	}
	lines := 0
	for folder := range vendored(t, "sync") {
		for _, name := range sourcesOf(t, folder) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			lines += strings.Count(string(text), "\n")
		}
	}
	require.LessOrEqual(t, lines, 8000)
	require.Greater(t, lines, 4000, "not all were counted")
}

// The go.sum of a program that uses only locks has Farad, golang.org/x/sys and goleak, two lines
// each: what it compiles, and what the tests of that import. CONTRIBUTING.md has the rule, and a
// rehearsal of a release counts the lines.
func TestAProgramWithLocksSumsLittle(t *testing.T) {
	compiled := vendored(t, "sync", "sync/capacitor", "sync/keyed", "sync/mutex", "sync/rwlock", "sync/semaphore",
		"twa", "waiter", "limit")
	imported := map[string]bool{}
	for folder := range compiled {
		for _, other := range importsOf(t, testsOf(t, folder)) {
			imported[other] = true
		}
	}
	var tests []string // what these tests import of this repository
	for other := range imported {
		if inside, ours := strings.CutPrefix(other, module); ours {
			tests = append(tests, inside)
		}
	}
	for folder := range vendored(t, tests...) {
		for _, other := range importsOf(t, sourcesOf(t, folder)) {
			imported[other] = true
		}
	}
	for other := range imported {
		host, _, _ := strings.Cut(other, "/")
		if strings.Contains(host, ".") {
			require.Regexp(t, `^(github.com/farad-go/farad|golang.org/x/sys|go.uber.org/goleak)(/|$)`, other)
		}
	}
	require.Contains(t, imported, "go.uber.org/goleak", "tests were not read")
	require.Contains(t, imported, module+"internal/locktest/spec")
}

// vendored returns the folders of this repository that go mod vendor copies for a program that
// imports packages.
func vendored(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	met := map[string]bool{}
	for todo := folders; len(todo) > 0; {
		folder := todo[0]
		if todo = todo[1:]; met[folder] {
			continue
		}
		met[folder] = true
		for _, other := range importsOf(t, sourcesOf(t, folder)) {
			if inside, ours := strings.CutPrefix(other, module); ours {
				todo = append(todo, inside)
			}
		}
	}
	return met
}

// importsOf returns what files import.
func importsOf(t *testing.T, files []string) (imports []string) {
	t.Helper()
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range f.Imports {
			imports = append(imports, strings.Trim(spec.Path.Value, `"`))
		}
	}
	return imports
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

// floorsOf returns the floor of each name: the lines of this form have a floor, and names.
func floorsOf(page, form string) map[string]int {
	floors := map[string]int{}
	for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(page, -1) {
		for name := range strings.FieldsSeq(m[2]) {
			floors[name] = int(m[1][0] - '0')
		}
	}
	return floors
}

// climbs returns where packages differ from the floors of the page: imports of what is not below,
// and packages without a floor. Each line of the imports has a package, and what it imports.
func climbs(page, imports string) (faults []string) {
	floors := floorsOf(page, `(?m)^(\d)  (\w.*)$`)
	aside := regexp.MustCompile(`^(examples|internal/(interleave|library|limitsim|locktest|proof|snippets))(/|$)`)
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

// The files of a large package stand in rooms, one above the other.
func TestRoomsOfAPackageHaveFloors(t *testing.T) {
	page, err := os.ReadFile("docs/design/house.md")
	require.NoError(t, err)
	for _, dir := range []string{"observe", "fleet"} {
		rooms := regexp.MustCompile("(?s)`" + dir + "` is one package of .*?```\n(.*?)```").FindSubmatch(page)
		require.NotNil(t, rooms, dir)
		sources := map[string]string{}
		for _, name := range sourcesOf(t, dir) {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			sources[strings.TrimSuffix(filepath.Base(name), ".go")] = string(source)
		}
		require.Empty(t, usesFromBelow(t, string(rooms[1]), sources, importerOf(t, dir)), dir)
	}
}

func TestUsesFromBelowAreFound(t *testing.T) {
	rooms := "1 shows page text\n0 knows snapshot\n"
	sources := map[string]string{
		"page":     "package p\nvar shown = Snapshot{text()}",
		"text":     "package p\nfunc text() int { return 1 }",
		"snapshot": "package p\ntype Snapshot struct{ n int }",
	}
	require.Empty(t, usesFromBelow(t, rooms, sources, nil))
	sources["snapshot"] += "\nfunc (Snapshot) f() int { return text() }"
	require.Equal(t, []string{"snapshot uses text of text"}, usesFromBelow(t, rooms, sources, nil))
	sources["snapshot"], sources["dot"] = "package p\ntype Snapshot struct{ text int }", "package p"
	require.Equal(t, []string{"dot is in no room"}, usesFromBelow(t, rooms, sources, nil))
	delete(sources, "dot")
	delete(sources, "text")
	sources["page"] = "package p"
	require.Equal(t, []string{"text does not exist"}, usesFromBelow(t, rooms, sources, nil))
}

// sourcesOf returns the files of a package that are no tests.
func sourcesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// testsOf returns the test files of a folder, under any build tag.
func testsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	return names
}

// importerOf returns an importer of what a package imports. It may be of another module.
func importerOf(t *testing.T, dir string) types.Importer {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	compiled, err := list.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(compiled)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(files[name])
	})
}

// usesFromBelow returns what files of a package use of a room above theirs, and files that are in
// no room.
func usesFromBelow(
	t *testing.T, rooms string, sources map[string]string, imports types.Importer,
) (faults []string) {
	t.Helper()
	floors := floorsOf(rooms, `(?m)^(\d) \w+ +(\w.*)$`)
	for name := range floors {
		if _, ok := sources[name]; !ok {
			faults = append(faults, name+" does not exist")
		}
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for name, source := range sources {
		if _, ok := floors[name]; !ok {
			faults = append(faults, name+" is in no room")
		}
		f, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	uses := map[*ast.Ident]types.Object{}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check("p", fset, files, &types.Info{Uses: uses})
	require.NoError(t, err)
	for id, declared := range uses {
		if declared.Pkg() != pkg {
			continue
		}
		name, at := fset.Position(id.Pos()).Filename, fset.Position(declared.Pos()).Filename
		if floors[at] > floors[name] {
			faults = append(faults, name+" uses "+id.Name+" of "+at)
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}
