package semtest

import (
	"math"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/futuretest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// futures are the tests of a kind that has futures: the contract of every future, and what only
// futures for permits have.
var futures = []test{
	{"Future", futureContract},
	{"FutureReleaseGivesBackAllPermits", futureReleaseGivesBackAllPermits},
	{"FutureOfABadNumberPanicsAndChangesNothing", futureOfABadNumberPanicsAndChangesNothing},
	{"FutureErrors", futureErrors},
	{"FutureOfNothingNeverWaits", futureOfNothingNeverWaits},
	{"FutureIsNotOvertaken", futureIsNotOvertaken},
	{"DroppedFutureLetsFollowersPass", droppedFutureLetsFollowersPass},
	{"WakerMayCancelAnotherFuture", wakerMayCancelAnotherFuture},
	{"ResizeServesAndEndsFutures", resizeServesAndEndsFutures},
	{"CloseEndsFutures", closeEndsFutures},
	{"CloseLeavesGrantsToFutures", closeLeavesGrantsToFutures},
}

func futureContract(t *testing.T, k Kind) {
	futuretest.Run(t, futuretest.Kind{New: func() futuretest.Lock {
		s := k.New(1)
		return futuretest.Lock{
			Bind:     func(f *waiter.Future) { k.Bind(s, f, 1) },
			GiveBack: func() { s.Release(1) },
			Lock:     func() { _ = s.Acquire(bg, 1) },
			Unlock:   func() { s.Release(1) },
			TryLock:  func() bool { return s.TryAcquire(1) },
			Waits:    s.Waiting,
		}
	}})
}

// waking returns a waker, and a channel that gets a value for each wake.
func waking() (waiter.Waker, <-chan struct{}) {
	woken := make(chan struct{}, 8)
	return waiter.WakerFunc(func() { woken <- struct{}{} }), woken
}

// request returns a future that is a request for n permits of s, which has not been made.
func (k Kind) request(s Semaphore, n int64) *waiter.Future {
	f := new(waiter.Future)
	k.Bind(s, f, n)
	return f
}

// queuedFuture returns a future that waits for n permits.
func (k Kind) queuedFuture(t *testing.T, s Semaphore, n int64) *waiter.Future {
	t.Helper()
	before := s.Waiting()
	f := k.request(s, n)
	require.False(t, f.Poll(nil))
	require.Equal(t, before+1, s.Waiting())
	return f
}

// requireGranted checks that f has got its n permits, and releases them.
func requireGranted(t *testing.T, s Semaphore, f *waiter.Future, n int64) {
	t.Helper()
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	s.Release(n)
}

func futureReleaseGivesBackAllPermits(t *testing.T, k Kind) {
	s, f := k.New(2), new(waiter.Future)
	twice := func() {
		t.Helper()
		f.Release()
		f.Release()
		RequireIdle(t, s)
	}
	k.Bind(s, f, 2)
	require.True(t, f.Poll(nil))
	twice()

	// Granted by a release, with another behind it; and nothing while it waits for the rest.
	for _, seen := range []bool{false, true} {
		require.NoError(t, s.Acquire(bg, 2))
		k.Bind(s, f, 2)
		require.False(t, f.Poll(nil))
		behind := Queued(t, bg, s, 1)
		s.Release(2)
		if seen {
			require.NoError(t, f.Err())
		}
		locktest.RequireBlocked(t, behind)
		f.Release()
		require.NoError(t, locktest.Receive(t, behind))
		s.Release(1)
		twice()
	}

	// Granted, and others have taken permits since: what it gives back is not the newest any more.
	k.Bind(s, f, 1)
	require.True(t, f.Poll(nil))
	require.True(t, s.TryAcquire(1))
	f.Release()
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	RequireIdle(t, s)

	// Given up while it waits: those behind it pass.
	require.NoError(t, s.Acquire(bg, 2))
	k.Bind(s, f, 2)
	require.False(t, f.Poll(nil))
	behind := Queued(t, bg, s, 1)
	s.Release(1)
	locktest.RequireBlocked(t, behind)
	f.Release()
	require.NoError(t, locktest.Receive(t, behind))
	s.Release(2)
	twice()

	k.Bind(s, f, 3) // an error has nothing to give back
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	twice()
	k.Bind(s, f, 0) // nor has nothing
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	twice()

	// What was taken may be given back in parts.
	k.Bind(s, f, 2)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	s.Release(1)
	f.Release()
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	twice()

	k.Bind(s, f, 1) // after a resize, and after a close
	require.True(t, f.Poll(nil))
	s.Resize(5)
	twice()
	k.Bind(s, f, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	s.Close()
	twice()
}

func futureOfABadNumberPanicsAndChangesNothing(t *testing.T, k Kind) {
	s := k.New(1)
	f := k.request(s, 1)
	for _, n := range []int64{-1, math.MinInt64} {
		RequirePanic(t, "future of a negative number of permits", func() { k.Bind(s, f, n) })
	}
	requireGranted(t, s, f, 1)
	RequireIdle(t, s)
}

func futureErrors(t *testing.T, k Kind) {
	s := k.New(1)
	f := k.request(s, 2)
	require.True(t, locktest.IsClosed(f.Done()))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Release()
	k.Bind(s, f, math.MaxInt64)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Release()
	require.NoError(t, s.Acquire(bg, 1))
	k.Bind(s, f, 1)
	require.False(t, f.Poll(nil))
	s.Resize(0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	s.Close()
	k.Bind(s, f, 1)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrClosed)
	k.Bind(s, f, 0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrClosed)
	k.Bind(s, f, 9)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrClosed, "closed before too large")
	s.Release(1)
	RequireIdle(t, s)
}

func futureOfNothingNeverWaits(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	waiting := Queued(t, bg, s, 1)
	f := k.request(s, 0)
	require.True(t, f.Poll(nil))
	f.Release() // gives back nothing
	k.Bind(s, f, 0)
	require.True(t, locktest.IsClosed(f.Done()))
	require.NoError(t, f.Err())
	locktest.RequireBlocked(t, waiting)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	RequireIdle(t, s)
}

// A future stands in line from its first poll until it is granted or cancelled, whatever else
// comes.
func futureIsNotOvertaken(t *testing.T, k Kind) {
	s := k.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	f := k.queuedFuture(t, s, 3)
	require.False(t, s.TryAcquire(1), "one permit is free, but it is the future's")
	behind := Queued(t, bg, s, 1)
	small := k.queuedFuture(t, s, 1)
	s.Release(1)
	locktest.RequireBlocked(t, behind)
	require.False(t, f.Poll(nil))
	s.Release(1)
	locktest.RequireBlocked(t, behind)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	require.False(t, small.Poll(nil))
	s.Release(1)
	require.NoError(t, locktest.Receive(t, behind))
	require.False(t, small.Poll(nil))
	s.Release(1)
	requireGranted(t, s, small, 1)
	s.Release(2)
	RequireIdle(t, s)
}

// Wherever in the line it stood.
func droppedFutureLetsFollowersPass(t *testing.T, k Kind) {
	const waiters = 4
	for gone := range waiters {
		s := k.New(2)
		require.NoError(t, s.Acquire(bg, 2))
		var fs []*waiter.Future
		for range waiters {
			fs = append(fs, k.queuedFuture(t, s, 1))
		}
		behind := Queued(t, bg, s, 2)
		fs[gone].Release()
		require.EqualValues(t, waiters, s.Waiting())
		for i, f := range fs {
			if i == gone {
				continue
			}
			require.False(t, f.Poll(nil))
			s.Release(1)
			require.True(t, f.Poll(nil), "%d of those behind %d", i, gone)
			require.NoError(t, f.Err())
		}
		locktest.RequireBlocked(t, behind)
		s.Release(2)
		require.NoError(t, locktest.Receive(t, behind))
		s.Release(2)
		RequireIdle(t, s)
	}

	// A large request at the head, in front of one for which there would be enough.
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	large := k.queuedFuture(t, s, 2)
	w, woken := waking()
	small := k.request(s, 1)
	require.False(t, small.Poll(w))
	large.Release()
	locktest.Receive(t, woken)
	requireGranted(t, s, small, 1)
	s.Release(1)
	RequireIdle(t, s)
}

// The caller of a waker is past everything that the waker could disturb.
func wakerMayCancelAnotherFuture(t *testing.T, k Kind) {
	for name, wake := range map[string]func(s Semaphore, first *waiter.Future){
		"release": func(s Semaphore, _ *waiter.Future) { s.Release(1) },
		"resize":  func(s Semaphore, _ *waiter.Future) { s.Resize(3) },
		"cancel":  func(_ Semaphore, first *waiter.Future) { first.Release() },
		"close":   func(s Semaphore, _ *waiter.Future) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := k.New(2)
			require.NoError(t, s.Acquire(bg, 1))
			first, f, last := k.queuedFuture(t, s, 2), k.request(s, 1), k.request(s, 1)
			require.False(t, f.Poll(waiter.WakerFunc(last.Release)))
			require.False(t, last.Poll(nil))
			wake(s, first)
			if name == "release" || name == "resize" {
				require.True(t, first.Poll(nil))
				first.Release() // which serves the others
			}
			require.True(t, f.Poll(nil))
			require.False(t, last.Complete(), "it has been cancelled")
			f.Release()
			first.Release()
			require.Zero(t, s.Waiting())
			if name != "release" {
				s.Release(1)
			}
			RequireIdle(t, s)
		})
	}
}

