package semtest

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/waiter"
)

// futures are the tests of a kind that has them.
var futures = []test{
	{"FuturePolls", futurePolls},
	{"FutureCancelGivesBackWhatWasNotTaken", futureCancelGivesBackWhatWasNotTaken},
	{"FutureReleaseGivesBackWhateverItHas", futureReleaseGivesBackWhateverItHas},
	{"FutureReleaseNeedsNoErr", futureReleaseNeedsNoErr},
	{"FutureReleasedPastItsBackIsNamed", futureReleasedPastItsBackIsNamed},
	{"DoneStaysReadable", doneStaysReadable},
	{"FutureIsReusable", futureIsReusable},
	{"FutureInUseCannotBeInitialised", futureInUseCannotBeInitialised},
	{"FutureWithoutInitPanics", futureWithoutInitPanics},
	{"FutureOfABadNumberPanicsAndChangesNothing", futureOfABadNumberPanicsAndChangesNothing},
	{"FutureErrors", futureErrors},
	{"FutureOfNothingNeverWaits", futureOfNothingNeverWaits},
	{"FutureDoneAfterPoll", futureDoneAfterPoll},
	{"DoneAfterPollWakesThePoller", doneAfterPollWakesThePoller},
	{"RepollWithAnotherWakerIsNeverLost", repollWithAnotherWakerIsNeverLost},
	{"FutureRestartsAfterCancelDuringGrant", futureRestartsAfterCancelDuringGrant},
	{"ReusedFutureIsPending", reusedFutureIsPending},
	{"AnyGoroutineMayAskWhetherAFutureIsComplete", anyGoroutineMayAskWhetherAFutureIsComplete},
	{"TakenFutureForgetsItsWaker", takenFutureForgetsItsWaker},
	{"FutureIsNotOvertaken", futureIsNotOvertaken},
	{"DroppedFutureLetsFollowersPass", droppedFutureLetsFollowersPass},
	{"OneOfTwoFuturesIsDropped", oneOfTwoFuturesIsDropped},
	{"WakerMayCancelAnotherFuture", wakerMayCancelAnotherFuture},
	{"ResizeServesAndEndsFutures", resizeServesAndEndsFutures},
	{"CloseEndsFutures", closeEndsFutures},
	{"CloseLeavesGrantsToFutures", closeLeavesGrantsToFutures},
}

// waking returns a waker, and a channel that gets a value for each wake.
func waking() (waiter.Waker, <-chan struct{}) {
	woken := make(chan struct{}, 8)
	return waiter.WakerFunc(func() { woken <- struct{}{} }), woken
}

// request returns a future that is a request for n permits of s, not started.
func (k Kind) request(s Semaphore, n int64) Future {
	f := k.NewFuture()
	f.Init(s, n)
	return f
}

// queuedFuture returns a future that waits for n permits.
func (k Kind) queuedFuture(t *testing.T, s Semaphore, n int64) Future {
	t.Helper()
	before := s.Waiting()
	f := k.request(s, n)
	require.False(t, f.Poll(nil))
	require.Equal(t, before+1, s.Waiting())
	return f
}

// requireGranted checks that f has got its n permits, and releases them.
func requireGranted(t *testing.T, s Semaphore, f Future, n int64) {
	t.Helper()
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	s.Release(n)
}

func futurePolls(t *testing.T, k Kind) {
	s := k.New(1)
	var w locktest.CountingWaker
	f, g := k.request(s, 1), k.NewFuture()
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.True(t, f.Poll(&w), "a free permit is taken at once")
	require.NoError(t, f.Err())
	require.True(t, f.Poll(&w), "and stays taken")
	g.Init(s, 1)
	require.EqualValues(t, 0, s.Waiting(), "not started")
	require.False(t, g.Poll(&w))
	require.EqualValues(t, 1, s.Waiting())
	require.ErrorIs(t, g.Err(), waiter.ErrPending)
	require.Zero(t, w.Load())
	f.Cancel() // it has been taken: the permit is ours to release
	require.EqualValues(t, 0, s.Available())
	s.Release(1)
	require.EqualValues(t, 1, w.Load())
	require.True(t, g.Poll(&w))
	require.NoError(t, g.Err())
	s.Release(1)
	RequireIdle(t, s)
}

