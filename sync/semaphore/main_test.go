package semaphore_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// procs are the processor counts at which the concurrent tests run.
var procs = []int{1, 2, 4, 16}

// atEveryProcs runs f at each number of processors.
func atEveryProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, n := range procs {
		t.Run("procs="+strconv.Itoa(n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			f(t)
		})
	}
}

// eventually waits until cond is true.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// awaitWaiting waits until n requests wait for s.
func awaitWaiting(t *testing.T, s *semaphore.Semaphore, n int64) {
	t.Helper()
	eventually(t, "waiting requests", func() bool { return s.Waiting() == n })
}

// requireIdle checks that all permits are back and nobody waits.
func requireIdle(t *testing.T, s *semaphore.Semaphore) {
	t.Helper()
	require.Zero(t, s.Waiting(), "somebody still waits")
	require.Equal(t, s.Size(), s.Available(), "permits were lost or made")
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

// queued starts an acquire of n in a goroutine of its own and returns when it waits.
func queued(t *testing.T, ctx context.Context, s *semaphore.Semaphore, n int64) <-chan error {
	t.Helper()
	before := s.Waiting()
	c := make(chan error, 1)
	go func() { c <- s.Acquire(ctx, n) }()
	awaitWaiting(t, s, before+1)
	return c
}

// requireBlocked checks that nothing has come from c.
func requireBlocked[T any](t *testing.T, c <-chan T) {
	t.Helper()
	for range 10 {
		runtime.Gosched()
	}
	select {
	case <-c:
		t.Fatal("came too early")
	default:
	}
}
