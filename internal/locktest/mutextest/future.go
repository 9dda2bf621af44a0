package mutextest

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

var futures = []test{
	{"FuturePolls", futurePolls},
	{"FutureNeedsAMutex", futureNeedsAMutex},
	{"FutureInUseCannotBeInitialised", futureInUseCannotBeInitialised},
	{"FutureCancelGivesBackWhatWasNotTaken", futureCancelGivesBackWhatWasNotTaken},
	{"FutureUnlockGivesBackWhateverItHas", futureUnlockGivesBackWhateverItHas},
	{"FutureUnlockNeedsNoErr", futureUnlockNeedsNoErr},
	{"FutureUnlockedPastItsBackIsNamed", futureUnlockedPastItsBackIsNamed},
	{"DoneStaysReadable", doneStaysReadable},
	{"FutureIsReusable", futureIsReusable},
	{"ReplacedWakersAreNotWoken", replacedWakersAreNotWoken},
	{"RepollWithAnotherWakerIsNeverLost", repollWithAnotherWakerIsNeverLost},
	{"DoneAfterPollWakesBoth", doneAfterPollWakesBoth},
	{"FutureRestartsAfterCancelDuringUnlock", futureRestartsAfterCancelDuringUnlock},
	{"AnyGoroutineMayAskWhetherAFutureIsComplete", anyGoroutineMayAskWhetherAFutureIsComplete},
}

func futurePolls(t *testing.T, k kind) {
	m, f, g := k.mutex(), k.future(), k.future()
	var w locktest.CountingWaker
	f.Init(m)
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.True(t, m.TryLock(), "the request has started before the first poll")
	m.Unlock()
	require.True(t, f.Poll(&w), "a free lock is taken at once")
	require.False(t, m.TryLock())
	require.NoError(t, f.Err())
	require.True(t, f.Poll(&w), "and stays taken")
	g.Init(m)
	require.False(t, g.Poll(&w))
	require.Equal(t, 1, m.Waiting())
	require.ErrorIs(t, g.Err(), waiter.ErrPending)
	require.Zero(t, w.Load())
	f.Cancel() // it has been taken: the lock is ours to unlock
	require.False(t, g.Poll(&w))
	m.Unlock()
	require.EqualValues(t, 1, w.Load())
	require.False(t, m.TryLock(), "it is g's, which has not noticed yet")
	require.True(t, g.Poll(&w))
	require.NoError(t, g.Err())
	m.Unlock()
	RequireFree(t, m)
}

func futureNeedsAMutex(t *testing.T, k kind) {
	for name, call := range map[string]func(f Future[Small]){
		"poll": func(f Future[Small]) { f.Poll(nil) },
		"done": func(f Future[Small]) { f.Done() },
		"err":  func(f Future[Small]) { _ = f.Err() },
	} {
		t.Run(name, func(t *testing.T) { semtest.RequirePanic(t, "future without Init", func() { call(k.future()) }) })
	}
	m, f := k.mutex(), k.future()
	semtest.RequirePanic(t, "future of a nil mutex", func() { f.Init(nil) })
	require.False(t, f.Complete())
	f.Cancel() // nothing to cancel
	f.Init(m)  // which is not too late
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	m.Unlock()
	RequireFree(t, m)
}

func futureInUseCannotBeInitialised(t *testing.T, k kind) {
	m, other, f := k.mutex(), k.mutex(), k.future()
	refused := func(why string) {
		t.Helper()
		for _, of := range []Small{m, other} {
			semtest.RequirePanic(t, "Init of a future whose request has not ended", func() { f.Init(of) })
		}
		require.False(t, m.TryLock(), why)
		RequireFree(t, other)
	}
	m.Lock()
	f.Init(m)
	f.Init(m) // nothing has been started
	require.False(t, f.Poll(nil))
	refused("it waits")
	require.Equal(t, 1, m.Waiting(), "the panic has changed something")
	m.Unlock()
	require.True(t, f.Complete())
	refused("it holds the lock")
	require.True(t, f.Poll(nil))
	refused("a poll takes nothing over")
	require.NoError(t, f.Err())
	f.Init(other)
	require.False(t, m.TryLock(), "what was taken over is the owner's")
	m.Unlock()
	require.True(t, f.Poll(nil))
	f.Cancel()
	f.Init(m)
	RequireFree(t, m)
	RequireFree(t, other)
}

