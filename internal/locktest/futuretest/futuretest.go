// Package futuretest tests the contract of waiter.Future on any lock, in any of the ways in which
// it can be held. What only some locks have is tested by the suites of those: semtest, mutextest
// and rwtest, which run this one, too.
package futuretest

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// A Lock is a lock, with one way in which futures take it.
type Lock struct {
	Bind     func(f *waiter.Future)
	GiveBack func() // the lock's own method, for what a future was granted

	// A hold that keeps every future waiting.
	Lock, Unlock func()
	TryLock      func() bool

	Waits func() int // how many wait
}

// Waiting is for [locktest.AwaitWaiting].
func (l Lock) Waiting() int { return l.Waits() }

// A Kind makes locks.
type Kind struct {
	New    func() Lock
	Shared bool // several futures are granted at the same time
	Brief  bool // without the tests that take long
}

// Run runs all tests.
func Run(t *testing.T, k Kind) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, k Kind)
		long bool
	}{
		{"Polls", polls, false},
		{"WithoutBind", withoutBind, false},
		{"InUseCannotBeBound", inUseCannotBeBound, false},
		{"ReleaseGivesBackWhateverItHas", releaseGivesBackWhateverItHas, false},
		{"TakeLeavesTheGrant", takeLeavesTheGrant, false},
		{"ReleaseNeedsNoErr", releaseNeedsNoErr, false},
		{"GivenBackPastItsBackIsNamed", givenBackPastItsBackIsNamed, false},
		{"DoneStaysReadable", doneStaysReadable, false},
		{"IsReusable", isReusable, false},
		{"ReplacedWakersAreNotWoken", replacedWakersAreNotWoken, false},
		{"DoneAfterPoll", doneAfterPoll, false},
		{"ForgetsItsWaker", forgetsItsWaker, false},
		{"OneOfTwoIsDropped", oneOfTwoIsDropped, false},
		{"AnyGoroutineMayAskWhetherItIsComplete", anyGoroutineMayAskWhetherItIsComplete, false},
		{"AllocatesNothing", allocatesNothing, false},
		{"RepollWithAnotherWakerIsNeverLost", repollWithAnotherWakerIsNeverLost, true},
		{"DoneAfterPollWakesBoth", doneAfterPollWakesBoth, true},
		{"RestartsAfterReleaseDuringGrant", restartsAfterReleaseDuringGrant, true},
	} {
		t.Run("Future"+test.name, func(t *testing.T) {
			if test.long && k.Brief {
				t.Skip("another way to hold the lock has this test")
			}
			test.run(t, k)
		})
	}
}

// bound returns a future that is a request for l, which has not been made.
func (l Lock) bound() *waiter.Future {
	f := new(waiter.Future)
	l.Bind(f)
	return f
}

// requireFree checks that no goroutine holds l or waits for it.
func (l Lock) requireFree(t *testing.T) {
	t.Helper()
	require.Zero(t, l.Waits(), "a goroutine still waits")
	require.True(t, l.TryLock(), "the lock was lost")
	require.False(t, l.TryLock(), "two locks were made of one")
	l.Unlock()
}

// queued locks l in a goroutine of its own, and returns when that waits.
func (l Lock) queued(t *testing.T) <-chan struct{} {
	t.Helper()
	before := l.Waits()
	c := make(chan struct{})
	go func() { l.Lock(); close(c) }()
	locktest.AwaitWaiting(t, l, before+1)
	return c
}

// requirePolled polls a request for what is free. If the lock has a bias the first poll may have to
// end that, and then the next one finds the grant.
func requirePolled(t *testing.T, f *waiter.Future, w waiter.Waker) {
	t.Helper()
	ok := f.Poll(w)
	if !ok {
		ok = f.Poll(w)
	}
	require.True(t, ok)
}

// begins are the ways to make a request.
var begins = map[string]func(f *waiter.Future){
	"poll": func(f *waiter.Future) { f.Poll(nil) },
	"done": func(f *waiter.Future) { f.Done() },
}

