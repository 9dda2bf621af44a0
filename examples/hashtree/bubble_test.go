//go:build !interleave

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/semaphore"
)

// A semaphore made inside a bubble must not be used outside, and vice versa. The semaphore has to
// find out whether its binary can make bubbles, and the tests of a main package are easily mistaken
// for a program.
func TestBubblesInTheTestsOfAProgram(t *testing.T) {
	s := semaphore.New(1)
	wait := func(t *testing.T) {
		for range 10 {
			require.NoError(t, s.Acquire(context.Background(), 1))
			time.AfterFunc(time.Millisecond, func() { s.Release(1) })
			require.NoError(t, s.AcquireTimeout(time.Hour, 1))
			time.AfterFunc(time.Millisecond, func() { s.Release(1) })
			require.NoError(t, s.Acquire(context.Background(), 1))
			s.Release(1)
		}
	}
	for range 3 {
		synctest.Test(t, wait)
		wait(t)
	}
}

func TestWaitsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimit(10)
		require.NoError(t, l.acquire(t.Context(), 0))
		require.NoError(t, l.acquire(t.Context(), 7))
		require.NoError(t, l.acquire(t.Context(), 3))
		require.Equal(t, limitStats{Limit: 10, Peak: 10}, l.statistics(), "no goroutine has waited")
		require.NoError(t, l.acquire(t.Context(), 0), "who needs nothing does not wait")

		var longest time.Duration
		for i, wait := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 20 * time.Millisecond} {
			time.AfterFunc(wait, func() { l.release(7) })
			require.NoError(t, l.acquire(t.Context(), 7))
			longest = max(longest, wait)
			require.Equal(
				t,
				limitStats{Limit: 10, Peak: 10, Waits: int64(i + 1), LongestWait: seconds(longest)},
				l.statistics(),
			)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, l.acquire(ctx, 1))
		stats := l.statistics()
		require.EqualValues(t, 4, stats.Waits, "a wait that is cut short counts")
		require.Equal(t, seconds(100*time.Millisecond), stats.LongestWait)
		l.release(7)
		l.release(3)
		require.EqualValues(t, 10, l.sem.Available())
	})
}
