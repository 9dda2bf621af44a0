package antspool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// sources are the two ways in which an executor may take its goroutines from a pool.
var sources = map[string]func(p *antspool.Pool) rt.Pool{
	"beside the gate":  func(p *antspool.Pool) rt.Pool { return p.Ants() },
	"through the gate": func(p *antspool.Pool) rt.Pool { return p.Workers(1) },
}

func forEachSource(t *testing.T, f func(t *testing.T, source func(p *antspool.Pool) rt.Pool)) {
	t.Helper()
	for name, source := range sources {
		t.Run(name, func(t *testing.T) { f(t, source) })
	}
}

// counting is a poll task that yields n times.
type counting struct {
	rt.Task
	n     int
	ended *atomic.Int64
}

func (c *counting) Poll(cx *rt.Context) bool {
	if c.n--; c.n >= 0 {
		return cx.Yield()
	}
	c.ended.Add(1)
	return true
}

func TestExecutorRunsOnThePool(t *testing.T) {
	forEachSource(t, func(t *testing.T, source func(p *antspool.Pool) rt.Pool) {
		const tasks = 100
		p := newPool(t, 4)
		ex, err := rt.NewOn(source(p), rt.WithWorkers(2))
		require.NoError(t, err)
		require.Equal(t, 2, p.Ants().Running())

		var ended atomic.Int64
		for range tasks {
			require.NoError(t, ex.Spawn(&counting{n: 10, ended: &ended}))
		}
		lock := semaphore.New(1)
		sum := 0
		var hs []*rt.JoinHandle[int]
		for i := range tasks {
			hs = append(hs, rt.Go(ex, func(cx *rt.Context) (int, error) {
				var f waiter.Future
				lock.Bind(&f, 1)
				defer f.Release()
				if err := rt.Await(cx, &f); err != nil {
					return 0, err
				}
				before := sum
				if err := rt.Yield(cx); err != nil {
					return 0, err
				}
				sum = before + i
				return sum, rt.Sleep(cx, time.Microsecond)
			}))
		}
		for _, h := range hs {
			_, err := h.Wait(bg)
			require.NoError(t, err)
		}
		require.Equal(t, tasks*(tasks-1)/2, sum)
		require.NoError(t, ex.Shutdown(bg))
		require.EqualValues(t, tasks, ended.Load())
		requireFree(t, p)
	})
}

// requireFree checks that no work has a goroutine of the pool any more: as many functions as it has
// goroutines can run at the same time.
func requireFree(t *testing.T, p *antspool.Pool) {
	t.Helper()
	requireIdle(t, p)
	locktest.Eventually(t, "free", func() bool {
		gone := make(chan struct{})
		defer close(gone)
		for range p.Ants().Cap() {
			if p.Ants().Submit(func() { <-gone }) != nil {
				return false
			}
		}
		return true
	})
}

func TestExecutorNeedsRoomForItsWorkers(t *testing.T) {
	forEachSource(t, func(t *testing.T, source func(p *antspool.Pool) rt.Pool) {
		p := newPool(t, 3)
		ex, err := rt.NewOn(source(p), rt.WithWorkers(4))
		require.Nil(t, ex)
		require.ErrorContains(t, err, "worker 4 of 4")
		require.True(t, errors.Is(err, ants.ErrPoolOverload) || errors.Is(err, antspool.ErrBusy), "%v", err)
		requireFree(t, p)
	})
	_, err := rt.NewOn(newBlockingPool(t, 1).Workers(1), rt.WithWorkers(1))
	require.ErrorIs(t, err, antspool.ErrMayBlock)
	closed := newPool(t, 1)
	closed.Release()
	_, err = rt.NewOn(closed.Workers(1), rt.WithWorkers(1))
	require.ErrorIs(t, err, ants.ErrPoolClosed)
}

func TestGateKnowsOfWorkers(t *testing.T) {
	p := newPool(t, 3)
	ex, err := rt.NewOn(p.Workers(1), rt.WithWorkers(2))
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Gate().Available())
	var inside highWater
	var last *antspool.Job
	for range 100 {
		last = p.Go(1, func() {
			inside.add(1)
			runtime.Gosched()
			inside.add(-1)
		})
	}
	locktest.Receive(t, last.Done())
	require.EqualValues(t, 1, inside.peak.Load())
	require.NoError(t, ex.Shutdown(bg))
}

