package rt_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/waiter"
)

func TestSleepTakesAtLeastItsTime(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var hs []*rt.JoinHandle[struct{}]
		for range 50 {
			d := time.Duration(rand.IntN(5000)) * time.Microsecond
			hs = append(hs, spawned(ex, func(cx *rt.Context) error {
				begin := time.Now()
				err := rt.Sleep(cx, d)
				assert.GreaterOrEqual(t, time.Since(begin), d)
				return err
			}))
		}
		for _, h := range hs {
			_, err := wait(t, h)
			require.NoError(t, err)
		}
	})
}

func TestSleepThatIsNotPositiveDoesNotWait(t *testing.T) {
	ex := solo(t)
	require.NoError(t, run(t, ex, func(cx *rt.Context) error {
		for _, d := range []time.Duration{0, -1, math.MinInt64} {
			if err := rt.Sleep(cx, d); err != nil {
				return err
			}
		}
		return nil
	}))
	var timer rt.Timer
	require.ErrorIs(t, timer.Err(), waiter.ErrPending)
	require.True(t, timer.Poll(nil), "the zero Timer")
	require.NoError(t, timer.Err())
	timer.Init(-time.Hour)
	require.NoError(t, rt.BlockOn(bg, &timer))
}

// A huge duration neither fires nor keeps others from firing.
func TestHugeDurationsNeverPass(t *testing.T) {
	ex := solo(t)
	var hs []*rt.JoinHandle[struct{}]
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2} {
		hs = append(hs, spawned(ex, func(cx *rt.Context) error { return rt.Sleep(cx, d) }))
	}
	locktest.Eventually(t, "all sleep", func() bool { return ex.Stats().Sleepers == 3 })
	require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Millisecond) }))
	var timer rt.Timer
	timer.Init(math.MaxInt64)
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, rt.BlockOn(ctx, &timer), context.DeadlineExceeded)
	for _, h := range hs {
		require.ErrorIs(t, h.Err(), waiter.ErrPending)
		h.Abort()
		_, err := wait(t, h)
		require.ErrorIs(t, err, rt.ErrCancelled)
	}
	require.Zero(t, ex.Stats().Sleepers)
}

func TestTimerMayBeUsedAgain(t *testing.T) {
	ex := solo(t)
	var timer rt.Timer
	for name, wait := range map[string]func(f rt.Future) error{
		"task":      func(f rt.Future) error { return run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, f) }) },
		"goroutine": func(f rt.Future) error { return rt.BlockOn(bg, f) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				timer.Init(100 * time.Microsecond)
				require.ErrorIs(t, timer.Err(), waiter.ErrPending)
				require.NoError(t, wait(&timer))
				require.NoError(t, timer.Err())
				require.True(t, timer.Poll(nil))

				timer.Release()
				require.ErrorIs(t, timer.Err(), waiter.ErrPending)
				begin := time.Now()
				require.NoError(t, wait(&timer), "cancelled, it starts again")
				require.GreaterOrEqual(t, time.Since(begin), 100*time.Microsecond)
			}
		})
	}
}

func TestInitOfARunningTimerPanics(t *testing.T) {
	var timer rt.Timer
	timer.Init(time.Hour)
	require.False(t, timer.Poll(nil))
	require.Panics(t, func() { timer.Init(time.Hour) })
	timer.Release()
	timer.Release()
	timer.Init(time.Hour)
	require.False(t, timer.Poll(nil))
	timer.Release()
}

