//go:build !interleave

package mutex_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/sync/mutex"
)

// Mutexes that join when a slow path meets them promise all that others do, and the records of free
// ones are empty.
func TestObservedContract(t *testing.T) {
	defer observed.All(observed.All(observed.Holders))
	mutextest.Run[mutex.Mutex, mutex.LockFuture](t)
	locks, _ := observed.Read()
	for _, l := range locks {
		if l.Free == l.Size && l.Waiting == 0 {
			require.Empty(t, l.Holders)
			require.Empty(t, l.Waiters)
			require.Zero(t, l.Unknown)
		}
	}
}

func TestTwoBitMutexesSayThatTheyCannotBeObserved(t *testing.T) {
	require.PanicsWithValue(t, "observe: a mutex.Word has no bit to spare, and cannot be observed; a mutex.Mutex can",
		func() { observed.Watch(new(mutex.Word), "", observed.Counts) })
	require.False(t, observed.Watch(new(mutex.Pointer[int]), "", observed.Counts))
}
