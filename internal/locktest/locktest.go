package locktest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
)

// Patience is how long a test waits for what must happen.
const Patience = 20 * time.Second

// AtEveryProcs runs f at several numbers of processors. One finds waiting that needs a second
// processor; sixteen find preemption inside windows. With -short under the race detector it is for
// -cpu to vary them, as CI has it do.
func AtEveryProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	procs := []int{1, 2, 4, 16}
	if testing.Short() && RaceEnabled {
		procs = []int{runtime.GOMAXPROCS(0)}
	}
	for _, n := range procs {
		t.Run("procs="+strconv.Itoa(n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			f(t)
		})
	}
}

// Stress reports whether a stress test is to make all its rounds: FARAD_STRESS is set, as in the
// nightly checks, and -short is not.
func Stress() bool {
	return os.Getenv("FARAD_STRESS") != "" && !testing.Short()
}

// Scaled returns how many rounds a stress test makes that makes n in full: n under [Stress],
// otherwise an eighth. Under the race detector it is a quarter of that. It is at least 1.
func Scaled(n int) int {
	if !Stress() {
		n /= 8
	}
	if RaceEnabled {
		n /= 4
	}
	return max(n, 1)
}

// Eventually waits until cond is true, and has what in the message if that never happens.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !soon(cond) {
		t.Fatalf("never: %s\n%s", what, stacks())
	}
}

// A Waitable is a lock that counts its waiters.
type Waitable[N int | int64] interface{ Waiting() N }

// AwaitWaiting waits until n wait for l.
func AwaitWaiting[N int | int64](t testing.TB, l Waitable[N], n N) {
	t.Helper()
	if !soon(func() bool { return l.Waiting() == n }) {
		t.Fatalf("%d wait, not %d\n%s", l.Waiting(), n, stacks())
	}
}

// soon reports whether cond gets true before patience ends. It yields and does not sleep, for it is
// called in bubbles, too, where a sleep would let time pass.
func soon(cond func() bool) bool {
	for deadline := time.Now().Add(Patience); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Receive takes a value from c, which must come.
func Receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		t.Fatalf("nothing came\n%s", stacks())
		panic("unreachable")
	}
}

// IsClosed reports whether c, the channel of a future's Done, is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// RequireBlocked checks that nothing has come from c, although others had the time for it.
func RequireBlocked[T any](t testing.TB, c <-chan T) {
	t.Helper()
	for range 10 {
		runtime.Gosched()
	}
	select {
	case <-c:
		t.Fatalf("came too early")
	default:
	}
}

// RequireMisuse checks that f, which unlocks, panics and says that the lock was not locked so.
func RequireMisuse(t testing.TB, f func()) {
	t.Helper()
	text := fmt.Sprint(require.PanicOf(f))
	if !strings.Contains(text, "unlocked") {
		t.Fatalf("panicked with %q", text)
	}
}

// A Known is a test of a suite that a lock does not pass, and why.
type Known struct{ Test, Why string }

// SkipKnown skips the test of that name if it is known.
func SkipKnown(t testing.TB, name string, known []Known) {
	t.Helper()
	for _, k := range known {
		if k.Test == name {
			t.Skip(k.Why)
		}
	}
}

// DoneContext returns a context that has ended.
func DoneContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// stacks returns the stacks of all goroutines: what waits for what is most of what a hung test can
// tell.
func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}

// RequireHandOff requires that the goroutine that letGo serves runs before letGo returns, even on
// one processor. In each round hold takes l, and n goroutines call wait: it waits for l, calls got
// when it has it, and gives it back. The scheduler may have a reason of its own to run another, so
// a few rounds may fail.
func RequireHandOff[N int | int64](t testing.TB, l Waitable[N], n int, hold, letGo func(), wait func(got func())) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 100
	failed := 0
	for range rounds {
		var ran atomic.Int64
		var all sync.WaitGroup
		hold()
		for i := range n {
			all.Go(func() { wait(func() { ran.Add(1) }) })
			AwaitWaiting(t, l, N(i+1))
		}
		letGo()
		if ran.Load() < int64(n) {
			failed++
		}
		all.Wait()
	}
	if failed > rounds/5 {
		t.Fatalf("in %d of %d rounds not all of %d ran", failed, rounds, n)
	}
}