func resizeServesAndEndsFutures(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 2))
	large, w := new(waiter.Future), new(locktest.CountingWaker)
	f := k.queuedFuture(t, s, 1)
	k.Bind(s, large, 2)
	require.False(t, large.Poll(w))
	g := k.queuedFuture(t, s, 1)
	s.Resize(3)
	requireGranted(t, s, f, 1)
	require.False(t, large.Poll(w), "one more is free, and it needs two")
	s.Resize(1)
	require.EqualValues(t, 1, w.Load())
	require.True(t, large.Poll(w))
	require.ErrorIs(t, large.Err(), waiter.ErrTooLarge)
	large.Release()
	s.Release(2)
	requireGranted(t, s, g, 1)
	RequireIdle(t, s)
}

func closeEndsFutures(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	a := Queued(t, bg, s, 2)
	w := new(locktest.CountingWaker)
	f, g := k.request(s, 1), k.request(s, 1)
	done := f.Done()
	require.False(t, g.Poll(w))
	s.Close()
	require.ErrorIs(t, locktest.Receive(t, a), waiter.ErrClosed)
	locktest.Receive(t, done)
	require.ErrorIs(t, f.Err(), waiter.ErrClosed)
	f.Release()
	require.EqualValues(t, 1, w.Load())
	require.True(t, g.Poll(w))
	g.Release() // without a call of Err
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	RequireIdle(t, s)
}

// What was granted before the close is the future's to give back, or the owner's.
func closeLeavesGrantsToFutures(t *testing.T, k Kind) {
	s := k.New(2)
	f, g := k.request(s, 1), k.request(s, 1)
	require.True(t, f.Poll(nil))
	require.True(t, g.Poll(nil))
	s.Close()
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	require.EqualValues(t, 0, s.Available())
	g.Release()
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	RequireIdle(t, s)
}