func polls(t *testing.T, k Kind) {
	l := k.New()
	f, w := l.bound(), new(locktest.CountingWaker)
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.True(t, l.TryLock(), "the request was made before the first poll")
	l.Unlock()
	requirePolled(t, f, w) // what is free is granted at once
	require.False(t, l.TryLock())
	require.True(t, f.Poll(w), "and stays granted")
	for range 2 {
		require.NoError(t, f.Err())
		require.False(t, l.TryLock(), "Err only looks")
	}
	f.Release()
	l.requireFree(t)

	l.Lock()
	l.Bind(f)
	w = new(locktest.CountingWaker)
	require.False(t, f.Poll(w))
	require.Equal(t, 1, l.Waits())
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.ErrorIs(t, f.Take(), waiter.ErrPending)
	require.Equal(t, 1, l.Waits(), "Take has ended the request")
	require.Zero(t, w.Load())
	l.Unlock()
	require.EqualValues(t, 1, w.Load())
	require.False(t, l.TryLock(), "it is the future's, which has not noticed yet")
	require.True(t, f.Poll(w))
	require.NoError(t, f.Err())
	f.Release()
	l.requireFree(t)
}

// Between rounds: before the first one, after Release and after Take.
func withoutBind(t *testing.T, k Kind) {
	l := k.New()
	for name, f := range map[string]func(t *testing.T) *waiter.Future{
		"new": func(*testing.T) *waiter.Future { return new(waiter.Future) },
		"unmade": func(*testing.T) *waiter.Future {
			f := l.bound()
			f.Release()
			return f
		},
		"released": func(t *testing.T) *waiter.Future {
			f := l.bound()
			requirePolled(t, f, nil)
			f.Release()
			return f
		},
		"taken": func(t *testing.T) *waiter.Future {
			f := l.bound()
			requirePolled(t, f, nil)
			require.NoError(t, f.Take())
			l.GiveBack()
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := f(t)
			require.PanicsWithValue(t, "farad: future without Bind", func() { f.Poll(nil) })
			require.PanicsWithValue(t, "farad: future without Bind", func() { f.Done() })
			require.ErrorIs(t, f.Err(), waiter.ErrPending)
			require.ErrorIs(t, f.Take(), waiter.ErrPending)
			require.False(t, f.Complete())
			f.Release() // of nothing
			l.requireFree(t)
			l.Bind(f) // which is not too late
			requirePolled(t, f, nil)
			f.Release()
			l.requireFree(t)
		})
	}
}

func inUseCannotBeBound(t *testing.T, k Kind) {
	l, other := k.New(), k.New()
	f := new(waiter.Future)
	refused := func(why string) {
		t.Helper()
		for _, of := range []Lock{l, other} {
			require.PanicsWithValue(
				t,
				"farad: Bind of a future whose request has not ended: Release or Take ends it",
				func() { of.Bind(f) },
				why,
			)
		}
		require.False(t, l.TryLock(), why)
		other.requireFree(t)
	}
	l.Lock()
	other.Bind(f)
	l.Bind(f) // nothing has been made
	require.False(t, f.Poll(nil))
	refused("it waits")
	require.Equal(t, 1, l.Waits(), "the panic has changed something")
	l.Unlock()
	require.True(t, f.Complete())
	refused("it was granted")
	require.True(t, f.Poll(nil))
	refused("a poll ends nothing")
	require.NoError(t, f.Err())
	refused("Err only looks")
	require.NoError(t, f.Take())
	other.Bind(f)
	require.False(t, l.TryLock(), "what was taken is the owner's")
	l.GiveBack()
	l.requireFree(t)
	requirePolled(t, f, nil)
	l.requireFree(t)
	f.Release()
	l.Bind(f)
	l.requireFree(t)
	other.requireFree(t)
}