func futureCancelGivesBackWhatWasNotTaken(t *testing.T, k kind) {
	m, f := k.mutex(), k.future()
	f.Init(m)
	f.Cancel() // not started
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.True(t, f.Poll(nil), "a cancelled future starts again")
	require.True(t, f.Poll(nil))
	f.Cancel() // a poll has seen it complete, but Err takes over, not Poll
	RequireFree(t, m)

	for name, start := range map[string]func(){
		"poll": func() { f.Poll(nil) },
		"done": func() { f.Done() },
	} {
		t.Run(name, func(t *testing.T) {
			waits := func() <-chan error {
				m.Lock()
				f.Init(m)
				start()
				return queued(t, bg, m, lockContext)
			}
			passes := func(behind <-chan error) {
				require.NoError(t, locktest.Receive(t, behind))
				m.Unlock()
				require.ErrorIs(t, f.Err(), waiter.ErrPending)
				f.Cancel()
				f.Cancel()
				RequireFree(t, m)
			}

			behind := waits()
			f.Cancel()
			locktest.AwaitWaiting(t, m, 1)
			locktest.RequireBlocked(t, behind)
			m.Unlock()
			passes(behind)

			behind = waits()
			m.Unlock() // granted to f, which has not noticed
			locktest.RequireBlocked(t, behind)
			f.Cancel()
			passes(behind)

			behind = waits()
			m.Unlock()
			require.NoError(t, f.Err())
			f.Cancel() // it has been taken: it is ours to unlock
			locktest.RequireBlocked(t, behind)
			m.Unlock()
			passes(behind)
		})
	}
}

// In every state: before the request is started, while it waits, when it is granted, and when it
// was taken.
func futureUnlockGivesBackWhateverItHas(t *testing.T, k kind) {
	m, f := k.mutex(), k.future()
	twice := func() {
		t.Helper()
		f.Unlock()
		f.Unlock()
		f.Cancel()
		f.Unlock()
		RequireFree(t, m)
	}
	f.Unlock() // not even initialised
	f.Init(m)
	twice()
	require.ErrorIs(t, f.Err(), waiter.ErrPending)
	require.True(t, f.Poll(nil))
	twice()
	require.True(t, f.Poll(nil), "an unlocked future starts again")
	require.NoError(t, f.Err())
	twice()
	locktest.Receive(t, f.Done())
	require.NoError(t, f.Err())
	f.Cancel() // which leaves the lock with its owner
	f.Unlock()
	m.Unlock()
	twice()

	for _, taken := range []bool{false, true} { // granted by an unlock, with another behind it
		m.Lock()
		f.Init(m)
		require.False(t, f.Poll(nil))
		behind := queued(t, bg, m, lockContext)
		m.Unlock()
		if taken {
			require.NoError(t, f.Err())
		}
		locktest.RequireBlocked(t, behind)
		f.Unlock()
		require.NoError(t, locktest.Receive(t, behind))
		m.Unlock()
		twice()
	}

	m.Lock() // while it waits
	f.Init(m)
	require.False(t, f.Poll(nil))
	f.Unlock()
	require.Zero(t, m.Waiting())
	m.Unlock()
	twice()
}

// A caller that has seen Done, and has not called Err, unlocks the future. A second Unlock does
// nothing: the lock is another's by then.
func futureUnlockNeedsNoErr(t *testing.T, k kind) {
	m := k.mutex()
	m.Lock()
	func() {
		f := k.future()
		f.Init(m)
		defer f.Unlock()
		done := f.Done()
		m.Unlock()
		locktest.Receive(t, done)
		require.False(t, m.TryLock())
		f.Unlock()
		require.True(t, m.TryLock(), "another")
		f.Cancel()
	}()
	require.False(t, m.TryLock(), "a third gets in")
	m.Unlock()
	RequireFree(t, m)
}

// A caller that unlocks the mutex of a future, before Err or besides the future's Unlock, is told
// so if no other goroutine has locked it by then.
func futureUnlockedPastItsBackIsNamed(t *testing.T, k kind) {
	for _, way := range []struct {
		name string
		end  func(f Future[Small])
	}{
		{"LockFuture.Cancel", func(f Future[Small]) { f.Cancel() }},
		{"LockFuture.Unlock", func(f Future[Small]) { f.Unlock() }},
		{"LockFuture.Unlock", func(f Future[Small]) { _ = f.Err(); f.Unlock() }},
	} {
		m, f := k.mutex(), k.future()
		f.Init(m)
		require.True(t, f.Poll(nil))
		m.Unlock()
		text := locktest.PanicOf(func() { way.end(f) })
		require.Contains(t, text, way.name)
		require.Contains(t, text, "the mutex's own Unlock")
		f.Unlock() // it has nothing any more
		RequireFree(t, m)
	}
}

// The channel of a round is closed, so any number of receives return.
func doneStaysReadable(t *testing.T, k kind) {
	m, f := k.mutex(), k.future()
	for range 2 {
		m.Lock()
		f.Init(m)
		done := f.Done()
		require.False(t, locktest.IsClosed(done))
		require.True(t, done == f.Done(), "one channel for the round") //nolint:testifylint // channels
		m.Unlock()
		for range 3 {
			locktest.Receive(t, done)
			locktest.Receive(t, f.Done())
		}
		require.NoError(t, f.Err())
		locktest.Receive(t, done)
		locktest.Receive(t, f.Done())
		f.Unlock()
		require.True(t, locktest.IsClosed(done), "for ever")
		RequireFree(t, m)
	}
}

