package semtest

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var basics = []test{
	{"AcquireTakesAndReleaseReturns", acquireTakesAndReleaseReturns},
	{"TryNeverOvertakesAWaiter", tryNeverOvertakesAWaiter},
	{"DoneContextNeverAcquires", doneContextNeverAcquires},
	{"FreePermitsNeedNoChannelOfAContext", freePermitsNeedNoChannelOfAContext},
	{"OrderOfChecks", orderOfChecks},
	{"NothingNeverWaits", nothingNeverWaits},
	{"BadNumbersPanicAndLoseNothing", badNumbersPanicAndLoseNothing},
	{"ReleaseOfTheLargestNumberPanics", releaseOfTheLargestNumberPanics},
	{"OverReleasePanicsAndCorruptsNothing", overReleasePanicsAndCorruptsNothing},
	{"GrantsAreFIFO", grantsAreFIFO},
	{"OrderHoldsWhateverTheSizes", orderHoldsWhateverTheSizes},
	{"LargeRequestIsNotStarved", largeRequestIsNotStarved},
	{"AcquireTimeout", acquireTimeout},
	{"SizeZeroCanBeResized", sizeZeroCanBeResized},
	{"HugeSizesActAsTheLargest", hugeSizesActAsTheLargest},
	{"ManyHugeRequestsWait", manyHugeRequestsWait},
	{"ReleaseFromAnotherGoroutine", releaseFromAnotherGoroutine},
	{"PanicWhileHolding", panicWhileHolding},
	{"TheNextRunsAtOnce", theNextRunsAtOnce},
}

// Whom a release serves runs before it returns: a permit does not lie idle until the goroutine that
// has released it blocks.
func theNextRunsAtOnce(t *testing.T, k Kind) { RequireHandOff(t, k.New(1), 1) }

// RequireHandOff requires that n goroutines, each of which wants a permit, run before the release
// of all n permits of s returns.
func RequireHandOff(t *testing.T, s Semaphore, n int64) {
	t.Helper()
	acquire := func(n int64) { require.NoError(require.GoOn(t), s.Acquire(bg, n)) }
	locktest.RequireHandOff(t, s, int(n), func() { acquire(n) }, func() { s.Release(n) }, func(got func()) {
		acquire(1)
		got()
		s.Release(1)
	})
	RequireIdle(t, s)
}

func acquireTakesAndReleaseReturns(t *testing.T, k Kind) {
	s := k.New(5)
	require.NoError(t, s.Acquire(bg, 2))
	require.EqualValues(t, 3, s.Available())
	require.True(t, s.TryAcquire(3))
	require.EqualValues(t, 0, s.Available())
	require.False(t, s.TryAcquire(1))
	s.Release(4)
	require.EqualValues(t, 4, s.Available())
	s.Release(1)
	RequireIdle(t, s)
}

func tryNeverOvertakesAWaiter(t *testing.T, k Kind) {
	s := k.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	large := Queued(t, bg, s, 3)
	require.False(t, s.TryAcquire(1), "one permit is free, but it is the waiter's")
	require.False(t, s.TryAcquire(0) && s.TryAcquire(1))
	small := Queued(t, bg, s, 1)
	locktest.RequireBlocked(t, small)
	s.Release(2)
	require.NoError(t, locktest.Receive(t, large))
	locktest.RequireBlocked(t, small)
	s.Release(3)
	require.NoError(t, locktest.Receive(t, small))
	s.Release(1)
	RequireIdle(t, s)
	require.True(t, s.TryAcquire(3), "without waiters a try succeeds again")
	s.Release(3)
}

func doneContextNeverAcquires(t *testing.T, k Kind) {
	s := k.New(1)
	ctx := locktest.DoneContext()
	for range 100 { // a channel with select would acquire about every second time
		require.ErrorIs(t, s.Acquire(ctx, 1), context.Canceled)
		require.ErrorIs(t, s.Acquire(ctx, 0), context.Canceled)
	}
	RequireIdle(t, s)

	ctx, cancel := context.WithDeadline(bg, time.Now().Add(-time.Second))
	defer cancel()
	err := s.Acquire(ctx, 1)
	require.True(t, err == context.DeadlineExceeded, //nolint:errorlint // that is the point
		"the error is ctx.Err() itself, comparable with ==")
	RequireIdle(t, s)
}