func TestBlockingUsesThePool(t *testing.T) {
	forEachSource(t, func(t *testing.T, source func(p *antspool.Pool) rt.Pool) {
		p := newPool(t, 2)
		ex, err := rt.NewOn(source(p), rt.WithWorkers(1))
		require.NoError(t, err)
		begun, end := make(chan struct{}), make(chan struct{})
		first := rt.Go(ex, func(cx *rt.Context) (int, error) {
			return rt.Blocking(cx, func() (int, error) {
				close(begun)
				<-end
				return 42, nil
			})
		})
		locktest.Receive(t, begun)
		second := rt.Go(ex, func(cx *rt.Context) (int, error) {
			return rt.Blocking(cx, func() (int, error) {
				t.Error("ran")
				return 0, nil
			})
		})
		_, err = second.Wait(bg)
		require.ErrorContains(t, err, "the pool has no goroutine for blocking work")
		close(end)
		v, err := first.Wait(bg)
		require.NoError(t, err)
		require.Equal(t, 42, v)
		require.NoError(t, ex.Shutdown(bg))
		requireFree(t, p)
	})
}

func TestTasksThatEndBadlyDoNotCostGoroutines(t *testing.T) {
	forEachSource(t, func(t *testing.T, source func(p *antspool.Pool) rt.Pool) {
		p := newPool(t, 6)
		ex, err := rt.NewOn(source(p), rt.WithWorkers(2), quiet)
		require.NoError(t, err)
		for range 20 {
			panics := rt.Go(ex, func(*rt.Context) (int, error) { panic(errBoom) })
			_, err = panics.Wait(bg)
			require.ErrorIs(t, err, errBoom)
			exits := rt.Go(ex, func(*rt.Context) (int, error) { runtime.Goexit(); return 0, nil })
			_, err = exits.Wait(bg)
			require.ErrorIs(t, err, rt.ErrGoexit)
			blocks := rt.Go(ex, func(cx *rt.Context) (int, error) {
				return rt.Blocking(cx, func() (int, error) { panic(errBoom) })
			})
			_, err = blocks.Wait(bg)
			require.ErrorIs(t, err, errBoom)
		}
		require.NoError(t, ex.Shutdown(bg))
		requireFree(t, p)
	})
}

// Submit of a blocking pool waits for a goroutine. The goroutine that a Goexit ends would never be
// free for it.
func TestGoexitLeavesAWorkerOnABlockingPool(t *testing.T) {
	const workers = 2
	a := newAnts(t, workers)
	ex, err := rt.NewOn(a, rt.WithWorkers(workers))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(bg, locktest.Patience)
	defer cancel()
	for range 10 {
		var hs []*rt.JoinHandle[int]
		var here sync.WaitGroup // the tasks meet: each worker has one, and both lose their goroutines
		here.Add(workers)
		for range workers {
			hs = append(hs, rt.Go(ex, func(*rt.Context) (int, error) {
				here.Done()
				here.Wait()
				runtime.Goexit()
				return 0, nil
			}))
		}
		for _, h := range hs {
			_, err := h.Wait(ctx)
			require.ErrorIs(t, err, rt.ErrGoexit)
		}
		v, err := rt.Go(ex, func(cx *rt.Context) (int, error) { return 42, rt.Yield(cx) }).Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, 42, v)
	}
	locktest.Eventually(t, "the goroutines are the pool's again", func() bool { return a.Running() == 0 })
	require.NoError(t, ex.Shutdown(bg))
}

// A task hands work that computes for long to the pool, and waits for it without holding a worker.
func TestTaskAwaitsAJob(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2)
		ex := rt.New(rt.WithWorkers(1))
		var hs []*rt.JoinHandle[int]
		for i := range 200 {
			hs = append(hs, rt.Go(ex, func(cx *rt.Context) (int, error) {
				square := 0
				err := rt.Await(cx, p.Go(1, func() { square = i * i }))
				return square, err
			}))
		}
		for i, h := range hs {
			v, err := h.Wait(bg)
			require.NoError(t, err)
			require.Equal(t, i*i, v)
		}

		release := hold(t, p.Gate(), 2)
		h := rt.Go(ex, func(cx *rt.Context) (int, error) {
			return 0, rt.Await(cx, p.Go(1, func() { t.Error("ran") }))
		})
		locktest.Eventually(t, "waiting", func() bool { return p.Gate().Waiting() == 1 })
		h.Abort()
		_, err := h.Wait(bg)
		require.Equal(t, rt.ErrCancelled, err)
		require.Zero(t, p.Gate().Waiting(), "a cancelled task takes its job along")
		release()
		require.NoError(t, ex.Shutdown(bg))
	})
}