// In every state: before the request is made, while it waits, and when it is granted, whether or
// not its owner has looked. A second Release does nothing, although others hold the lock by then.
func releaseGivesBackWhateverItHas(t *testing.T, k Kind) {
	l, f := k.New(), new(waiter.Future)
	twice := func() {
		t.Helper()
		f.Release()
		require.False(t, f.Complete())
		require.True(t, l.TryLock(), "it gave back nothing")
		f.Release()
		require.False(t, l.TryLock(), "it gave back another's")
		l.Unlock()
		require.ErrorIs(t, f.Err(), waiter.ErrPending)
		l.requireFree(t)
	}
	l.Bind(f)
	twice()
	l.Bind(f)
	requirePolled(t, f, nil)
	twice()
	l.Bind(f)
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Err())
	twice()

	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			l.Lock() // while it waits, with another behind it
			l.Bind(f)
			begin(f)
			behind := l.queued(t)
			f.Release()
			locktest.AwaitWaiting(t, l, 1)
			locktest.RequireBlocked(t, behind)
			l.Unlock()
			locktest.Receive(t, behind)
			l.Unlock()
			l.requireFree(t)
			twice()

			for _, seen := range []bool{false, true} { // granted by an unlock, with another behind it
				l.Lock()
				l.Bind(f)
				begin(f)
				behind := l.queued(t)
				l.Unlock()
				if seen {
					require.NoError(t, f.Err())
				}
				locktest.RequireBlocked(t, behind)
				f.Release()
				locktest.Receive(t, behind)
				f.Release()
				require.False(t, l.TryLock(), "it gave back another's")
				l.Unlock()
				twice()
			}
		})
	}
}

// What was taken is the owner's, and no Release of the future gives it back.
func takeLeavesTheGrant(t *testing.T, k Kind) {
	l, f := k.New(), new(waiter.Future)
	taken := func() {
		t.Helper()
		require.NoError(t, f.Take())
		require.False(t, f.Complete())
		require.ErrorIs(t, f.Err(), waiter.ErrPending)
		require.ErrorIs(t, f.Take(), waiter.ErrPending)
		f.Release()
		require.False(t, l.TryLock(), "the owner has it")
	}
	l.Bind(f)
	requirePolled(t, f, nil) // granted at once
	taken()
	l.GiveBack()
	l.requireFree(t)
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			for _, seen := range []bool{false, true} {
				l.Lock()
				l.Bind(f)
				begin(f)
				behind := l.queued(t)
				l.Unlock()
				if seen {
					require.NoError(t, f.Err())
				}
				taken()
				locktest.RequireBlocked(t, behind)
				l.GiveBack()
				locktest.Receive(t, behind)
				l.Unlock()
				l.requireFree(t)
			}
		})
	}
	if k.Shared {
		return
	}
	l.Bind(f)
	requirePolled(t, f, nil)
	require.NoError(t, f.Take())
	l.Bind(f) // the next round begins while the owner still has the grant of the last
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.False(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	f.Release()
	l.GiveBack()
	l.requireFree(t)
}

// A caller that has seen Done, and has not called Err, releases the future. A second Release does
// nothing: the lock is another's by then.
func releaseNeedsNoErr(t *testing.T, k Kind) {
	l := k.New()
	l.Lock()
	func() {
		f := l.bound()
		defer f.Release()
		done := f.Done()
		l.Unlock()
		locktest.Receive(t, done)
		require.False(t, l.TryLock())
		f.Release()
		require.True(t, l.TryLock(), "another")
	}()
	require.False(t, l.TryLock(), "a third gets in")
	l.Unlock()
	l.requireFree(t)
}

// A caller that gives back by the lock's own method what a future still holds learns of it at the
// Release, if no other goroutine holds as much by then.
func givenBackPastItsBackIsNamed(t *testing.T, k Kind) {
	for _, look := range []func(f *waiter.Future){
		func(*waiter.Future) {},
		func(f *waiter.Future) { _ = f.Err() },
	} {
		l := k.New()
		f := l.bound()
		requirePolled(t, f, nil)
		look(f)
		l.GiveBack()
		require.PanicsWithValue(
			t,
			"farad: Release of a future whose grant the lock's own method has given back already, without Take",
			f.Release,
		)
		f.Release() // it has nothing any more
		l.requireFree(t)
	}
}

// The channel of a round is closed, so any number of receives return.
func doneStaysReadable(t *testing.T, k Kind) {
	l, f := k.New(), new(waiter.Future)
	for range 2 {
		l.Lock()
		l.Bind(f)
		done := f.Done()
		require.False(t, locktest.IsClosed(done))
		require.True(t, done == f.Done(), "one channel for the round")
		l.Unlock()
		for range 3 {
			locktest.Receive(t, done)
			locktest.Receive(t, f.Done())
		}
		require.NoError(t, f.Err())
		require.True(t, done == f.Done(), "one channel for the round")
		f.Release()
		require.True(t, locktest.IsClosed(done), "for ever")
		l.requireFree(t)
	}
}

