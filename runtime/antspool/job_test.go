package antspool_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

var _ rt.Future = (*antspool.Job)(nil)

// settled returns the number of goroutines once those of earlier tests have ended.
func settled(t *testing.T) (n int) {
	t.Helper()
	since := time.Now()
	locktest.Eventually(t, "settled", func() bool {
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > 5*time.Millisecond
	})
	return n
}

// Ten thousand waiting jobs are ten thousand nodes in a queue, and no goroutine.
func TestWaitingJobsOccupyNoGoroutine(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		const jobs, permits, size = 10_000, 2, 8
		p := newPool(t, size, antspool.WithGate(semaphore.New(permits)))
		before := settled(t)
		var inside, goroutines, running highWater
		var ended atomic.Int64
		look := func() {
			goroutines.observe(int64(runtime.NumGoroutine() - before))
			running.observe(int64(p.Ants().Running()))
		}
		release := hold(t, p.Gate(), permits)
		for range jobs {
			p.Go(1, func() {
				inside.add(1)
				look()
				runtime.Gosched()
				inside.add(-1)
				ended.Add(1)
			})
		}
		require.EqualValues(t, jobs, p.Gate().Waiting())
		require.LessOrEqual(t, runtime.NumGoroutine(), before) // some of an earlier test may have ended since
		release()
		for deadline := time.Now().Add(locktest.Patience); ended.Load() < jobs; look() {
			require.True(t, time.Now().Before(deadline), "%d of %d", ended.Load(), jobs)
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, inside.peak.Load(), int64(permits))
		require.LessOrEqual(t, running.peak.Load(), int64(size))
		ours := int64(1) // the timer's
		if p.MayBlock() {
			ours = 4 // goroutines that ask, all but one of them about to end
		}
		require.LessOrEqual(t, goroutines.peak.Load(), size+ours)
		t.Logf("%d goroutines of ants, %d in all", running.peak.Load(), goroutines.peak.Load())
	})
}

func TestStoppedJobNeverBegins(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1, antspool.WithGate(semaphore.New(2)))
		t.Run("waiting for permits", func(t *testing.T) {
			release := hold(t, p.Gate(), 2)
			j := p.Go(2, func() { t.Error("ran") })
			behind := p.Go(1, func() {})
			require.Equal(t, waiter.ErrPending, j.Err())
			require.True(t, j.Stop())
			require.False(t, j.Stop())
			locktest.Receive(t, j.Done())
			require.Equal(t, antspool.ErrCancelled, j.Err())
			require.EqualValues(t, 1, p.Gate().Waiting())
			release()
			locktest.Receive(t, behind.Done())
		})
		t.Run("waiting for a goroutine", func(t *testing.T) {
			leave := occupy(t, p, 1)
			j := p.Go(2, func() { t.Error("ran") })
			behind := p.Go(1, func() {})
			require.EqualValues(t, 0, p.Gate().Available())
			require.True(t, j.Stop())
			require.EqualValues(t, 1, p.Gate().Available(), "its permits have gone on")
			locktest.Receive(t, j.Done())
			require.Equal(t, antspool.ErrCancelled, j.Err())
			leave()
			locktest.Receive(t, behind.Done())
		})
	})
}

func TestStopDoesNotTouchWhatRuns(t *testing.T) {
	p := newPool(t, 1)
	begun, end := make(chan struct{}), make(chan struct{})
	j := p.Go(1, func() {
		close(begun)
		<-end
	})
	locktest.Receive(t, begun)
	require.False(t, j.Stop())
	j.Release()
	require.Equal(t, waiter.ErrPending, j.Err())
	require.Zero(t, p.Gate().Available())
	close(end)
	locktest.Receive(t, j.Done())
	require.NoError(t, j.Err())
	require.False(t, j.Stop())
	require.NoError(t, j.Err())
}

func TestPermitsAreBackWhenAJobIsDone(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		for range 100 {
			j := p.Go(2, func() {})
			locktest.Receive(t, j.Done())
			require.EqualValues(t, 2, p.Gate().Available())
			require.Equal(t, j.Done(), j.Done())

			told := make(chan int64, 1)
			proceed := make(chan struct{})
			j = p.Go(2, func() { <-proceed })
			j.Poll(waiter.WakerFunc(func() { told <- p.Gate().Available() }))
			close(proceed)
			require.EqualValues(t, 2, locktest.Receive(t, told))
		}
	})
}

func TestJobIsAFuture(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1)
		end := make(chan struct{})
		j := p.Go(1, func() { <-end })
		var replaced, woken atomic.Int64
		require.False(t, j.Poll(waiter.WakerFunc(func() { replaced.Add(1) })))
		require.False(t, j.Poll(waiter.WakerFunc(func() { woken.Add(1) })))
		close(end)
		locktest.Eventually(t, "woken", func() bool { return woken.Load() == 1 })
		require.Zero(t, replaced.Load())
		require.True(t, j.Poll(nil))
		require.NoError(t, j.Err())

		release := hold(t, p.Gate(), 1)
		j = p.Go(1, func() { t.Error("ran") })
		require.False(t, j.Poll(waiter.WakerFunc(func() { t.Error("woken after Cancel") })))
		j.Release()
		require.True(t, j.Poll(nil))
		require.Equal(t, antspool.ErrCancelled, j.Err())

		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, rt.BlockOn(ctx, p.Go(1, func() { t.Error("ran") })))
		release()
		require.NoError(t, rt.BlockOn(bg, p.Go(1, func() {})))
		require.Equal(t, antspool.ErrAborted, rt.BlockOn(bg, p.Go(1, runtime.Goexit)))
	})
}

func TestJobsMayStartJobs(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1)
		var left atomic.Int64
		left.Store(1000)
		end := make(chan struct{})
		var next func()
		next = func() {
			if left.Add(-1) == 0 {
				close(end)
				return
			}
			p.Go(1, next) // the one permit is ours until we return
		}
		p.Go(1, next)
		locktest.Receive(t, end)
	})
}

func TestPoolsMayShareAGate(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		gate := semaphore.New(1)
		a := newPool(t, 2, antspool.WithGate(gate))
		b := newPool(t, 2, antspool.WithGate(gate))
		var inside highWater
		var ended atomic.Int64
		const jobs = 1000
		for i := range jobs {
			p := a
			if i%2 == 0 {
				p = b
			}
			p.Go(1, func() {
				inside.add(1)
				runtime.Gosched()
				inside.add(-1)
				ended.Add(1)
			})
		}
		locktest.Eventually(t, "all run", func() bool { return ended.Load() == jobs })
		require.EqualValues(t, 1, inside.peak.Load())
	})
}
