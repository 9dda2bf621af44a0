package semaphore_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// turns are semaphores of all kinds, which one future uses by turns. The two with an array are of
// one kind.
func turns(n int64) []*semaphore.Semaphore {
	return []*semaphore.Semaphore{
		semaphore.New(n),
		semaphore.New(n, semaphore.WithWaitingArray(nil)),
		semaphore.New(n, semaphore.WithWaitingArray(twa.NewArray(1))),
		semaphore.New(n, semaphore.WithMaxWaiting(9)),
	}
}

func TestFutureServesAllKindsByTurns(t *testing.T) {
	all := turns(2)
	var f waiter.Future
	var w locktest.CountingWaker
	for round := range 120 {
		s := all[round%len(all)]
		if round%8 >= 4 {
			s = all[len(all)-1-round%len(all)]
		}
		require.NoError(t, s.Acquire(bg, 2))
		s.Bind(&f, 1)
		require.ErrorIs(t, f.Err(), waiter.ErrPending)
		before := w.Load()
		done := f.Done()
		require.False(t, f.Poll(&w))
		require.False(t, f.Complete())
		require.Empty(t, done)
		require.EqualValues(t, 1, s.Waiting())
		s.Release(1)
		require.True(t, f.Complete())
		require.Equal(t, before+1, w.Load())
		switch round % 3 {
		case 0: // taken
			locktest.Receive(t, done)
			require.NoError(t, f.Take())
			s.Release(2)
		case 1: // dropped when it is complete
			require.True(t, f.Poll(nil))
			f.Release()
			require.False(t, f.Complete())
			s.Release(1)
		case 2: // taken, and dropped while it waits in the next round
			require.NoError(t, f.Take())
			s.Bind(&f, 2)
			require.False(t, f.Poll(&w))
			f.Release()
			s.Release(2)
		}
		for _, s := range all {
			requireIdle(t, s)
		}
	}
}

// A request that has not ended is lost by no Bind, whatever the kind of the other semaphore.
func TestFutureInUseCannotGoToAnotherSemaphore(t *testing.T) {
	const text = "Bind of a future whose request has not ended"
	for i, s := range turns(1) {
		for j, other := range turns(1) {
			var f waiter.Future
			var w locktest.CountingWaker
			requireRefused := func() {
				t.Helper()
				for _, n := range []int64{0, 1, 2} {
					var message any
					func() {
						defer func() { message = recover() }()
						other.Bind(&f, n)
					}()
					require.Contains(t, message, ": "+text, "from %d to %d", i, j)
				}
				requireIdle(t, other)
			}
			require.NoError(t, s.Acquire(bg, 1))
			s.Bind(&f, 1)
			require.False(t, f.Poll(&w))

			requireRefused() // it waits
			require.ErrorIs(t, f.Err(), waiter.ErrPending)
			require.False(t, f.Complete())
			require.EqualValues(t, 1, s.Waiting())

			s.Release(1)
			require.EqualValues(t, 1, w.Load(), "the waker has not been forgotten")
			requireRefused() // it holds a permit
			require.True(t, locktest.IsClosed(f.Done()))
			requireRefused()
			f.Release()
			requireIdle(t, s)

			s.Bind(&f, 1)
			require.True(t, f.Poll(nil))
			requireRefused()
			require.NoError(t, f.Take())
			other.Bind(&f, 1) // the permit of s is the owner's now
			require.True(t, f.Poll(nil))
			require.NoError(t, f.Take())
			require.EqualValues(t, 0, s.Available())
			s.Release(1)
			other.Release(1)
			requireIdle(t, s)
			requireIdle(t, other)

			s.Bind(&f, 1) // not started: nothing to end
			other.Bind(&f, 1)
			require.True(t, f.Poll(nil))
			requireIdle(t, s)
			f.Release()
			requireIdle(t, other)
		}
	}
}

// Of an earlier request of another kind a new one knows nothing.
func TestFutureForgetsTheOtherKind(t *testing.T) {
	for i, s := range turns(1) {
		for j, other := range turns(1) {
			var f waiter.Future
			s.Bind(&f, 2)
			require.True(t, locktest.IsClosed(f.Done()))
			require.ErrorIs(t, f.Err(), semaphore.ErrTooLarge)
			other.Bind(&f, 1)
			require.ErrorIs(t, f.Err(), waiter.ErrPending, "from %d to %d", i, j)
			require.True(t, locktest.IsClosed(f.Done()))
			require.NoError(t, f.Take())
			s.Bind(&f, 1)
			require.ErrorIs(t, f.Err(), waiter.ErrPending, "from %d to %d", j, i)
			f.Release() // nothing has been started
			require.ErrorIs(t, f.Err(), waiter.ErrPending)
			require.EqualValues(t, 0, other.Available(), "what was taken is not given back")
			other.Release(1)
			requireIdle(t, s)
			requireIdle(t, other)
		}
	}
}

// A Release that meets a grant leaves the future to the claimer. The next request may be of another
// kind.
func TestFutureChangesKindsAfterReleaseDuringGrant(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		all := turns(1)
		var f waiter.Future
		var wg sync.WaitGroup
		for i := range locktest.Scaled(8000) {
			s, next := all[i%len(all)], all[(i+1)%len(all)]
			require.NoError(t, s.Acquire(bg, 1))
			s.Bind(&f, 1)
			if i%8 < 4 {
				f.Done()
			} else {
				require.False(t, f.Poll(nil))
			}
			wg.Go(func() { s.Release(1) })
			if i%3 == 0 {
				runtime.Gosched()
			}
			f.Release()
			next.Bind(&f, 1)
			require.True(t, f.Poll(nil))
			require.NoError(t, f.Take())
			next.Release(1)
			wg.Wait()
			requireIdle(t, s)
			requireIdle(t, next)
		}
	})
}
