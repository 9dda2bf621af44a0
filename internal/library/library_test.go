package library_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/library"
)

const source = `package sync_test

import (
	isync "internal/sync"
	"internal/testenv"
	. "sync"
	"testing"
	clock "time"
)

func semaphore(n *uint32) {
	Runtime_Semacquire(n)
}

func helper() {
	semaphore(nil)
}

func TestSemaphore(t *testing.T) {
	helper()
	isync.Nothing()
}

func TestMutex(t *testing.T) {
	new(Mutex).Lock()
	testenv.Executable(t)
	clock.Sleep(0)
}

func init() {
	helper()
}

func init() {
}
`

func TestWhatUsesForeignNamesGoesWithItsUsers(t *testing.T) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "a_test.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	library.Drop(f, func(name string) bool { return strings.HasPrefix(name, "Runtime_") })
	library.Import(f, "example.org/mutex", "example.org/testing")
	require.Equal(t, `package sync_test

import (
	"example.org/testing"
	"internal/testenv"
	. "sync"
	"testing"
	clock "time"
)

func TestMutex(t *testing.T) {
	new(Mutex).Lock()
	testenv.Executable(t)
	clock.Sleep(0)
}

func init() {
}
`, text(t, set, f))
}

func TestTheLibraryIsFound(t *testing.T) {
	folder, err := library.Folder()
	if err != nil {
		t.Skip(err)
	}
	require.DirExists(t, folder)
}

func text(t *testing.T, set *token.FileSet, f *ast.File) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, format.Node(&b, set, f))
	return b.String()
}
