//go:build !interleave

package rwlock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

func TestSizeIsAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(rwlock.RWLock{}))
	}
	require.LessOrEqual(t, unsafe.Sizeof(waiter.Future{}), uintptr(80))
}

func TestFastPathsAreInlined(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("64-bit atomics are calls on 32-bit machines")
	}
	out := locktest.GoTool(t, "build", "-gcflags=-m", "./sync/rwlock")
	for _, f := range []string{"RLock", "RUnlock", "Lock", "Unlock"} {
		require.Contains(t, out, "can inline (*RWLock)."+f+"\n")
	}
	for _, f := range []string{"TakeFirstRead", "GiveLastRead", "TakeAll", "GiveAll"} {
		require.Contains(t, out, "inlining call to engine.(*RW)."+f)
	}
}

func TestVetSeesCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package copies

import (
	"github.com/farad-go/farad/sync/rwlock"
)

func a(l rwlock.RWLock) {}
func b(g rwlock.Guard[int]) {}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Len(t, regexp.MustCompile(`passes lock by value`).FindAllString(out, -1), 2, out)
}