func futureCancelGivesBackWhatWasNotTaken(t *testing.T, k Kind) {
	s := k.New(2)
	f := k.NewFuture()
	f.Cancel() // nothing to cancel
	require.NoError(t, s.Acquire(bg, 2))
	f.Init(s, 2)
	f.Cancel() // not started
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.False(t, f.Poll(nil))
	behind := Queued(t, bg, s, 1)
	s.Release(2) // granted to f, which has not noticed
	locktest.RequireBlocked(t, behind)
	f.Cancel()
	require.NoError(t, locktest.Receive(t, behind))
	f.Cancel()
	f.Cancel()
	s.Release(1)
	RequireIdle(t, s)

	// The same by way of a select that chose another case.
	require.NoError(t, s.Acquire(bg, 2))
	f.Init(s, 2)
	done := f.Done()
	s.Release(2)
	require.True(t, locktest.IsClosed(done))
	f.Cancel()
	RequireIdle(t, s)

	// And when a poll has seen it complete, but something else was quicker: Err takes over, not
	// Poll.
	require.True(t, f.Poll(nil))
	require.True(t, f.Poll(nil))
	f.Cancel()
	RequireIdle(t, s)

	// Granted, and others have taken permits since: what it gives back is not the newest any more.
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.True(t, s.TryAcquire(1))
	f.Cancel()
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	RequireIdle(t, s)

	// Cancelled while it waits.
	require.NoError(t, s.Acquire(bg, 2))
	f.Init(s, 2)
	require.False(t, f.Poll(nil), "a cancelled future starts again")
	behind = Queued(t, bg, s, 1)
	s.Release(1)
	locktest.RequireBlocked(t, behind)
	f.Cancel()
	require.NoError(t, locktest.Receive(t, behind))
	s.Release(2)
	RequireIdle(t, s)
}

// In every state: before the request is started, while it waits, when it is granted, and when it
// was taken.
func futureReleaseGivesBackWhateverItHas(t *testing.T, k Kind) {
	s, f := k.New(2), k.NewFuture()
	twice := func() {
		t.Helper()
		f.Release()
		f.Release()
		f.Cancel()
		f.Release()
		RequireIdle(t, s)
	}
	f.Release() // not even initialised
	f.Init(s, 2)
	twice()
	require.ErrorIs(t, f.Err(), waiter.ErrPending)

	f.Init(s, 2)
	require.True(t, f.Poll(nil))
	twice()
	require.True(t, f.Poll(nil), "a released future starts again")
	require.NoError(t, f.Err())
	twice()
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Err())
	require.NoError(t, f.Err(), "it may be asked again")
	twice()
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	f.Cancel() // which leaves the permits with their owner
	f.Release()
	s.Release(2)
	f.Release()
	RequireIdle(t, s)

	for _, taken := range []bool{false, true} { // granted by a release, with another behind it
		require.NoError(t, s.Acquire(bg, 2))
		f.Init(s, 2)
		require.False(t, f.Poll(nil))
		behind := Queued(t, bg, s, 1)
		s.Release(2)
		if taken {
			require.NoError(t, f.Err())
		}
		locktest.RequireBlocked(t, behind)
		f.Release()
		require.NoError(t, locktest.Receive(t, behind))
		s.Release(1)
		twice()
	}

	require.NoError(t, s.Acquire(bg, 2)) // while it waits
	f.Init(s, 2)
	require.False(t, f.Poll(nil))
	f.Release()
	s.Release(2)
	twice()

	f.Init(s, 3) // an error has nothing to give back
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	twice()
	f.Init(s, 0) // nor has nothing
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	twice()

	f.Init(s, 1) // after a resize, and after a close
	require.True(t, f.Poll(nil))
	s.Resize(5)
	twice()
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	s.Close()
	twice()
}

// A caller that has seen Done, and has not called Err, releases the future. A second Release does
// nothing: the permits are others' by then.
func futureReleaseNeedsNoErr(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	func() {
		f := k.request(s, 1)
		defer f.Release()
		done := f.Done()
		s.Release(1)
		locktest.Receive(t, done)
		require.False(t, s.TryAcquire(1))
		f.Release()
		require.True(t, s.TryAcquire(1), "another")
		f.Cancel()
	}()
	require.False(t, s.TryAcquire(1), "a third gets in")
	s.Release(1)
	RequireIdle(t, s)
}