func freePermitsNeedNoChannelOfAContext(t *testing.T, k Kind) {
	s := k.New(3)
	for n := range int64(3) {
		locktest.RequireNoChannel(t, func(ctx context.Context) error { return s.Acquire(ctx, n) })
	}
	s.Release(3)
	RequireIdle(t, s)
}

func orderOfChecks(t *testing.T, k Kind) {
	closed := k.New(1)
	closed.Close()
	done := locktest.DoneContext()

	RequirePanic(t, "acquire of a negative number of permits", func() { _ = closed.Acquire(done, -1) })
	RequirePanic(t, "nil context", func() { _ = closed.Acquire(nil, 9) }) //nolint:staticcheck // nil on purpose
	require.ErrorIs(t, closed.Acquire(done, 9), context.Canceled, "done before closed")
	require.ErrorIs(t, closed.Acquire(bg, 9), waiter.ErrClosed, "closed before too large")
	require.ErrorIs(t, closed.Acquire(bg, 0), waiter.ErrClosed, "closed before nothing")
	require.False(t, closed.TryAcquire(0))

	s := k.New(1)
	require.ErrorIs(t, s.Acquire(bg, 2), waiter.ErrTooLarge)
	require.NoError(t, s.Acquire(bg, 0))

	require.ErrorIs(t, s.AcquireTimeout(0, 9), context.DeadlineExceeded)
	require.ErrorIs(t, s.AcquireTimeout(0, 0), context.DeadlineExceeded)
	require.ErrorIs(t, closed.AcquireTimeout(time.Hour, 9), waiter.ErrClosed)
	require.ErrorIs(t, closed.AcquireTimeout(time.Hour, 0), waiter.ErrClosed)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 2), waiter.ErrTooLarge)
	require.NoError(t, s.AcquireTimeout(time.Hour, 0))
	require.NoError(t, s.AcquireTimeout(time.Hour, 1))
	s.Release(1)
	RequireIdle(t, s)
}

func nothingNeverWaits(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	waiting := Queued(t, bg, s, 1)
	require.NoError(t, s.Acquire(bg, 0))
	require.True(t, s.TryAcquire(0))
	require.NoError(t, s.AcquireTimeout(time.Second, 0))
	s.Release(0)
	locktest.RequireBlocked(t, waiting)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	RequireIdle(t, s)
}

func badNumbersPanicAndLoseNothing(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	for name, f := range map[string]func(){
		"acquire":      func() { _ = s.Acquire(bg, -1) },
		"acquire min":  func() { _ = s.Acquire(bg, math.MinInt64) },
		"try":          func() { s.TryAcquire(-1) },
		"timeout":      func() { _ = s.AcquireTimeout(time.Second, -1) },
		"timeout over": func() { _ = s.AcquireTimeout(0, -1) },
		"release":      func() { s.Release(-1) },
		"release min":  func() { s.Release(math.MinInt64) },
		"resize":       func() { s.Resize(-1) },
		"new":          func() { k.New(-1) },
		"two too many": func() { s.Release(2) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Panics(t, f)
			require.EqualValues(t, 1, s.Available())
			require.EqualValues(t, 2, s.Size())
		})
	}
	s.Release(1)
	RequireIdle(t, s)
}

// A number so large that a sum with it may wrap.
func releaseOfTheLargestNumberPanics(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1 << 61} {
		requireTooMuch(t, func() { s.Release(n) })
		require.EqualValues(t, 1, s.Available())
		require.EqualValues(t, 2, s.Size())
	}
	s.Release(1)
	RequireIdle(t, s)
}

