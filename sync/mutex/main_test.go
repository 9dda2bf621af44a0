package mutex_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/sync/mutex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// atEveryProcs runs f at several numbers of processors.
func atEveryProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, n := range []int{1, 2, 4, 16} {
		t.Run("procs="+strconv.Itoa(n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			f(t)
		})
	}
}

// awaitWaiting waits until n wait for m.
func awaitWaiting(t *testing.T, m *mutex.Mutex, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); m.Waiting() != n; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, not %d", m.Waiting(), n)
		}
	}
}

// receive takes a value from c, which must come.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// requireFree checks that m is unlocked and nobody waits.
func requireFree(t *testing.T, m *mutex.Mutex) {
	t.Helper()
	require.Zero(t, m.Waiting())
	require.True(t, m.TryLock(), "the lock was lost")
	m.Unlock()
}
