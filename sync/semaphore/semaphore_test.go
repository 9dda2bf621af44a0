package semaphore_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

// doneContext returns a context that has ended.
func doneContext() context.Context {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	return ctx
}

func TestAcquireTakesAndReleaseReturns(t *testing.T) {
	s := semaphore.New(5)
	require.NoError(t, s.Acquire(bg, 2))
	require.EqualValues(t, 3, s.Available())
	require.True(t, s.TryAcquire(3))
	require.EqualValues(t, 0, s.Available())
	require.False(t, s.TryAcquire(1))
	s.Release(4)
	require.EqualValues(t, 4, s.Available())
	s.Release(1)
	requireIdle(t, s)
}

func TestTryNeverOvertakesAWaiter(t *testing.T) {
	s := semaphore.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	large := queued(t, bg, s, 3)
	require.EqualValues(t, 1, s.Available(), "the large request must not take less than it asked for")
	require.False(t, s.TryAcquire(1), "one permit is free, but it is the waiter's")
	require.False(t, s.TryAcquire(0) && s.TryAcquire(1))
	small := queued(t, bg, s, 1)
	locktest.RequireBlocked(t, small)
	s.Release(2)
	require.NoError(t, locktest.Receive(t, large))
	locktest.RequireBlocked(t, small)
	s.Release(3)
	require.NoError(t, locktest.Receive(t, small))
	s.Release(1)
	requireIdle(t, s)
	require.True(t, s.TryAcquire(3), "with nobody waiting a try succeeds again")
	s.Release(3)
}

func TestDoneContextNeverAcquires(t *testing.T) {
	s := semaphore.New(1)
	ctx := doneContext()
	for range 100 { // a channel with select would acquire about every second time
		require.ErrorIs(t, s.Acquire(ctx, 1), context.Canceled)
		require.ErrorIs(t, s.Acquire(ctx, 0), context.Canceled)
	}
	requireIdle(t, s)

	ctx, cancel := context.WithDeadline(bg, time.Now().Add(-time.Second))
	defer cancel()
	err := s.Acquire(ctx, 1)
	require.True(t, err == context.DeadlineExceeded, "the error is ctx.Err() itself, comparable with ==") //nolint:errorlint // that is the point
	requireIdle(t, s)
}

func TestOrderOfChecks(t *testing.T) {
	closed := semaphore.New(1)
	closed.Close()
	done := doneContext()

	require.PanicsWithValue(t, "semaphore: acquire of a negative number of permits", func() { _ = closed.Acquire(done, -1) })
	require.PanicsWithValue(t, "semaphore: nil context", func() { _ = closed.Acquire(nil, 9) }) //nolint:staticcheck // nil on purpose
	require.ErrorIs(t, closed.Acquire(done, 9), context.Canceled, "done before closed")
	require.ErrorIs(t, closed.Acquire(bg, 9), semaphore.ErrClosed, "closed before too large")
	require.ErrorIs(t, closed.Acquire(bg, 0), semaphore.ErrClosed, "closed before nothing")
	require.False(t, closed.TryAcquire(0))

	s := semaphore.New(1)
	require.ErrorIs(t, s.Acquire(bg, 2), semaphore.ErrTooLarge)
	require.NoError(t, s.Acquire(bg, 0))

	require.ErrorIs(t, s.AcquireTimeout(0, 9), context.DeadlineExceeded)
	require.ErrorIs(t, closed.AcquireTimeout(time.Hour, 9), semaphore.ErrClosed)
	require.ErrorIs(t, closed.AcquireTimeout(time.Hour, 0), semaphore.ErrClosed)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 2), semaphore.ErrTooLarge)
	require.NoError(t, s.AcquireTimeout(time.Hour, 0))
	require.NoError(t, s.AcquireTimeout(time.Hour, 1))
	s.Release(1)
	requireIdle(t, s)
}