// Cancel races with the firing. Afterwards the timer is as new, and is waited for again at once.
func TestTimerMayBeCancelledAtAnyTime(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		var hs []*rt.JoinHandle[struct{}]
		for range 8 {
			hs = append(hs, spawned(ex, func(cx *rt.Context) error {
				var timer, other rt.Timer
				for range locktest.Scaled(200) {
					timer.Init(time.Duration(rand.IntN(100)) * time.Microsecond)
					other.Init(time.Duration(rand.IntN(100)) * time.Microsecond)
					if _, err := rt.Select(cx, &other, &timer); err != nil {
						return err
					}
					timer.Release()
					if err := rt.Await(cx, &timer); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			var timer rt.Timer
			var w locktest.CountingWaker
			for i := range locktest.Scaled(400) {
				timer.Init(10 * time.Microsecond)
				timer.Poll(&w)
				for range i % 50 {
					runtime.Gosched()
				}
				timer.Release()
				if err := rt.BlockOn(bg, &timer); err != nil {
					t.Error(err)
				}
			}
		})
		for _, h := range hs {
			_, err := wait(t, h)
			require.NoError(t, err)
		}
		wg.Wait()
		require.Zero(t, ex.Stats().Sleepers)
	})
}

// sleeper is a poll task that sleeps once.
type sleeper struct {
	rt.Task
	timer rt.Timer
	done  *atomic.Int64
}

func (s *sleeper) Poll(cx *rt.Context) bool {
	if !cx.Poll(&s.timer) {
		return false
	}
	s.done.Add(1)
	return true
}

// Tasks that sleep cost no goroutine each.
func TestManyTasksSleepOnFewGoroutines(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n /= 10
	}
	ex := rt.New(rt.WithWorkers(2))
	before := runtime.NumGoroutine()
	sleepers := make([]sleeper, n)
	var done atomic.Int64
	begin := time.Now()
	for i := range sleepers {
		sleepers[i].done = &done
		sleepers[i].timer.Init(time.Hour)
		if i%2 == 0 {
			sleepers[i].timer.Init(300*time.Millisecond + time.Duration(rand.IntN(n))*time.Microsecond)
		}
		require.NoError(t, ex.Spawn(&sleepers[i]))
	}
	locktest.Eventually(t, "they sleep", func() bool {
		if time.Since(begin) < 300*time.Millisecond {
			return ex.Stats().Sleepers == n
		}
		return true // too slow a machine to see it
	})
	require.LessOrEqual(t, runtime.NumGoroutine(), before+10)
	locktest.Eventually(t, "half of them are through", func() bool { return done.Load() == int64(n/2) })
	for i := 1; i < n; i += 2 {
		sleepers[i].Abort()
	}
	shutdown(t, ex)
	require.EqualValues(t, n, done.Load())
	require.Zero(t, ex.Stats().Sleepers)
}

func TestTimeoutEndsAWait(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	for name, wait := range map[string]func(f rt.Future) error{
		"task":      func(f rt.Future) error { return run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, f) }) },
		"goroutine": func(f rt.Future) error { return rt.BlockOn(bg, f) },
	} {
		t.Run(name, func(t *testing.T) {
			f := rt.Timeout(again(s, 1), time.Millisecond)
			require.ErrorIs(t, f.Err(), waiter.ErrPending)
			for range 3 {
				require.ErrorIs(t, wait(f), context.DeadlineExceeded)
				require.ErrorIs(t, f.Err(), context.DeadlineExceeded)
				require.True(t, f.Poll(nil))
				require.Zero(t, s.Waiting(), "cancelled")
				f.Release() // begins again
			}
			s.Release(1)
			require.NoError(t, wait(f))
			require.Zero(t, s.Available())
			f.Release()
			require.True(t, s.TryAcquire(1))
			require.Zero(t, ex.Stats().Sleepers, "the timer does not run on")
		})
	}
}

// What is complete at the time of the limit has won, even if no goroutine looks before.
func TestTimeoutPrefersTheFuture(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	in, gate := make(chan struct{}), make(chan struct{})
	h := spawned(ex, func(cx *rt.Context) error {
		f := rt.Timeout(request(s, 1), time.Millisecond)
		assert.False(t, f.Poll(cx.Waker()))
		close(in)
		<-gate // so that it looks when both have happened
		return rt.Await(cx, f)
	})
	locktest.Receive(t, in)
	locktest.Eventually(t, "the timer has fired", func() bool { return ex.Stats().Sleepers == 0 })
	s.Release(1)
	close(gate)
	_, err := wait(t, h)
	require.NoError(t, err)
	require.Zero(t, s.Available())
	s.Release(1)

	// Not even a limit that has passed at once takes precedence over what is free.
	require.NoError(t, rt.BlockOn(bg, rt.Timeout(request(s, 1), -1)))
	require.ErrorIs(t, rt.BlockOn(bg, rt.Timeout(request(s, 1), -1)), context.DeadlineExceeded)
	s.Release(1)
	requireIdle(t, s)
}

func TestTimeoutStopsItsTimer(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error {
		f := rt.Timeout(request(s, 1), time.Hour)
		if err := rt.Await(cx, f); err != nil {
			return err
		}
		assert.Zero(t, ex.Stats().Sleepers)
		return nil
	})
	locktest.AwaitWaiting(t, s, 1)
	s.Release(1)
	_, err := wait(t, h)
	require.NoError(t, err)
}

// What a timeout was granted and its owner has not taken goes back with Release.
func TestTimeoutCancelledGivesBack(t *testing.T) {
	s := held(t, 1)
	f := rt.Timeout(request(s, 1), time.Hour)
	require.False(t, f.Poll(nil))
	s.Release(1)
	require.True(t, f.Poll(nil))
	f.Release()
	requireIdle(t, s)
}