// A caller that gives the permits of a future back to the semaphore, before Err or besides the
// future's Release, is told so if no other goroutine has some by then.
func futureReleasedPastItsBackIsNamed(t *testing.T, k Kind) {
	for _, way := range []struct {
		name string
		end  func(f Future)
	}{
		{"AcquireFuture.Cancel", func(f Future) { f.Cancel() }},
		{"AcquireFuture.Release", func(f Future) { f.Release() }},
		{"AcquireFuture.Release", func(f Future) { _ = f.Err(); f.Release() }},
	} {
		s := k.New(2)
		f := k.request(s, 2)
		require.True(t, f.Poll(nil))
		s.Release(2)
		text := locktest.PanicOf(func() { way.end(f) })
		require.Contains(t, text, way.name)
		require.Contains(t, text, "the semaphore's")
		f.Release() // it has nothing any more
		RequireIdle(t, s)
	}
}

// As long as the request is complete, however often its value has been received.
func doneStaysReadable(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	f := k.request(s, 1)
	done := f.Done()
	require.False(t, locktest.IsClosed(done))
	require.True(t, done == f.Done(), "one channel for the round") //nolint:testifylint // channels
	s.Release(1)
	for range 3 {
		locktest.Receive(t, done)
		locktest.Receive(t, f.Done())
	}
	require.NoError(t, f.Err())
	require.True(t, done == f.Done(), "one channel for the round") //nolint:testifylint // channels
	f.Release()
	require.True(t, locktest.IsClosed(done), "for ever")

	require.NoError(t, s.Acquire(bg, 1)) // the next round has another
	f.Init(s, 1)
	require.False(t, locktest.IsClosed(f.Done()))
	s.Release(1)
	locktest.Receive(t, f.Done())
	locktest.Receive(t, f.Done())
	f.Release()
	RequireIdle(t, s)
}

func futureIsReusable(t *testing.T, k Kind) {
	s, other := k.New(1), k.New(3)
	f := k.request(s, 1)
	last := f.Done()
	require.NoError(t, f.Err())
	s.Release(1)
	for round := range 100 {
		f.Init(s, 1) // the last request was taken
		if round%2 == 0 {
			require.NoError(t, s.Acquire(bg, 1))
			done := f.Done()
			require.False(t, done == last, "a channel for each round") //nolint:testifylint // channels
			require.False(t, locktest.IsClosed(done))
			s.Release(1)
			if round%4 == 0 {
				locktest.Receive(t, done)
			}
			require.True(t, f.Poll(nil))
			last = done
		} else {
			require.True(t, f.Poll(nil))
			require.True(t, locktest.IsClosed(f.Done()))
		}
		require.NoError(t, f.Err())
		s.Release(1)
		RequireIdle(t, s)
	}
	f.Init(other, 3)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	other.Release(3)
	RequireIdle(t, other)

	// An outcome that is an error ends a round as well.
	f.Init(other, 4)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Init(other, 3)
	require.True(t, locktest.IsClosed(f.Done()))
	require.NoError(t, f.Err())
	other.Release(3)
	RequireIdle(t, other)
}

func futureInUseCannotBeInitialised(t *testing.T, k Kind) {
	const text = "Init of a future whose request has not ended"
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	f := k.request(s, 1)
	require.False(t, f.Poll(nil))
	again := func() { f.Init(s, 1) }
	RequirePanic(t, text, again) // it waits
	s.Release(1)
	RequirePanic(t, text, again) // it holds a permit
	require.True(t, f.Poll(nil))
	RequirePanic(t, text, again) // it still does: a poll takes nothing over
	f.Cancel()
	f.Init(s, 1)
	RequireIdle(t, s)
}

func futureWithoutInitPanics(t *testing.T, k Kind) {
	for name, f := range map[string]func(f Future){
		"poll": func(f Future) { f.Poll(nil) },
		"done": func(f Future) { f.Done() },
		"err":  func(f Future) { _ = f.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			RequirePanic(t, "future without Init", func() { f(k.NewFuture()) })
		})
	}
}

func futureOfABadNumberPanicsAndChangesNothing(t *testing.T, k Kind) {
	s := k.New(1)
	f := k.request(s, 1)
	for _, n := range []int64{-1, math.MinInt64} {
		RequirePanic(t, "future of a negative number of permits", func() { f.Init(s, n) })
	}
	requireGranted(t, s, f, 1)
	RequireIdle(t, s)
}

