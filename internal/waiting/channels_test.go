//go:build !interleave

package waiting_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync/sleep"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

func TestOnlyWaitsWithoutAnEndArePutIntoChannels(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, forever := range []waiting.Limit{{}, waiting.UntilDone(context.Background())} {
		p := waiting.GetParker(forever.InChannel())
		require.Equal(t, !sleep.Parks(), p.IsCheapest())
		p.Put()
		p = waiting.GetParker(forever)
		require.True(t, p.IsCheapest(), "the next one is as before")
		p.Put()
	}
	for _, l := range []waiting.Limit{waiting.UntilDone(ctx), waiting.After(1), waiting.After(time.Hour).Fixed()} {
		require.Equal(t, l, l.InChannel())
	}
}

// What the locks keep for later waits obeys UseChannels too, in both directions: parkers in the
// pool, the idle one of a watched context, and those that sleepers in a table keep.
func TestUseChannelsConcernsEveryLaterWait(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, opts := range ways {
		for kind, acquire := range map[string]func(s *semaphore.Semaphore) error{
			"background": func(s *semaphore.Semaphore) error { return s.Acquire(context.Background(), 1) },
			"context":    func(s *semaphore.Semaphore) error { return s.Acquire(ctx, 1) },
			"timeout":    func(s *semaphore.Semaphore) error { return s.AcquireTimeout(time.Hour, 1) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := semaphore.New(1, opts...)
				require.True(t, s.TryAcquire(1))
				wait := func(asleep func()) {
					done := make(chan error)
					go waitForTestOfChannels(done, func() error { return acquire(s) })
					locktest.AwaitWaiting(t, s, 1)
					asleep()
					s.Release(1)
					require.NoError(t, locktest.Receive(t, done))
				}
				parks := func() (parks bool) {
					wait(func() {
						locktest.Eventually(t, "it sleeps", func() bool {
							stack := stackOf("waitForTestOfChannels")
							// Not its state: a goroutine that allocates may be in semacquire, too.
							parks = strings.Contains(stack, "sleep.(*Sleeper).SleepInline") || strings.Contains(stack, "sleep.park")
							return parks || strings.Contains(stack, "signal.Signal.Receive")
						})
					})
					return parks
				}
				for range 3 {
					waiter.UseChannels(false)
					for range 50 { // ctx gets its watch
						wait(func() {})
					}
					require.Equal(t, sleep.Parks(), parks())
					waiter.UseChannels(true)
					require.False(t, parks())
				}
			})
		}
	}
}

func waitForTestOfChannels(done chan<- error, acquire func() error) { done <- acquire() }

// stackOf returns the stack of the goroutine that is in function, if there is one.
func stackOf(function string) string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for g := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(g, function+"(") {
			return g
		}
	}
	return ""
}

// ways are the ways in which a semaphore lets its callers wait.
var ways = map[string][]semaphore.Option{
	"strict":    nil,
	"capacitor": {semaphore.WithCapacitor(2, 4)},
	"array":     {semaphore.WithWaitingArray(twa.NewArray(2))},
}
