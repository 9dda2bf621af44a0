package subject

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/farad-go/farad/internal/library"
)

// LibraryPath is the path of the module that Library makes.
const LibraryPath = "library.test/sync"

// Library makes a module of the standard library's own tests of package sync, as the installed Go
// has them, that requires the module in the folder root. It leaves out what is not about the public
// API: the runtime's semaphore, the queue in a Pool, a processor that a test pins.
func Library(folder, root, rootPath string) error {
	sources, err := library.Folder()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "testenv"), 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(sources, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		switch filepath.Base(file) {
		case "export_test.go", "runtime_sema_test.go":
			continue // all about internals
		}
		source, err := external(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), source, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "testenv", "testenv.go"), []byte(testenv), 0o600); err != nil {
		return err
	}
	if _, err := Run(folder, "go", "mod", "init", LibraryPath); err != nil {
		return err
	}
	return requireOurs(folder, root, rootPath)
}

// foreign reports whether a name stands for what only the library's own tests reach.
func foreign(name string) bool {
	switch name {
	case "isync", "PoolDequeue", "NewPoolDequeue", "NewPoolChain":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "runtime_") // a linked name in Go 1.26
}

// external returns a file of tests as it can be outside of the library. If there is nothing to cut
// it stays as it is.
func external(file string) ([]byte, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	source = bytes.Replace(source, []byte(`"internal/testenv"`), []byte(`"`+LibraryPath+`/testenv"`), 1)
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution) // comments could not stay in place
	if err != nil {
		return nil, err
	}
	before := len(f.Decls)
	library.Drop(f, foreign)
	if len(f.Decls) == before {
		return source, nil
	}
	library.Import(f)
	var text bytes.Buffer
	err = format.Node(&text, set, f)
	return text.Bytes(), err
}

// testenv stands for the library's internal package of that name, as far as the tests use it.
const testenv = `package testenv

import (
	"os"
	"testing"
)

func Executable(t testing.TB) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func MustHaveExec(testing.TB) {}

func SkipIfOptimizationOff(testing.TB) {}
`
