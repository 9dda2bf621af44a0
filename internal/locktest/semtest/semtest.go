package semtest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// A Semaphore is what the tests are about.
type Semaphore interface {
	Acquire(ctx context.Context, n int64) error
	AcquireTimeout(d time.Duration, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
	Resize(n int64)
	Close()
	Size() int64
	Available() int64
	Waiting() int
}

// A Kind of semaphores.
type Kind struct {
	New       func(n int64) Semaphore
	Delegates bool // to another kind, of which the large histories are explored
	Overtakes bool // a request may take what is free although others wait, within a bound; see strict

	Bind func(s Semaphore, f *waiter.Future, n int64) // nil: there are no futures
}

// strict are the tests in which no goroutine may take free permits, for they are those of a request
// that needs more.
var strict = []string{
	"TryNeverOvertakesAWaiter",
	"CancelledHeadLetsFollowersPass",
	"ResizeEndsRequestsThatBecameTooLarge",
	"CloseWakesAll",
	"FutureIsNotOvertaken",
	"DroppedFutureLetsFollowersPass",
	"WakerMayCancelAnotherFuture",
	"CloseEndsFutures",
}

// A test gets what it is about.
type test struct {
	name string
	run  func(t *testing.T, k Kind)
}

// A Known is a test that a semaphore does not pass, and why.
type Known = locktest.Known

// Run runs all tests on semaphores of a kind, and skips the known ones.
func Run(t *testing.T, k Kind, known ...Known) {
	t.Helper()
	groups := [][]test{basics, cancels, resizes, stresses, bubbles}
	if k.Bind != nil {
		groups = append(groups, futures, futureBubbles)
	}
	for _, tests := range groups {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				locktest.SkipKnown(t, test.name, known)
				if k.Overtakes && slices.Contains(strict, test.name) {
					t.Skip("its order is not strict")
				}
				test.run(t, k)
			})
		}
	}
}

var bg = context.Background()

// RequireIdle checks that all permits are back and no goroutine waits.
func RequireIdle(t testing.TB, s Semaphore) {
	t.Helper()
	require.Zero(t, s.Waiting(), "a goroutine still waits")
	require.Equal(t, s.Size(), s.Available(), "permits were lost or made")
}

// Queued starts an acquire of n in a goroutine of its own and returns when it waits.
func Queued(t *testing.T, ctx context.Context, s Semaphore, n int64) <-chan error {
	t.Helper()
	before := s.Waiting()
	c := make(chan error, 1)
	go func() { c <- s.Acquire(ctx, n) }()
	locktest.AwaitWaiting(t, s, before+1)
	return c
}

// waitOnce makes a wait with ctx that is served.
func waitOnce(t *testing.T, ctx context.Context, s Semaphore) {
	t.Helper()
	require.NoError(t, s.Acquire(bg, 1))
	c := Queued(t, ctx, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
}

// tooMuch is what a Release of more than is held panics with. The ticket semaphores do not know how
// many are held.
var tooMuch = regexp.MustCompile(
	`^(semaphore: released \d+, but|keyed: released \d+ of key \d+, but|twa: released \d+, but at most)` +
		` \d+ are held \(size \d+\)$`)

func requireTooMuch(t *testing.T, f func()) {
	t.Helper()
	got := fmt.Sprint(require.PanicOf(f))
	require.True(t, tooMuch.MatchString(got), got)
}

// RequirePanic checks that f panics with the text, behind the name of a package.
func RequirePanic(t *testing.T, text string, f func()) {
	t.Helper()
	v := require.PanicOf(f)
	message, _ := v.(string)
	require.True(t, strings.HasSuffix(message, ": "+text), "panicked with %v, not with %q", v, text)
}
