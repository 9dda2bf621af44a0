//go:build !interleave

package semaphore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestSelectingIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		got := make(chan error, 1)
		go func() {
			var f semaphore.AcquireFuture
			f.Init(s, 1)
			<-f.Done()
			got <- f.Err()
		}()
		synctest.Wait() // returns only because it is durably blocked
		require.EqualValues(t, 1, s.Waiting())
		require.Empty(t, got)
		s.Release(1)
		synctest.Wait()
		require.NoError(t, <-got)
		s.Release(1)
		requireIdle(t, s)
	})
}

// One semaphore is used outside, in a bubble, outside, in another bubble. A parker or a channel that crossed a border would end
// the process.
func TestFuturesDoNotCrossBubbles(t *testing.T) {
	s := semaphore.New(1)
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
					var f semaphore.AcquireFuture
					f.Init(s, 1)
					<-f.Done()
					got <- f.Err()
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
	requireIdle(t, s)
}