// What an over-release does while others wait or acquire is up to the semaphore.
func overReleasePanicsAndCorruptsNothing(t *testing.T, k Kind) {
	s := k.New(2)
	requireTooMuch(t, func() { s.Release(1) })
	require.NoError(t, s.Acquire(bg, 2))
	requireTooMuch(t, func() { s.Release(3) })

	a, b := Queued(t, bg, s, 1), Queued(t, bg, s, 2)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	s.Release(2)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(2)
	requireTooMuch(t, func() { s.Release(1) })
	RequireIdle(t, s)
	require.NoError(t, s.Acquire(bg, 2), "the semaphore stays usable")
	s.Release(2)

	one := k.New(1)
	require.NoError(t, one.Acquire(bg, 1))
	w := Queued(t, bg, one, 1)
	one.Release(1)
	require.NoError(t, locktest.Receive(t, w))
	one.Release(1)
	requireTooMuch(t, func() { one.Release(1) })
	RequireIdle(t, one)

	// The same with a request in line, which it may have granted, or not.
	require.NoError(t, one.Acquire(bg, 1))
	w = Queued(t, bg, one, 1)
	requireTooMuch(t, func() { one.Release(3) })
	one.Release(1)
	require.NoError(t, locktest.Receive(t, w))
	one.Release(1)
	RequireIdle(t, one)
}

// Blocked goroutines, selects and polled tasks stand in one line, and a waiter that gives up in the
// middle changes nothing for the others.
func grantsAreFIFO(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := k.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		const n = 72
		kinds := 6
		if k.Bind != nil {
			kinds = 9
		}
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		gone, goAway := context.WithCancel(bg)
		var order, want []int // order is guarded by the semaphore
		var dropped []*waiter.Future
		var served, cancelled sync.WaitGroup
		for i := range n {
			acquire := func() error { return s.Acquire(bg, 1) }
			switch i % kinds {
			case 1:
				acquire = func() error { return s.Acquire(ctx, 1) }
			case 3:
				acquire = func() error { return s.AcquireTimeout(time.Hour, 1) }
			case 2, 4, 5: // one alone, and two that stand next to each other
				cancelled.Go(func() { require.ErrorIs(require.GoOn(t), s.Acquire(gone, 1), context.Canceled) })
				locktest.AwaitWaiting(t, s, i+1)
				continue
			case 6: // a goroutine in a select
				acquire = func() error {
					f := k.request(s, 1)
					select {
					case <-f.Done():
						return f.Take()
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			case 7: // a polled task
				acquire = func() error {
					f := k.request(s, 1)
					for w, woken := waking(); !f.Poll(w); {
						<-woken
					}
					return f.Take()
				}
			case 8:
				dropped = append(dropped, k.queuedFuture(t, s, 1))
				continue
			}
			want = append(want, i)
			served.Go(func() {
				if require.NoError(require.GoOn(t), acquire()) {
					order = append(order, i)
					s.Release(1)
				}
			})
			locktest.AwaitWaiting(t, s, i+1)
		}
		goAway()
		cancelled.Wait()
		for _, f := range dropped {
			f.Release()
		}
		require.EqualValues(t, len(want), s.Waiting())
		require.False(t, s.TryAcquire(1))
		s.Release(1)
		served.Wait()
		require.Equal(t, want, order)
		RequireIdle(t, s)
	})
}

// Permits that come back one by one go to the oldest request until it has all of its.
func orderHoldsWhateverTheSizes(t *testing.T, k Kind) {
	const size = 12
	sizes := []int64{2, 1, 3, 4, 2, 1, 3, 2}
	gone := map[int]bool{1: true, 3: true, 4: true, 7: true} // give up while they wait
	s := k.New(size)
	require.NoError(t, s.Acquire(bg, size))
	ctx, cancel := context.WithCancel(bg)
	var requests []<-chan error
	for i, n := range sizes {
		c := bg
		if gone[i] {
			c = ctx
		}
		requests = append(requests, Queued(t, c, s, n))
	}
	cancel()
	for i := range gone {
		require.ErrorIs(t, locktest.Receive(t, requests[i]), context.Canceled)
	}
	for i, n := range sizes {
		if gone[i] {
			continue
		}
		for range n - 1 {
			s.Release(1)
			locktest.RequireBlocked(t, requests[i])
		}
		s.Release(1)
		require.NoError(t, locktest.Receive(t, requests[i]))
		for j := i + 1; j < len(sizes); j++ {
			if !gone[j] {
				locktest.RequireBlocked(t, requests[j])
			}
		}
	}
	s.Release(size) // what came back was acquired again
	RequireIdle(t, s)
}

