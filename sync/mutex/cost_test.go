//go:build !interleave

package mutex_test

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
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

// The content of a Pointer is an address even if it is nil and locked. A small integer would crash
// the program in the garbage collector, or in the race detector's check of pointers.
func TestPointerIsAnAddress(t *testing.T) {
	var p mutex.Pointer[int]
	content := func() uintptr { return *(*uintptr)(unsafe.Pointer(&p)) }
	for range 2 {
		p.Lock()
		require.Greater(t, content(), uintptr(4096), "nil and locked")
		p.Store(new(int))
		p.Store(nil)
		require.Greater(t, content(), uintptr(4096), "nil again")
		p.Unlock()
		require.False(t, 0 < content() && content() <= 4096, "nil and unlocked")
	}
}

// Two bits for each lock, and not a byte more.
func TestPackedSizeIsAsDocumented(t *testing.T) {
	locktest.SkipUnderRace(t)
	const rounds = 1000
	for _, locks := range []int{64, 4096} { // the allocator rounds neither up
		least := math.Inf(1) // of several tries: a profiler allocates as well
		for range 10 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range rounds {
				packed = mutex.NewPacked(locks)
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.TotalAlloc-before.TotalAlloc)/rounds)
		}
		require.InDelta(t, float64(locks)/4, least, 1, "%d locks", locks)
	}
}

var packed mutex.Packed // on the heap

func TestFastPathsAreInlined(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("64-bit atomics are calls on 32-bit machines")
	}
	out := locktest.GoTool(t, "build", "-gcflags=-m", "./sync/mutex")
	for _, f := range []string{"Lock", "TryLock", "Unlock"} {
		require.True(t, strings.Contains(out, "can inline (*Mutex)."+f), "%s is not inlined:\n%s", f, out)
		require.True(
			t,
			strings.Contains(out, "can inline (*Word)."+f),
			"%s of a Word is not inlined:\n%s",
			f,
			out,
		)
	}
}