func TestNothingNeverWaits(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	waiting := queued(t, bg, s, 1)
	require.NoError(t, s.Acquire(bg, 0))
	require.True(t, s.TryAcquire(0))
	require.NoError(t, s.AcquireTimeout(time.Second, 0))
	s.Release(0)
	locktest.RequireBlocked(t, waiting)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waiting))
	s.Release(1)
	requireIdle(t, s)
}

func TestBadNumbersPanicAndLoseNothing(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	for name, f := range map[string]func(){
		"acquire":         func() { _ = s.Acquire(bg, -1) },
		"acquire min":     func() { _ = s.Acquire(bg, math.MinInt64) },
		"try":             func() { s.TryAcquire(-1) },
		"timeout":         func() { _ = s.AcquireTimeout(time.Second, -1) },
		"timeout over":    func() { _ = s.AcquireTimeout(0, -1) },
		"release":         func() { s.Release(-1) },
		"release min":     func() { s.Release(math.MinInt64) },
		"resize":          func() { s.Resize(-1) },
		"new":             func() { semaphore.New(-1) },
		"no waiting":      func() { semaphore.WithMaxWaiting(0) },
		"future":          func() { new(semaphore.AcquireFuture).Init(s, -1) },
		"future of nil":   func() { new(semaphore.AcquireFuture).Init(nil, 1) },
		"poll, no init":   func() { new(semaphore.AcquireFuture).Poll(nil) },
		"done, no init":   func() { new(semaphore.AcquireFuture).Done() },
		"err, no init":    func() { _ = new(semaphore.AcquireFuture).Err() },
		"negative permit": func() { _, _ = s.AcquirePermit(bg, -1) },
		"two too many":    func() { s.Release(2) },
		"far too many":    func() { s.Release(math.MaxInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Panics(t, f)
			require.EqualValues(t, 1, s.Available())
			require.EqualValues(t, 2, s.Size())
		})
	}
	new(semaphore.AcquireFuture).Cancel() // nothing to cancel
	s.Release(1)
	requireIdle(t, s)
}

func TestOverReleasePanicsAndCorruptsNothing(t *testing.T) {
	const msg = "semaphore: released more than held"
	s := semaphore.New(2)
	require.PanicsWithValue(t, msg, func() { s.Release(1) })
	require.NoError(t, s.Acquire(bg, 2))
	require.PanicsWithValue(t, msg, func() { s.Release(3) })

	// A waiter in the slot and one in the list hide nothing.
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 2)
	require.PanicsWithValue(t, msg, func() { s.Release(3) })
	locktest.RequireBlocked(t, a)
	locktest.RequireBlocked(t, b)

	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	s.Release(2)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(2)
	require.PanicsWithValue(t, msg, func() { s.Release(1) })
	requireIdle(t, s)
	require.NoError(t, s.Acquire(bg, 2), "the semaphore stays usable")
	s.Release(2)

	// Nothing is held, and somebody waits all the same: for a semaphore without permits.
	empty := semaphore.New(1)
	require.NoError(t, empty.Acquire(bg, 1))
	w := queued(t, bg, empty, 1)
	empty.Release(1)
	require.NoError(t, locktest.Receive(t, w))
	empty.Release(1)
	require.PanicsWithValue(t, msg, func() { empty.Release(1) })
	requireIdle(t, empty)
}

