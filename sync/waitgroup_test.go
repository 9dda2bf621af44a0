//go:build !interleave

package sync

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	std "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

func TestWaitGroupReleasesAll(t *testing.T) {
	var wg WaitGroup
	wg.Wait()
	require.NoError(t, wg.WaitContext(t.Context()))
	require.True(t, wg.WaitTimeout(0))
	for range 3 {
		wg.Add(2)
		got := make(chan error, 4)
		go func() { wg.Wait(); got <- nil }()
		go func() { got <- wg.WaitContext(t.Context()) }()
		go func() { got <- wg.WaitContext(bg) }() // which never ends
		go func() {
			if !wg.WaitTimeout(time.Hour) {
				got <- context.DeadlineExceeded
			}
			got <- nil
		}()
		locktest.AwaitWaiting(t, &wg, 4)
		wg.Done()
		locktest.RequireBlocked(t, got)
		wg.Done()
		for range 4 {
			require.NoError(t, locktest.Receive(t, got))
		}
		require.Zero(t, wg.state.Load())
	}
}

func TestWaitGroupGivesUp(t *testing.T) {
	var wg WaitGroup
	wg.Add(1)
	ctx, cancel := context.WithCancel(bg)
	got := make(chan error, 1)
	go func() { got <- wg.WaitContext(ctx) }()
	locktest.AwaitWaiting(t, &wg, 1)
	cancel()
	require.Equal(t, context.Canceled, locktest.Receive(t, got))
	require.Equal(t, context.Canceled, wg.WaitContext(ctx))
	require.False(t, wg.WaitTimeout(0))
	require.False(t, wg.WaitTimeout(math.MinInt64))
	require.False(t, wg.WaitTimeout(1))
	require.Zero(t, wg.Waiting())
	wg.Add(1) // a wait that was given up is over
	wg.Add(-2)
	require.Zero(t, wg.state.Load())
	require.Equal(t, context.Canceled, wg.WaitContext(ctx), "a done context is told whatever the counter")
}

// A future that gives up when it has been claimed already does not keep those behind it waiting.
func TestWaitGroupReleasesThoseBehindOneThatGaveUp(t *testing.T) {
	var wg WaitGroup
	wg.Add(1)
	var gone waiting.Waiter
	gone.N = 1
	gone.Arm(nil)
	require.True(t, wg.enter(&gone))
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	locktest.AwaitWaiting(t, &wg, 2)
	require.True(t, gone.Abandon())
	wg.Done()
	locktest.Receive(t, done)
	require.Equal(t, waiting.StatusIdle, gone.Status())
}

func TestWaitGroupEarlierCancelWins(t *testing.T) {
	hold := func() locktest.Held {
		var wg WaitGroup
		wg.Add(1)
		return locktest.Held{
			Wait:    wg.WaitContext,
			Waiting: func() bool { return wg.Waiting() > 0 },
			Free:    wg.Done,
			After:   func(t *testing.T) { require.Zero(t, wg.state.Load()) },
		}
	}
	locktest.RequireEarlierCancelWins(t, hold)
	panictest.RequireNothingLost(t, hold)
}

func TestWaitGroupMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	require.PanicsWithValue(t, "sync: nil context", func() { _ = new(WaitGroup).WaitContext(none) })
	const negative = "sync: negative WaitGroup counter"
	require.PanicsWithValue(t, negative, new(WaitGroup).Done)
	require.PanicsWithValue(t, negative, func() { new(WaitGroup).Add(math.MinInt32) })
	require.PanicsWithValue(t, negative, func() {
		var wg WaitGroup
		wg.Add(math.MaxInt32)
		wg.Add(1) // as with the standard one, whose counter has 32 bits, too
	})
	var wg WaitGroup
	wg.state.Store(1) // The last task is done, and the waiter is not woken yet.
	require.PanicsWithValue(t, "sync: WaitGroup misuse: Add called concurrently with Wait", func() { wg.Add(1) })
	wg.state.Store(1)
	wg.Add(0)
	wg.state.Store(1 << counterShift) // The waiter was woken, and has not returned yet.
	require.PanicsWithValue(t, "sync: WaitGroup is reused before previous Wait has returned", wg.checkReuse)
}

func TestWaitGroupGo(t *testing.T) {
	var wg WaitGroup
	var n atomic.Int64
	for range 10 {
		wg.Go(func() {
			wg.Go(func() { n.Add(1) })
			n.Add(1)
		})
	}
	wg.Go(runtime.Goexit)
	wg.Wait()
	require.EqualValues(t, 20, n.Load())
}

// A task that panics ends the process, and no wait returns before that. The standard library's own
// test of that works in the library only.
func TestWaitGroupPanicInATaskIsFatal(t *testing.T) {
	const variable = "FARAD_TEST_PANIC"
	if os.Getenv(variable) != "" {
		var wg WaitGroup
		wg.Go(func() { panic("of the task") })
		wg.Wait()
		os.Exit(0)
	}
	for range 10 {
		self := exec.Command(os.Args[0], "-test.run=^TestWaitGroupPanicInATaskIsFatal$")
		self.Env = append(os.Environ(), variable+"=1")
		out, err := self.CombinedOutput()
		require.True(t, err != nil, "%s", out)
		require.Contains(t, string(out), "panic: of the task")
	}
}

func TestWaitGroupIsDurablyBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg WaitGroup
		wg.Go(func() { time.Sleep(3 * time.Minute) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		require.Equal(t, context.DeadlineExceeded, wg.WaitContext(ctx))
		require.Equal(t, time.Minute, time.Since(start))
		require.False(t, wg.WaitTimeout(time.Minute))
		require.Equal(t, 2*time.Minute, time.Since(start))
		wg.Wait()
		require.Equal(t, 3*time.Minute, time.Since(start))
	})
}

// What is before a Done is ordered before what is after the waits. The race detector would see it.
func TestWaitGroupOrdersMemory(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var wg WaitGroup
		for i := range 50 {
			var done [3]bool
			for i := range done {
				wg.Go(func() { done[i] = true })
			}
			switch i % 3 {
			case 0:
				wg.Wait()
			case 1:
				require.NoError(t, wg.WaitContext(t.Context()))
			default:
				require.True(t, wg.WaitTimeout(time.Hour))
			}
			require.Equal(t, [3]bool{true, true, true}, done)
		}
	})
}

// Rounds of tasks, with waiters of all kinds, some of whom give up. No wait returns before the
// tasks of its round are done, and none stays.
func TestWaitGroupUnderStress(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var wg WaitGroup
		for range locktest.Scaled(4000) {
			const tasks, waiters = 4, 5
			var done atomic.Int64
			wg.Add(tasks)
			for range tasks {
				go func() {
					done.Add(1)
					wg.Done()
				}()
			}
			var all std.WaitGroup
			for i := range waiters {
				all.Go(func() {
					ok := true
					switch i {
					case 0:
						ctx, cancel := context.WithCancel(bg)
						go cancel()
						ok = wg.WaitContext(ctx) == nil
					case 1:
						ok = wg.WaitTimeout(time.Duration(rand.IntN(20_000)))
					default:
						wg.Wait()
					}
					if n := done.Load(); ok && n != tasks {
						t.Errorf("%d of %d tasks were done", n, tasks)
					}
				})
			}
			all.Wait()
			require.Zero(t, wg.state.Load())
		}
	})
}