func futureErrors(t *testing.T, k Kind) {
	s := k.New(1)
	f := k.request(s, 2)
	require.True(t, locktest.IsClosed(f.Done()))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Cancel()
	f.Init(s, math.MaxInt64)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	f.Cancel()
	require.NoError(t, s.Acquire(bg, 1))
	f.Init(s, 1)
	require.False(t, f.Poll(nil))
	s.Resize(0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrTooLarge)
	s.Close()
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrClosed)
	f.Init(s, 0)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrClosed)
	f.Init(s, 9)
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
	f.Cancel() // gives back nothing
	f.Init(s, 0)
	require.True(t, locktest.IsClosed(f.Done()))
	require.NoError(t, f.Err())
	locktest.RequireBlocked(t, waiting)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	RequireIdle(t, s)
}

// A channel made by Done while the request waits gets its value; so does a poll that comes with it.
func futureDoneAfterPoll(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	var w locktest.CountingWaker
	f := k.request(s, 1)
	require.False(t, f.Poll(&w))
	done := f.Done()
	s.Release(1)
	locktest.Receive(t, done)
	require.EqualValues(t, 1, w.Load())
	require.NoError(t, f.Err())
	s.Release(1)
	RequireIdle(t, s)
}

// The first Done of a future that has been polled makes a channel. A grant that comes by at that
// moment cannot wake the poller, so Done has to.
func doneAfterPollWakesThePoller(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := k.New(1)
		var wg sync.WaitGroup
		for range locktest.Scaled(20000) {
			require.NoError(t, s.Acquire(bg, 1))
			w, woken := waking()
			f := k.request(s, 1)
			require.False(t, f.Poll(w))
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
		RequireIdle(t, s)
	})
}

// Every poll brings a new waker. When the grant comes the last one is woken, or the poll itself
// sees it.
func repollWithAnotherWakerIsNeverLost(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s, f := k.New(1), k.NewFuture()
		var wg sync.WaitGroup
		for range locktest.Scaled(20000) {
			require.NoError(t, s.Acquire(bg, 1))
			f.Init(s, 1)
			require.False(t, f.Poll(nil))
			wg.Go(func() { s.Release(1) })
			for {
				w, woken := waking()
				if f.Poll(w) {
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
		RequireIdle(t, s)
	})
}

// After a Cancel that met a grant the future can be used at once, by Poll and by Done.
func futureRestartsAfterCancelDuringGrant(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s, f := k.New(2), k.NewFuture()
		var wg sync.WaitGroup
		for i := range locktest.Scaled(20000) {
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
				w, woken := waking()
				for !f.Poll(w) {
					locktest.Receive(t, woken)
				}
			}
			require.NoError(t, f.Err())
			s.Release(1 + int64(i%2))
			wg.Wait()
			RequireIdle(t, s)
		}
	})
}