func largeRequestIsNotStarved(t *testing.T, k Kind) {
	s := k.New(4)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if require.NoError(require.GoOn(t), s.Acquire(bg, 1)) {
					runtime.Gosched()
					s.Release(1)
				}
			}
		})
	}
	for range 100 {
		ctx, cancel := context.WithTimeout(bg, 20*time.Second)
		require.NoError(t, s.Acquire(ctx, 4))
		require.EqualValues(t, 0, s.Available())
		s.Release(4)
		cancel()
	}
	close(stop)
	wg.Wait()
	RequireIdle(t, s)
}

func acquireTimeout(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.AcquireTimeout(time.Hour, 1))
	start := time.Now()
	err := s.AcquireTimeout(20*time.Millisecond, 1)
	require.True(t, err == context.DeadlineExceeded) //nolint:errorlint // that very error
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	require.Zero(t, s.Waiting(), "a waiter that gives up leaves the queue")
	for _, d := range []time.Duration{time.Hour, math.MaxInt64} {
		c := make(chan error, 1)
		go func() { c <- s.AcquireTimeout(d, 1) }()
		locktest.AwaitWaiting(t, s, 1)
		locktest.RequireBlocked(t, c)
		s.Release(1)
		require.NoError(t, locktest.Receive(t, c))
	}
	s.Release(1)
	RequireIdle(t, s)
}

func sizeZeroCanBeResized(t *testing.T, k Kind) { CheckSizeZero(t, k.New(0)) }

// CheckSizeZero checks what a semaphore of size 0 does, such as a zero value.
func CheckSizeZero(t *testing.T, s Semaphore) {
	t.Helper()
	require.False(t, s.TryAcquire(1))
	require.ErrorIs(t, s.Acquire(bg, 1), waiter.ErrTooLarge)
	s.Resize(2)
	require.NoError(t, s.Acquire(bg, 2))
	s.Release(2)
	RequireIdle(t, s)
}

func hugeSizesActAsTheLargest(t *testing.T, k Kind) {
	s := k.New(math.MaxInt64)
	largest := s.Size()
	require.NoError(t, s.Acquire(bg, largest))
	require.ErrorIs(t, s.Acquire(bg, largest+1), waiter.ErrTooLarge)
	require.ErrorIs(t, s.Acquire(bg, math.MaxInt64), waiter.ErrTooLarge)
	require.False(t, s.TryAcquire(math.MaxInt64))
	s.Resize(0)
	require.Panics(t, func() { s.Release(math.MaxInt64) })
	s.Resize(math.MaxInt64)
	require.EqualValues(t, 0, s.Available())
	s.Release(largest)
	RequireIdle(t, s)
	require.Equal(t, largest, s.Size())
}

// However many permits are waited for in all, no goroutine overtakes.
func manyHugeRequestsWait(t *testing.T, k Kind) {
	s := k.New(math.MaxInt64)
	all := s.Size()
	require.NoError(t, s.Acquire(bg, all))
	ctx, cancel := context.WithCancel(bg)
	var waiting []<-chan error
	for i := range 40 {
		c := make(chan error, 1)
		waiting = append(waiting, c)
		go func() { c <- s.Acquire(ctx, all) }()
		locktest.Eventually(t, "it waits, or has come too early", func() bool {
			return s.Waiting() == i+1 || len(c) > 0
		})
		locktest.RequireBlocked(t, c)
	}
	require.False(t, s.TryAcquire(1))
	s.Release(all)
	require.NoError(t, locktest.Receive(t, waiting[0]))
	cancel()
	for _, c := range waiting[1:] {
		require.ErrorIs(t, locktest.Receive(t, c), context.Canceled)
	}
	s.Release(all)
	RequireIdle(t, s)
}

func releaseFromAnotherGoroutine(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	go s.Release(1)
	require.NoError(t, s.Acquire(bg, 1))
	s.Release(1)
	RequireIdle(t, s)
}

// A panic while permits are held loses nothing if the release is deferred.
func panicWhileHolding(t *testing.T, k Kind) {
	s := k.New(1)
	require.Panics(t, func() {
		_ = s.Acquire(bg, 1)
		defer s.Release(1)
		panic("in the critical section")
	})
	RequireIdle(t, s)
}
