package semaphore_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

// counter is a waker that counts.
type counter struct{ n atomic.Int64 }

func (c *counter) Wake() { c.n.Add(1) }

func TestFuturePolls(t *testing.T) {
	s := semaphore.New(1)
	var f, g semaphore.AcquireFuture
	var w counter
	f.Init(s, 1)
	require.ErrorIs(t, f.Err(), semaphore.ErrPending)
	require.True(t, f.Poll(&w), "a free permit is taken at once")
	require.NoError(t, f.Err())
	require.True(t, f.Poll(&w), "and stays taken")
	g.Init(s, 1)
	require.False(t, g.Poll(&w))
	require.ErrorIs(t, g.Err(), semaphore.ErrPending)
	require.Zero(t, w.n.Load())
	f.Cancel() // it has been taken: the permit is ours to release
	require.EqualValues(t, 0, s.Available())
	s.Release(1)
	require.EqualValues(t, 1, w.n.Load())
	require.True(t, g.Poll(&w))
	require.NoError(t, g.Err())
	s.Release(1)
	requireIdle(t, s)
}

func TestFutureCancelGivesBackWhatWasNotTaken(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 2))
	var f semaphore.AcquireFuture
	f.Init(s, 2)
	require.False(t, f.Poll(nil))
	behind := queued(t, bg, s, 1)
	s.Release(2) // granted to f, who has not noticed
	locktest.RequireBlocked(t, behind)
	f.Cancel()
	require.NoError(t, locktest.Receive(t, behind))
	f.Cancel()
	f.Cancel()
	s.Release(1)
	requireIdle(t, s)

	// The same by way of a select that chose another case.
	require.NoError(t, s.Acquire(bg, 2))
	f.Init(s, 2)
	done := f.Done()
	s.Release(2)
	require.Len(t, done, 1)
	f.Cancel()
	requireIdle(t, s)

	// And when a poll has seen it complete, but something else was quicker: Err takes over, not Poll.
	require.True(t, f.Poll(nil))
	require.True(t, f.Poll(nil))
	f.Cancel()
	requireIdle(t, s)

	// Cancelled while it waits.
	require.NoError(t, s.Acquire(bg, 2))
	require.False(t, f.Poll(nil), "a cancelled future starts again")
	behind = queued(t, bg, s, 1)
	s.Release(1)
	locktest.RequireBlocked(t, behind)
	f.Cancel()
	require.NoError(t, locktest.Receive(t, behind))
	s.Release(2)
	requireIdle(t, s)
}

func TestFutureIsReusable(t *testing.T) {
	s, other := semaphore.New(1), semaphore.New(3)
	var f semaphore.AcquireFuture
	f.Init(s, 1)
	first := f.Done()
	require.NoError(t, f.Err())
	s.Release(1)
	for round := range 100 {
		f.Init(s, 1) // the last request was taken
		if round%2 == 0 {
			require.NoError(t, s.Acquire(bg, 1))
			require.True(t, first == f.Done(), "one channel for all rounds") //nolint:testifylint // channels
			require.Empty(t, first, "a round starts with an empty channel")
			s.Release(1)
			if round%4 == 0 {
				locktest.Receive(t, first)
			} // else leave the value there
			require.True(t, f.Poll(nil))
		} else {
			require.True(t, f.Poll(nil))
			require.Len(t, f.Done(), 1)
		}
		require.NoError(t, f.Err())
		s.Release(1)
		requireIdle(t, s)
	}
	f.Init(other, 3)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	other.Release(3)
	requireIdle(t, other)
}

func TestFutureInUseCannotBeInitialised(t *testing.T) {
	s := semaphore.New(1)
	var f semaphore.AcquireFuture
	require.NoError(t, s.Acquire(bg, 1))
	f.Init(s, 1)
	require.False(t, f.Poll(nil))
	require.Panics(t, func() { f.Init(s, 1) }, "it waits")
	s.Release(1)
	require.Panics(t, func() { f.Init(s, 1) }, "it holds a permit")
	require.True(t, f.Poll(nil))
	require.Panics(t, func() { f.Init(s, 1) }, "it still does: a poll takes nothing over")
	f.Cancel()
	f.Init(s, 1)
	requireIdle(t, s)
}

func TestFutureErrors(t *testing.T) {
	s := semaphore.New(1)
	var f semaphore.AcquireFuture
	f.Init(s, 2)
	require.Len(t, f.Done(), 1)
	require.ErrorIs(t, f.Err(), semaphore.ErrTooLarge)
	f.Cancel()
	f.Init(s, 0)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	f.Cancel()
	require.NoError(t, s.Acquire(bg, 1))
	f.Init(s, 1)
	require.False(t, f.Poll(nil))
	s.Resize(0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrTooLarge)
	s.Close()
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrClosed)
	f.Init(s, 0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrClosed)
	s.Release(1)
	requireIdle(t, s)
}