// A new round knows nothing of the outcome of the one before.
func reusedFutureIsPending(t *testing.T, k Kind) {
	s := k.New(1)
	f := k.request(s, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	f.Init(s, 1) // the permit of the first round is still held
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.False(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	f.Cancel()
	s.Release(1)
	RequireIdle(t, s)
}

// Any goroutine may ask, while the owner uses the future.
func anyGoroutineMayAskWhetherAFutureIsComplete(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	f := k.NewFuture()
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
	require.NoError(t, f.Err())
	require.True(t, f.Complete(), "taken")
	f.Init(s, 1)
	require.False(t, f.Complete(), "of the earlier request")
	f.Cancel()
	require.False(t, f.Complete(), "of the earlier request")
	f.Init(s, 1)
	f.Release()
	require.False(t, f.Complete(), "of the earlier request")
	require.False(t, f.Poll(nil))
	require.False(t, f.Complete())
	s.Release(1)
	require.True(t, f.Complete())
	f.Cancel()
	require.False(t, f.Complete(), "cancelled")

	// In every round, for the race detector.
	started, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		close(started)
		for {
			select {
			case <-stop:
				return
			default:
				f.Complete()
				runtime.Gosched() // on one processor it would ask for the whole of its slice
			}
		}
	}()
	<-started
	for range 1000 {
		runtime.Gosched()
		require.NoError(t, s.Acquire(bg, 1))
		f.Init(s, 1)
		f.Done()
		s.Release(1)
		requireGranted(t, s, f, 1)
		f.Init(s, 1)
		require.True(t, f.Poll(nil))
		f.Cancel()
	}
	close(stop)
	<-stopped
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
	require.NoError(t, f.Err())
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
		var fs []Future
		for range waiters {
			fs = append(fs, k.queuedFuture(t, s, 1))
		}
		behind := Queued(t, bg, s, 2)
		fs[gone].Cancel()
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
	large.Cancel()
	locktest.Receive(t, woken)
	requireGranted(t, s, small, 1)
	s.Release(1)
	RequireIdle(t, s)
}

// One goroutine has two requests in one line, and drops the one that is not served first, or the
// one that is.
func oneOfTwoFuturesIsDropped(t *testing.T, k Kind) {
	for gone := range 2 {
		s := k.New(1)
		f := [2]Future{k.NewFuture(), k.NewFuture()}
		for range 10 {
			require.NoError(t, s.Acquire(bg, 1))
			done := [2]<-chan struct{}{}
			for i := range f {
				f[i].Init(s, 1)
				done[i] = f[i].Done()
			}
			s.Release(1)
			require.True(t, locktest.IsClosed(done[0]))
			require.False(t, locktest.IsClosed(done[1]))
			f[gone].Cancel()
			locktest.Receive(t, done[1-gone])
			require.Equal(t, gone == 0, locktest.IsClosed(done[gone]))
			require.NoError(t, f[1-gone].Err())
			s.Release(1)
			RequireIdle(t, s)
		}
	}
}

// A future that is kept for a next round does not keep the task alive that it woke in the last.
func takenFutureForgetsItsWaker(t *testing.T, k Kind) {
	s := k.New(1)
	require.True(t, s.TryAcquire(1))
	f := k.request(s, 1)
	gone := make(chan struct{})
	func() {
		w := new(struct {
			locktest.CountingWaker
			_ [64]byte // too large to share its place with others
		})
		runtime.AddCleanup(w, func(struct{}) { close(gone) }, struct{}{})
		require.False(t, f.Poll(w))
	}()
	s.Release(1)
	require.NoError(t, f.Err())
	runtime.GC()
	locktest.Receive(t, gone)
	runtime.KeepAlive(f)
	s.Release(1)
}

// The caller of a waker is past everything that the waker could disturb.
func wakerMayCancelAnotherFuture(t *testing.T, k Kind) {
	for name, wake := range map[string]func(s Semaphore, first Future){
		"release": func(s Semaphore, _ Future) { s.Release(1) },
		"resize":  func(s Semaphore, _ Future) { s.Resize(3) },
		"cancel":  func(_ Semaphore, first Future) { first.Cancel() },
		"close":   func(s Semaphore, _ Future) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := k.New(2)
			require.NoError(t, s.Acquire(bg, 1))
			first, f, last := k.queuedFuture(t, s, 2), k.request(s, 1), k.request(s, 1)
			require.False(t, f.Poll(waiter.WakerFunc(last.Cancel)))
			require.False(t, last.Poll(nil))
			wake(s, first)
			if name == "release" || name == "resize" {
				require.True(t, first.Poll(nil))
				first.Cancel() // which serves the others
			}
			require.True(t, f.Poll(nil))
			require.False(t, last.Complete(), "it has been cancelled")
			f.Cancel()
			first.Cancel()
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
	large, w := k.NewFuture(), new(locktest.CountingWaker)
	f := k.queuedFuture(t, s, 1)
	large.Init(s, 2)
	require.False(t, large.Poll(w))
	g := k.queuedFuture(t, s, 1)
	s.Resize(3)
	requireGranted(t, s, f, 1)
	require.False(t, large.Poll(w), "one more is free, and it needs two")
	s.Resize(1)
	require.EqualValues(t, 1, w.Load())
	require.True(t, large.Poll(w))
	require.ErrorIs(t, large.Err(), waiter.ErrTooLarge)
	large.Cancel()
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
	f.Cancel()
	require.EqualValues(t, 1, w.Load())
	require.True(t, g.Poll(w))
	g.Cancel() // without having asked why
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
	require.NoError(t, f.Err())
	require.EqualValues(t, 0, s.Available())
	g.Cancel()
	require.EqualValues(t, 1, s.Available())
	s.Release(1)
	RequireIdle(t, s)
}
