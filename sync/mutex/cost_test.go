//go:build !interleave

package mutex_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/mutex"
)

func TestSizeIsAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(mutex.Mutex{}))
	}
}

func TestWordSizes(t *testing.T) {
	require.EqualValues(t, 4, unsafe.Sizeof(mutex.Word{}))
	require.Equal(t, unsafe.Sizeof(uintptr(0)), unsafe.Sizeof(mutex.Pointer[int]{}))
}

func TestWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for name, lock := range map[string]func(m *mutex.Mutex){
		"lock":    func(m *mutex.Mutex) { m.Lock() },
		"context": func(m *mutex.Mutex) { _ = m.LockContext(ctx) },
		"timeout": func(m *mutex.Mutex) { m.LockTimeout(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			var m mutex.Mutex
			require.Zero(t, locktest.AllocsPerWait(&m, m.Lock, m.Unlock, func() {
				lock(&m)
				m.Unlock()
			}))
		})
	}
}

func TestSleepingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	forEachTwoBit(t, func(t *testing.T, m twoBit) {
		require.Zero(t, locktest.AllocsPerWait(m, m.Lock, m.Unlock, func() {
			_ = m.LockContext(ctx)
			m.Unlock()
		}))
	})
}

func TestFastPathsAreInlined(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("64-bit atomics are calls on 32-bit machines")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", "github.com/farad-go/farad/sync/mutex").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range []string{"Lock", "TryLock", "Unlock"} {
		require.True(t, strings.Contains(string(out), "can inline (*Mutex)."+f), "%s is not inlined:\n%s", f, out)
		require.True(t, strings.Contains(string(out), "can inline (*Word)."+f), "%s of a Word is not inlined:\n%s", f, out)
	}
}
