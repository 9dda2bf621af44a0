//go:build !interleave

package semtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

var bubbles = []test{
	{"WaitingIsDurablyBlocked", waitingIsDurablyBlocked},
	{"ParkersDoNotCrossBubbles", parkersDoNotCrossBubbles},
}

func waitingIsDurablyBlocked(t *testing.T, k Kind) {
	synctest.Test(t, func(t *testing.T) {
		s := k.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		ctx, cancel := context.WithCancel(t.Context())
		timeout, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		got := make(chan string, 9)
		go func() { got <- "cancelled " + s.Acquire(ctx, 1).Error() }()
		go func() { got <- "timed out " + s.Acquire(timeout, 1).Error() }()
		go func() { got <- "timed out too " + s.AcquireTimeout(2*time.Minute, 1).Error() }()
		synctest.Wait() // returns only because all of them are durably blocked
		for range 2 {
			go func() { require.NoError(t, s.Acquire(bg, 1)); got <- "granted" }()
		}
		synctest.Wait()
		require.EqualValues(t, 5, s.Waiting())
		require.Empty(t, got)
		cancel()
		synctest.Wait()
		require.Equal(t, "cancelled context canceled", <-got)
		start := time.Now()
		require.Equal(t, "timed out context deadline exceeded", <-got)
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, "timed out too context deadline exceeded", <-got)
		require.Equal(t, 2*time.Minute, time.Since(start))
		for range 2 {
			s.Release(1)
			synctest.Wait()
			require.Equal(t, "granted", <-got)
			require.Empty(t, got)
		}
		s.Release(1)
		RequireIdle(t, s)
	})
}

// One semaphore is used outside, in a bubble, outside, in another bubble. A parker that crossed a
// border would end the process.
func parkersDoNotCrossBubbles(t *testing.T, k Kind) {
	s := k.New(1)
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	use := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for range 30 { // often enough for every kind of reuse, and for a watch on each context
			for _, c := range []context.Context{bg, ctx, outer} {
				require.NoError(t, s.Acquire(bg, 1))
				got := make(chan error, 2)
				go func() { got <- s.Acquire(c, 1) }()
				go func() { got <- s.AcquireTimeout(time.Hour, 1) }()
				locktest.AwaitWaiting(t, s, 2)
				for range 2 {
					s.Release(1)
					require.NoError(t, <-got)
				}
				s.Release(1)
			}
		}
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
	RequireIdle(t, s)
}

// futureBubbles are the bubbles of a kind that has futures.
var futureBubbles = []test{
	{"SelectingIsDurablyBlocked", selectingIsDurablyBlocked},
	{"FuturesDoNotCrossBubbles", futuresDoNotCrossBubbles},
}

func selectingIsDurablyBlocked(t *testing.T, k Kind) {
	synctest.Test(t, func(t *testing.T) {
		s := k.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		got := make(chan error, 1)
		go func() {
			f := k.request(s, 1)
			<-f.Done()
			got <- f.Take()
		}()
		synctest.Wait() // returns only because it is durably blocked
		require.EqualValues(t, 1, s.Waiting())
		require.Empty(t, got)
		s.Release(1)
		synctest.Wait()
		require.NoError(t, <-got)
		s.Release(1)
		RequireIdle(t, s)
	})
}

// One semaphore is used outside, in a bubble, outside, in another bubble. A parker or a channel
// that crossed a border would end the process.
func futuresDoNotCrossBubbles(t *testing.T, k Kind) {
	s := k.New(1)
	outer, cancel := context.WithCancel(bg)
	defer cancel()
	use := func(t *testing.T) {
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		for range 30 { // often enough for every kind of reuse, and for a watch on each context
			for _, c := range []context.Context{bg, ctx, outer} {
				require.NoError(t, s.Acquire(bg, 1))
				got := make(chan error, 2)
				go func() { got <- s.Acquire(c, 1) }()
				go func() {
					f := k.request(s, 1)
					<-f.Done()
					got <- f.Take()
				}()
				locktest.AwaitWaiting(t, s, 2)
				for range 2 {
					s.Release(1)
					require.NoError(t, <-got)
				}
				s.Release(1)
			}
		}
	}
	for range 3 {
		use(t)
		synctest.Test(t, use)
	}
	RequireIdle(t, s)
}