func isReusable(t *testing.T, k Kind) {
	l, other, f := k.New(), k.New(), new(waiter.Future)
	l.Bind(f)
	last := f.Done()
	locktest.Receive(t, last)
	require.NoError(t, f.Take())
	l.GiveBack()
	for round := range 100 {
		if round%2 == 0 {
			l.Lock()
			l.Bind(f)
			if round%8 >= 4 {
				require.False(t, f.Poll(nil))
			}
			done := f.Done()
			require.False(t, done == last, "a channel for each round")
			require.False(t, locktest.IsClosed(done))
			require.ErrorIs(t, f.Err(), waiter.ErrPending, "the outcome of the round before")
			l.Unlock()
			if round%4 == 0 {
				locktest.Receive(t, done)
			}
			require.True(t, f.Poll(nil))
			last = done
		} else {
			l.Bind(f)
			requirePolled(t, f, nil)
			require.True(t, locktest.IsClosed(f.Done()))
		}
		if round%3 == 0 {
			require.NoError(t, f.Err())
			f.Release()
		} else {
			require.NoError(t, f.Take())
			l.GiveBack()
		}
		l.requireFree(t)
	}
	other.Bind(f)
	requirePolled(t, f, nil)
	l.requireFree(t)
	require.NoError(t, f.Take())
	other.GiveBack()
	other.requireFree(t)
}

func replacedWakersAreNotWoken(t *testing.T, k Kind) {
	l, f := k.New(), new(waiter.Future)
	var first, second locktest.CountingWaker
	l.Lock()
	l.Bind(f)
	require.False(t, f.Poll(&first))
	require.False(t, f.Poll(&second))
	l.Unlock()
	require.Zero(t, first.Load())
	require.EqualValues(t, 1, second.Load())
	f.Release()

	l.Lock()
	l.Bind(f)
	require.False(t, f.Poll(&first))
	require.False(t, f.Poll(nil), "there is no goroutine to wake")
	l.Unlock()
	require.Zero(t, first.Load())
	require.True(t, f.Poll(&first))
	f.Release()
	l.requireFree(t)
}

// A channel made by Done while the request waits is closed; and the poll before it is woken.
func doneAfterPoll(t *testing.T, k Kind) {
	l := k.New()
	l.Lock()
	f, w := l.bound(), new(locktest.CountingWaker)
	require.False(t, f.Poll(w))
	done := f.Done()
	l.Unlock()
	locktest.Receive(t, done)
	require.EqualValues(t, 1, w.Load())
	require.NoError(t, f.Err())
	f.Release()
	l.requireFree(t)
}

// A future that is kept for a next round does not keep the task alive that it woke in the last.
func forgetsItsWaker(t *testing.T, k Kind) {
	for name, end := range map[string]func(t *testing.T, f *waiter.Future){
		"Err":     func(t *testing.T, f *waiter.Future) { require.NoError(t, f.Err()) },
		"Release": func(_ *testing.T, f *waiter.Future) { f.Release() },
		"Take":    func(t *testing.T, f *waiter.Future) { require.NoError(t, f.Take()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := k.New()
			l.Lock()
			f := l.bound()
			gone := make(chan struct{})
			func() {
				w := new(struct {
					locktest.CountingWaker
					_ [64]byte // too large to share its place with others
				})
				runtime.AddCleanup(w, func(struct{}) { close(gone) }, struct{}{})
				require.False(t, f.Poll(w))
			}()
			l.Unlock()
			end(t, f)
			runtime.GC()
			locktest.Receive(t, gone)
			if name == "Take" {
				l.GiveBack()
			}
			f.Release()
			l.requireFree(t)
		})
	}
}

// One goroutine has two requests in one line, and drops the one that is not served first, or the
// one that is.
func oneOfTwoIsDropped(t *testing.T, k Kind) {
	if k.Shared {
		t.Skip("both are served")
	}
	for gone := range 2 {
		l := k.New()
		var f [2]waiter.Future
		for range 10 {
			l.Lock()
			done := [2]<-chan struct{}{}
			for i := range f {
				l.Bind(&f[i])
				done[i] = f[i].Done()
			}
			l.Unlock()
			require.True(t, locktest.IsClosed(done[0]))
			require.False(t, locktest.IsClosed(done[1]))
			f[gone].Release()
			locktest.Receive(t, done[1-gone])
			require.Equal(t, gone == 0, locktest.IsClosed(done[gone]))
			require.NoError(t, f[1-gone].Err())
			f[1-gone].Release()
			l.requireFree(t)
		}
	}
}

