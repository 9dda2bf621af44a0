// Package observedtest has what the tests of observed locks share.
package observedtest

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
)

// Watch observes a lock until the test ends, and returns a function that reads its record.
func Watch(t testing.TB, lock any, level observed.Level) (read func() records.Lock) {
	t.Helper()
	return WatchAs(t, t.Name(), lock, level)
}

// WatchAs is Watch under a name.
func WatchAs(t testing.TB, name string, lock any, level observed.Level) (read func() records.Lock) {
	t.Helper()
	require.True(t, records.Watch(lock, name, level))
	t.Cleanup(func() { records.Unwatch(lock) })
	return func() records.Lock {
		t.Helper()
		locks, _ := records.Read()
		for i := range locks {
			if locks[i].Name == name {
				return locks[i]
			}
		}
		require.Fail(t, "the lock has no record")
		return records.Lock{}
	}
}

// SkipUnderRace skips a test of allocations if a lock is observed: its records come from pools, and
// under the race detector a pool loses some of what is put there.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if locks, _ := records.Read(); len(locks) > 0 || observed.Everything() != observed.Off {
		locktest.SkipUnderRace(t)
	}
}
