package contractauth_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each block of Go in the guide, and those of the README about a fleet, is a part of a function. It
// is checked with the packages that it names. The test at the root of the repository leaves these
// blocks out, because the root does not depend on etcd.
func TestCodeAboutTheFleetCompiles(t *testing.T) {
	t.Parallel()
	const root = "../../../"
	check := newSnippets(t)
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	for name, least := range map[string]int{"docs/guides/fleet.md": 6, "README.md": 1} {
		text, err := os.ReadFile(root + name)
		require.NoError(t, err)
		blocks := 0
		for _, m := range block.FindAllSubmatch(text, -1) {
			if name == "README.md" && !strings.Contains(string(m[1]), "fleet.") {
				continue
			}
			blocks++
			require.NoError(t, check.compile(string(m[1])), "%s: %s", name, m[1])
		}
		require.GreaterOrEqual(t, blocks, least, name)
	}
	require.ErrorContains(t, check.compile("p.Free()\n"), "Free")
	require.ErrorContains(t, check.compile("fleet.Create()\n"), "Create")
}

// prelude declares what the blocks use and do not show.
const prelude = `package snippet

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
`

// snippets checks blocks of code.
type snippets struct {
	fset     *token.FileSet
	importer types.Importer
	paths    map[string]string // by the name of the package
}

func newSnippets(t *testing.T) *snippets {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}",
		"github.com/farad-go/farad/fleet/...", "github.com/farad-go/farad/observe", "../", "net/http", "database/sql",
		"crypto/tls", "google.golang.org/grpc/credentials")
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports, paths := map[string]string{}, map[string]string{}
	used := regexp.MustCompile(`^(context|time|net/http|database/sql|crypto/(tls|x509)|google\.golang\.org/grpc(/credentials)?|` +
		`go\.etcd\.io/etcd/client/v3|` +
		`github\.com/farad-go/farad/observe|github\.com/farad-go/farad/fleet(/etcd|/embedded|/fence(/grpcfence)?)?)$`)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		exports[f[0]] = f[2] // of all, because exported types refer to others
		if used.MatchString(f[0]) {
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

// compile checks a block of statements. It may return an error.
func (s *snippets) compile(block string) error {
	var files []*ast.File
	for _, text := range []string{prelude, "package snippet\nfunc _() error {\n" + block + "\nreturn nil\n}\n"} {
		imports := "package snippet\n"
		for name, path := range s.paths {
			imports += fmt.Sprintf("import %s %q\n", name, path)
		}
		file, err := parser.ParseFile(s.fset, "block.go", strings.Replace(text, "package snippet\n", imports, 1), parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var faults []error
	unused := regexp.MustCompile(`declared and not used|imported and not used|imported as \w+ and not used`)
	config := types.Config{Importer: s.importer, Error: func(err error) {
		// A block shows calls, not what is done with their results.
		if !unused.MatchString(err.Error()) {
			faults = append(faults, err)
		}
	}}
	_, _ = config.Check("snippet", s.fset, files, nil) // Error gets each
	return errors.Join(faults...)
}