// A channel made by Done while the request waits gets its value; so does a poll that comes with it.
func TestFutureDoneAfterPoll(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	var f semaphore.AcquireFuture
	var w counter
	f.Init(s, 1)
	require.False(t, f.Poll(&w))
	done := f.Done()
	s.Release(1)
	locktest.Receive(t, done)
	require.EqualValues(t, 1, w.n.Load())
	require.NoError(t, f.Err())
	s.Release(1)
	requireIdle(t, s)
}

// The first Done of a future that has been polled makes a channel. A grant that comes by at that moment cannot wake the
// poller, so Done has to.
func TestDoneAfterPollWakesThePoller(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 3000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(1)
		var wg sync.WaitGroup
		for range rounds {
			require.NoError(t, s.Acquire(bg, 1))
			var f semaphore.AcquireFuture
			woken := make(chan struct{}, 8)
			f.Init(s, 1)
			require.False(t, f.Poll(wakerFunc(func() { woken <- struct{}{} })))
			wg.Go(func() { s.Release(1) })
			for range rand.IntN(60) {
				_ = f.Err() // some time
			}
			done := f.Done()
			locktest.Receive(t, woken)
			locktest.Receive(t, done)
			require.NoError(t, f.Err())
			s.Release(1)
			wg.Wait()
		}
		requireIdle(t, s)
	})
}

// Every poll brings a new waker. When the grant comes the last one is woken, or the poll itself sees it.
func TestRepollWithAnotherWakerIsNeverLost(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(1)
		var f semaphore.AcquireFuture
		var wg sync.WaitGroup
		for range rounds {
			require.NoError(t, s.Acquire(bg, 1))
			f.Init(s, 1)
			require.False(t, f.Poll(nil))
			wg.Go(func() { s.Release(1) })
			for {
				woken := make(chan struct{}, 8)
				if f.Poll(wakerFunc(func() { woken <- struct{}{} })) {
					break
				}
				if rand.IntN(2) == 0 {
					locktest.Receive(t, woken) // hangs here if the wake-up went to an older waker
				}
			}
			wg.Wait()
			require.NoError(t, f.Err())
			s.Release(1)
		}
		requireIdle(t, s)
	})
}

// After a Cancel that met a grant the future can be used at once, by Poll and by Done.
func TestFutureRestartsAfterCancelDuringGrant(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(2)
		var f semaphore.AcquireFuture
		var wg sync.WaitGroup
		for i := range rounds {
			require.NoError(t, s.Acquire(bg, 2))
			f.Init(s, 1+int64(i%2))
			if i%4 < 2 {
				f.Done()
			} else {
				require.False(t, f.Poll(nil))
			}
			wg.Go(func() { s.Release(2) })
			if i%8 < 4 {
				runtime.Gosched()
			}
			f.Cancel()
			if i%3 == 0 {
				locktest.Receive(t, f.Done())
			} else {
				woken := make(chan struct{}, 8)
				for !f.Poll(wakerFunc(func() { woken <- struct{}{} })) {
					locktest.Receive(t, woken)
				}
			}
			require.NoError(t, f.Err())
			s.Release(1 + int64(i%2))
			wg.Wait()
			requireIdle(t, s)
		}
	})
}

// A new round knows nothing of the outcome of the one before.
func TestReusedFutureIsPending(t *testing.T) {
	s := semaphore.New(1)
	var f semaphore.AcquireFuture
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	f.Init(s, 1) // the permit of the first round is still held
	require.False(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrPending)
	f.Cancel()
	s.Release(1)
	requireIdle(t, s)
}

// Whoever watches over a future may ask, while its owner uses it.
func TestAnybodyMayAskWhetherAFutureIsComplete(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	var f semaphore.AcquireFuture
	require.False(t, f.Complete(), "not even initialised")
	f.Init(s, 1)
	require.False(t, f.Complete())
	require.False(t, f.Poll(nil))
	require.False(t, f.Complete())
	asked := make(chan bool)
	go func() {
		for !f.Complete() {
			runtime.Gosched()
		}
		asked <- true
	}()
	s.Release(1)
	locktest.Receive(t, asked)
	require.True(t, f.Poll(nil))
	f.Cancel()
	require.False(t, f.Complete(), "cancelled")
	requireIdle(t, s)
}