func TestGrantsAreFIFO(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := semaphore.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		const n = 50
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		var order []int // guarded by the semaphore
		var wg sync.WaitGroup
		var futures [n]semaphore.AcquireFuture
		for i := range n {
			wg.Add(1)
			switch i % 4 {
			case 0, 1: // a blocked goroutine, with and without a context to watch
				c := bg
				if i%4 == 1 {
					c = ctx
				}
				go func() {
					defer wg.Done()
					if assert.NoError(t, s.Acquire(c, 1)) {
						order = append(order, i)
						s.Release(1)
					}
				}()
			case 2: // a goroutine in a select
				done := futures[i].Done
				futures[i].Init(s, 1)
				go func() {
					defer wg.Done()
					select {
					case <-done():
					case <-ctx.Done():
					}
					if assert.NoError(t, futures[i].Err()) {
						order = append(order, i)
						s.Release(1)
					}
				}()
			case 3: // a polled task
				futures[i].Init(s, 1)
				var poll wakerFunc
				poll = func() {
					go func() {
						if futures[i].Poll(poll) && futures[i].Err() == nil {
							order = append(order, i)
							s.Release(1)
							wg.Done()
						}
					}()
				}
				require.False(t, futures[i].Poll(poll))
			}
			locktest.AwaitWaiting(t, s, int64(i+1))
		}
		s.Release(1)
		wg.Wait()
		require.Len(t, order, n)
		for i := range order {
			require.Equal(t, i, order[i], "order of grants: %v", order)
		}
		requireIdle(t, s)
	})
}

type wakerFunc func()

func (f wakerFunc) Wake() { f() }

func TestLargeRequestIsNotStarved(t *testing.T) {
	s := semaphore.New(4)
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
				if assert.NoError(t, s.Acquire(bg, 1)) {
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
	requireIdle(t, s)
}

func TestAcquireTimeout(t *testing.T) {
	s := semaphore.New(1)
	require.NoError(t, s.AcquireTimeout(time.Hour, 1))
	start := time.Now()
	err := s.AcquireTimeout(20*time.Millisecond, 1)
	require.True(t, err == context.DeadlineExceeded) //nolint:errorlint // that very error
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	require.Zero(t, s.Waiting(), "whoever gives up leaves the queue")
	c := make(chan error, 1)
	go func() { c <- s.AcquireTimeout(time.Hour, 1) }()
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
	requireIdle(t, s)
}

func TestZeroSemaphoreCanBeResized(t *testing.T) {
	var s semaphore.Semaphore
	require.False(t, s.TryAcquire(1))
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrTooLarge)
	s.Resize(2)
	require.NoError(t, s.Acquire(bg, 2))
	s.Release(2)
	requireIdle(t, &s)
}

func TestHugeSizesActAsMaxPermits(t *testing.T) {
	s := semaphore.New(math.MaxInt64)
	require.Equal(t, semaphore.MaxPermits, s.Size())
	require.NoError(t, s.Acquire(bg, semaphore.MaxPermits))
	require.ErrorIs(t, s.Acquire(bg, semaphore.MaxPermits+1), semaphore.ErrTooLarge)
	require.ErrorIs(t, s.Acquire(bg, math.MaxInt64), semaphore.ErrTooLarge)
	require.False(t, s.TryAcquire(math.MaxInt64))
	s.Resize(0)
	require.Equal(t, -semaphore.MaxPermits, s.Available())
	require.Panics(t, func() { s.Release(math.MaxInt64) })
	s.Resize(math.MaxInt64)
	require.EqualValues(t, 0, s.Available())
	s.Release(semaphore.MaxPermits)
	requireIdle(t, s)
}

func TestMaxWaitingShedsLoad(t *testing.T) {
	s := semaphore.New(1, semaphore.WithMaxWaiting(2))
	require.NoError(t, s.Acquire(bg, 1))
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 1)
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrQueueFull)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 1), semaphore.ErrQueueFull)
	var f semaphore.AcquireFuture
	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrQueueFull)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	c := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
	requireIdle(t, s)
}

func TestReleaseFromAnotherGoroutine(t *testing.T) {
	s := semaphore.NewWeighted(1)
	require.NoError(t, s.Acquire(bg, 1))
	go s.Release(1)
	require.NoError(t, s.Acquire(bg, 1))
	s.Release(1)
	requireIdle(t, s)
}

// A panic while permits are held loses nothing if the release is deferred.
func TestPanicWhileHolding(t *testing.T) {
	s := semaphore.New(1)
	require.Panics(t, func() {
		_ = s.Acquire(bg, 1)
		defer s.Release(1)
		panic("in the critical section")
	})
	requireIdle(t, s)
}
