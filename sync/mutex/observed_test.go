//go:build !interleave

package mutex_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/mutex"
)

// Mutexes that join when a slow path meets them promise all that others do, and the records of free
// ones are empty.
func TestObservedContract(t *testing.T) {
	defer records.All(records.All(observed.Holders))
	mutextest.Run[mutex.Mutex](t)
	locks, _ := records.Read()
	for _, l := range locks {
		if l.Free == l.Size && l.Waiting == 0 {
			require.Empty(t, l.Holders)
			require.Empty(t, l.Waiters)
			require.Zero(t, l.Unknown)
		}
	}
}

// A guard is observed as its lock is, and has leaked if it is collected while it is held.
func TestObservedGuard(t *testing.T) {
	type guard = mutex.Guard[map[string]int]
	require.PanicsWithValue(t, "observe: a nil *mutex.Guard", func() { records.Watch((*guard)(nil), "", observed.Counts) })
	g := new(guard)
	read := observedtest.Watch(t, g, observed.Holders)
	g.Do(func(*map[string]int) { require.Len(t, read().Holders, 1) })
	require.Empty(t, read().Holders)

	level := records.All(observed.Holders)
	func() {
		g := mutex.NewGuard(1)
		records.All(level)
		g.Mutex().Lock()
	}()
	locktest.Eventually(t, "the leak is found", func() bool {
		runtime.GC()
		found, _ := records.TakeLeaks()
		return slices.ContainsFunc(found, func(l records.Leak) bool { return l.What == "lock" && l.Permits == 1 })
	})
}

func TestTwoBitMutexesSayThatTheyCannotBeObserved(t *testing.T) {
	require.PanicsWithValue(t, "observe: a mutex.Word has no bit to spare, and cannot be observed; a mutex.Mutex can",
		func() { records.Watch(new(mutex.Word), "", observed.Counts) })
	require.False(t, records.Watch(new(mutex.Pointer[int]), "", observed.Counts))
}
