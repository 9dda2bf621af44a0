//go:build !interleave

package parking

import (
	"context"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A bucket has a cache line to itself, and a table of the usual size begins at a page.
func TestBucketsHaveTheirOwnCacheLine(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(bucket{}))
		for _, n := range []int{512, 4096} {
			require.Zero(t, uintptr(unsafe.Pointer(&New(n).buckets[0]))%4096)
		}
	}
}

// Whatever ends a sleep, what it took from the pools goes back.
func TestSleepingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	table, k := New(1), Key{Object: t}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	no, yes := func() bool { return false }, func() bool { return true }
	for name, sleep := range map[string]func() (How, error){
		"not slept":             func() (How, error) { return table.Sleep(waiting.UntilDone(context.Background()), k, 0, no) },
		"not slept, context":    func() (How, error) { return table.Sleep(waiting.UntilDone(ctx), k, 0, no) },
		"not slept, timeout":    func() (How, error) { return table.Sleep(waiting.After(time.Hour), k, 0, no) },
		"given up at a timeout": func() (How, error) { return table.Sleep(waiting.After(time.Nanosecond), k, 0, yes) },
	} {
		require.Zero(t, locktest.AllocsPerRun(200, func() { _, _ = sleep() }), name)
	}
	require.Zero(t, table.Sleeping(k))
}

// A goroutine that has slept for an object does not keep it alive.
func TestSleepersForgetWhatTheySleptFor(t *testing.T) {
	gone := make(chan struct{})
	func() {
		lock := new([64]byte)
		runtime.AddCleanup(lock, func(struct{}) { close(gone) }, struct{}{})
		_, err := New(1).Sleep(waiting.After(time.Nanosecond), Key{Object: lock}, 0, func() bool { return true })
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}()
	runtime.GC() // one leaves the pools as they are, or nearly
	locktest.Receive(t, gone)
}