func futureIsReusable(t *testing.T, k kind) {
	m, other, f := k.mutex(), k.mutex(), k.future()
	f.Init(m)
	last := f.Done()
	require.NoError(t, f.Err())
	m.Unlock()
	for round := range 100 {
		f.Init(m) // the last request was taken
		if round%2 == 0 {
			m.Lock()
			if round%8 >= 4 {
				require.False(t, f.Poll(nil))
			}
			done := f.Done()
			require.False(t, done == last, "a channel for each round") //nolint:testifylint // channels
			require.False(t, locktest.IsClosed(done))
			require.ErrorIs(t, f.Err(), waiter.ErrPending, "the outcome of the round before")
			m.Unlock()
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
		m.Unlock()
		RequireFree(t, m)
	}
	f.Init(other)
	require.True(t, f.Poll(nil))
	RequireFree(t, m)
	require.NoError(t, f.Err())
	other.Unlock()
	RequireFree(t, other)
}

func replacedWakersAreNotWoken(t *testing.T, k kind) {
	m, f := k.mutex(), k.future()
	var first, second locktest.CountingWaker
	m.Lock()
	f.Init(m)
	require.False(t, f.Poll(&first))
	require.False(t, f.Poll(&second))
	m.Unlock()
	require.Zero(t, first.Load())
	require.EqualValues(t, 1, second.Load())
	f.Cancel()

	m.Lock()
	require.False(t, f.Poll(&first))
	require.False(t, f.Poll(nil), "no goroutine is to be woken")
	m.Unlock()
	require.Zero(t, first.Load())
	require.True(t, f.Poll(&first))
	f.Cancel()
	RequireFree(t, m)
}

// againstUnlock has a future wait for m, which is then unlocked while others do what meets does.
func againstUnlock(
	t *testing.T,
	k kind,
	w func() waiter.Waker,
	meets func(t *testing.T, f Future[Small], first waiter.Waker),
) {
	t.Helper()
	locktest.AtEveryProcs(t, func(t *testing.T) {
		m, kept := k.mutex(), k.future()
		for i := range locktest.Scaled(16000) {
			f := kept
			if i%2 == 0 {
				f = k.future() // which has no channel yet
			}
			m.Lock()
			f.Init(m)
			first := w()
			require.False(t, f.Poll(first))
			var wg sync.WaitGroup
			wg.Go(m.Unlock)
			for range rand.IntN(60) {
				_ = f.Complete() // some time
			}
			meets(t, f, first)
			require.NoError(t, f.Err())
			m.Unlock()
			wg.Wait()
			RequireFree(t, m)
		}
	})
}

func newWaker() waiter.Waker { return locktest.NewChannelWaker() }
func noWaker() waiter.Waker  { return nil }

// pollToTheEnd polls f until it is complete, with another waker each time.
func pollToTheEnd(t *testing.T, f Future[Small]) {
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

// Every poll brings a new waker. When the lock comes the last one is woken, or the poll itself sees
// it.
func repollWithAnotherWakerIsNeverLost(t *testing.T, k kind) {
	againstUnlock(t, k, noWaker, func(t *testing.T, f Future[Small], _ waiter.Waker) { pollToTheEnd(t, f) })
}

// The first Done of a future that has been polled makes a channel. An unlock that comes by at that
// moment cannot wake the poller, so Done has to.
func doneAfterPollWakesBoth(t *testing.T, k kind) {
	againstUnlock(t, k, newWaker, func(t *testing.T, f Future[Small], first waiter.Waker) {
		done := f.Done()
		locktest.Receive(t, first.(locktest.ChannelWaker))
		locktest.Receive(t, done)
	})
}

// After a Cancel that met an unlock the future can be used at once, by Poll and by Done.
func futureRestartsAfterCancelDuringUnlock(t *testing.T, k kind) {
	againstUnlock(t, k, noWaker, func(t *testing.T, f Future[Small], _ waiter.Waker) {
		f.Cancel()
		if rand.IntN(2) == 0 {
			locktest.Receive(t, f.Done())
		} else {
			pollToTheEnd(t, f)
		}
	})
}

// Any goroutine may ask, while the owner uses the future.
func anyGoroutineMayAskWhetherAFutureIsComplete(t *testing.T, k kind) {
	m, f := k.mutex(), k.future()
	m.Lock()
	require.False(t, f.Complete(), "not even initialised")
	f.Init(m)
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
	m.Unlock()
	locktest.Receive(t, asked)
	require.True(t, f.Poll(nil))
	require.True(t, f.Complete())
	f.Cancel()
	require.False(t, f.Complete(), "cancelled")
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.True(t, f.Complete(), "taken")
	m.Unlock()
	f.Init(m)
	require.False(t, f.Complete(), "of the earlier request")
	f.Cancel()
	require.False(t, f.Complete(), "of the earlier request")
	RequireFree(t, m)
}