// Any goroutine may ask, while the owner uses the future.
func anyGoroutineMayAskWhetherItIsComplete(t *testing.T, k Kind) {
	l, f := k.New(), new(waiter.Future)
	l.Lock()
	l.Bind(f)
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
	l.Unlock()
	locktest.Receive(t, asked)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.True(t, f.Complete(), "looked at")
	f.Release()
	l.Bind(f)
	require.False(t, f.Complete(), "of the earlier request")
	f.Release()
	l.requireFree(t)

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
		l.Lock()
		l.Bind(f)
		f.Done()
		l.Unlock()
		require.True(t, f.Poll(nil))
		require.NoError(t, f.Take())
		l.GiveBack()
		l.Bind(f)
		requirePolled(t, f, nil)
		f.Release()
	}
	close(stop)
	<-stopped
	l.requireFree(t)
}

// againstUnlock makes a future wait for a lock, and runs meets during its unlock. Afterwards the
// future has the grant, or gets it.
func againstUnlock(
	t *testing.T,
	k Kind,
	w func() waiter.Waker,
	meets func(t *testing.T, l Lock, f *waiter.Future, first waiter.Waker),
) {
	t.Helper()
	locktest.AtEveryProcs(t, func(t *testing.T) {
		l, kept := k.New(), new(waiter.Future)
		for i := range locktest.Scaled(16000) {
			f := kept
			if i%2 == 0 {
				f = new(waiter.Future) // which has no channel yet
			}
			l.Lock()
			l.Bind(f)
			first := w()
			if i%4 < 2 {
				f.Done()
			}
			require.False(t, f.Poll(first))
			var wg sync.WaitGroup
			wg.Go(l.Unlock)
			for range rand.IntN(60) {
				_ = f.Complete() // some time
			}
			meets(t, l, f, first)
			if i%3 == 0 {
				require.NoError(t, f.Take())
				l.GiveBack()
			} else {
				require.NoError(t, f.Err())
				f.Release()
			}
			wg.Wait()
			l.requireFree(t)
		}
	})
}

func newWaker() waiter.Waker { return locktest.NewChannelWaker() }
func noWaker() waiter.Waker  { return nil }

// pollToTheEnd polls f until it is complete, with another waker each time.
func pollToTheEnd(t *testing.T, f *waiter.Future) {
	t.Helper()
	for {
		w := locktest.NewChannelWaker()
		if f.Poll(w) {
			return
		}
		if rand.IntN(2) == 0 {
			locktest.Receive(t, w) // hangs here if the wake-up went to an older waker
		} else {
			runtime.Gosched()
		}
	}
}

// Every poll brings a new waker. When the grant comes the last one is woken, or the poll itself
// sees it.
func repollWithAnotherWakerIsNeverLost(t *testing.T, k Kind) {
	againstUnlock(t, k, noWaker, func(t *testing.T, _ Lock, f *waiter.Future, _ waiter.Waker) { pollToTheEnd(t, f) })
}

// The first Done of a future that has been polled makes a channel. A grant that comes by at that
// moment cannot wake the poller, so Done has to.
func doneAfterPollWakesBoth(t *testing.T, k Kind) {
	againstUnlock(t, k, newWaker, func(t *testing.T, _ Lock, f *waiter.Future, first waiter.Waker) {
		done := f.Done()
		locktest.Receive(t, first.(locktest.ChannelWaker))
		locktest.Receive(t, done)
	})
}

// After a Release that met a grant the future can be bound at once.
func restartsAfterReleaseDuringGrant(t *testing.T, k Kind) {
	againstUnlock(t, k, noWaker, func(t *testing.T, l Lock, f *waiter.Future, _ waiter.Waker) {
		f.Release()
		l.Bind(f)
		if rand.IntN(2) == 0 {
			locktest.Receive(t, f.Done())
		} else {
			pollToTheEnd(t, f)
		}
	})
}
