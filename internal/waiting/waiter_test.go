package waiting

import (
	"runtime"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
)

func TestOutcomesHaveErrors(t *testing.T) {
	require.NoError(t, Granted.Err())
	require.Equal(t, ErrPending, Pending.Err())
	require.Equal(t, ErrClosed, Closed.Err())
	require.Equal(t, ErrTooLarge, TooLarge.Err())
	require.Equal(t, ErrQueueFull, QueueFull.Err())
	require.Equal(t, ErrShed, Shed.Err())
	require.Equal(t, ErrWouldExpire, WouldExpire.Err())
}

// Every arrow of the state diagram, the ones in the middle of a claim by hand.
func TestEveryTransition(t *testing.T) {
	var w Waiter
	woken := 0
	waker := wakerFunc(func() { woken++ })

	// armed -> complete: the waker is called.
	w.Arm(waker)
	require.Equal(t, StatusWaiting, w.Status())
	require.True(t, w.Deliver(Granted))
	require.Equal(t, 1, woken)
	require.Equal(t, StatusComplete, w.Status())
	require.False(t, w.Abandon(), "complete: there is an outcome to deal with")
	require.Equal(t, StatusComplete, w.Rearm(waker))
	w.Reset()
	require.True(t, (w.Status() == StatusIdle))
	require.Nil(t, w.waker, "an idle node keeps no task alive")

	// registering -> complete: the owner sees it, the waker is not called.
	w.Arm(waker)
	require.True(t, w.state.CompareAndSwap(stateArmed, stateRegistering))
	require.True(t, w.Deliver(Closed))
	require.Equal(t, StatusComplete, w.endRegistering())
	require.Equal(t, Closed, w.Outcome())
	require.Equal(t, 1, woken)
	w.Reset()

	// claiming: a re-poll has to come back; an abandon is left to the claimer.
	w.Arm(waker)
	require.True(t, w.state.CompareAndSwap(stateArmed, stateClaiming))
	require.Equal(t, StatusBusy, w.Rearm(wakerFunc(func() { t.Error("never registered") })))
	require.Nil(t, w.Chan(), "no channel while a claimer is at work")
	require.True(t, w.Abandon())
	require.False(t, w.Abandon(), "twice")
	require.Equal(t, StatusBusy, w.Status())
	w.state.Store(stateIdle)

	// abandoned -> idle.
	w.Arm(waker)
	require.True(t, w.Abandon())
	require.Equal(t, StatusBusy, w.Status())
	require.False(t, w.Deliver(Granted))
	require.True(t, (w.Status() == StatusIdle))
	require.Equal(t, 1, woken)

	// idle: nothing to deliver to.
	require.Panics(t, func() { w.Deliver(Granted) })
}

func TestEachRoundHasItsChannel(t *testing.T) {
	var w Waiter
	require.Nil(t, w.Chan(), "an idle node has none")
	var last <-chan struct{}
	for range 3 {
		w.Arm(nil)
		ch := w.Chan()
		require.False(t, ch == last)
		require.False(t, locktest.IsClosed(ch))
		require.True(t, ch == w.Chan())
		require.Equal(t, StatusWaiting, w.Status())
		require.True(t, w.Deliver(Granted))
		for range 3 {
			require.True(t, locktest.IsClosed(ch))
		}
		require.True(t, ch == w.Chan())
		w.Reset()
		require.True(t, locktest.IsClosed(ch), "for ever")
		w.Finish(TooLarge)
		require.True(t, locktest.IsClosed(w.Chan()))
		w.Reset()
		last = ch
	}

	// A claimer finds the node abandoned. The channel stays open, and is no other round's.
	for _, end := range []func(){func() { w.Arm(nil) }, func() { w.Finish(Granted) }} {
		w.Arm(nil)
		ch := w.Chan()
		require.True(t, w.state.CompareAndSwap(stateArmed, stateClaiming))
		require.True(t, w.Abandon())
		w.state.Store(stateIdle) // the claimer's last step
		require.Nil(t, w.Chan())
		end()
		require.False(t, w.Chan() == ch)
		require.False(t, locktest.IsClosed(ch))
		w.Reset()
	}

	// Made when complete, and made while a claimer comes by.
	var u Waiter
	u.Finish(Granted)
	require.True(t, locktest.IsClosed(u.Chan()))

	var x Waiter
	x.Arm(nil)
	require.True(t, x.state.CompareAndSwap(stateArmed, stateRegistering))
	x.done = xsync.NewSignal(0)
	require.True(t, x.Deliver(Granted))
	require.Equal(t, StatusComplete, x.endRegistering())
	require.True(t, locktest.IsClosed(x.done.C()))
}

// A claimer against an owner who re-arms, asks for the channel, or abandons: exactly one of them
// deals with the outcome, and the last waker is woken or the owner sees the outcome itself.
func TestHandshakeUnderStress(t *testing.T) {
	rounds := 50000
	if testing.Short() {
		rounds = 5000
	}
	for _, procs := range []int{1, 2, 4, 16} {
		old := runtime.GOMAXPROCS(procs)
		claims, answers := make(chan *Waiter), make(chan bool)
		go func() {
			for w := range claims {
				answers <- w.Deliver(Granted)
			}
		}()
		var w Waiter
		for i := range rounds {
			woken := make(chan struct{}, 4)
			w.Arm(wakerFunc(func() {}))
			claims <- &w
			taken := false
			switch i % 3 {
			case 0:
				for w.Rearm(wakerFunc(func() { woken <- struct{}{} })) == StatusWaiting {
					<-woken // hangs if the wake-up was lost
				}
				taken = true
			case 1:
				if ch := w.Chan(); ch != nil {
					<-ch
				}
				taken = true
			case 2:
				taken = !w.Abandon()
			}
			for w.Status() == StatusBusy {
				runtime.Gosched()
			}
			require.Equal(t, taken, <-answers, "either the owner has the outcome or the claimer has it back")
			if taken {
				require.Equal(t, StatusComplete, w.Status())
				require.Equal(t, Granted, w.Outcome())
				w.Reset()
			}
			require.True(t, (w.Status() == StatusIdle))
		}
		close(claims)
		runtime.GOMAXPROCS(old)
	}
}

func TestWakersMayBeCalledFromAnywhere(t *testing.T) {
	var n int
	var mu sync.Mutex
	w := wakerFunc(func() { mu.Lock(); n++; mu.Unlock() })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(w.Wake)
	}
	wg.Wait()
	require.Equal(t, 4, n)
}

// owner is a waker that records the wakers that displace it.
type owner struct{ displaced []Waker }

func (*owner) Wake()               {}
func (o *owner) Displaced(w Waker) { o.displaced = append(o.displaced, w) }

func TestOwnerHearsWhoTakesItsPlace(t *testing.T) {
	var w Waiter
	first, second := new(owner), new(owner)
	w.Arm(first)
	require.Equal(t, StatusWaiting, w.Rearm(second))
	require.Equal(t, []Waker{second}, first.displaced)
	require.Equal(t, StatusWaiting, w.Rearm(nil))
	require.Equal(t, []Waker{nil}, second.displaced)
	require.Equal(t, StatusWaiting, w.Rearm(first), "no claimer was there")
	require.Len(t, first.displaced, 1)
}

func TestNodeKnowsWhetherAGoroutineSleepsBehindIt(t *testing.T) {
	require.True(t, newParker(parks).OfGoroutine())
	var w Waiter
	w.Arm(nil)
	require.False(t, w.OfGoroutine())
	w.Chan()
	require.False(t, w.OfGoroutine(), "a select is a future's")
}
