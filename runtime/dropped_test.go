//go:build !interleave

package rt_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

// used uses an executor that new makes in many ways, and drops it. Tasks know the executor, as they
// often do.
//
//go:noinline
func used(t *testing.T, executor func() *rt.Executor) {
	t.Helper()
	ex := executor()
	var wg sync.WaitGroup
	const n = 400 // more than a queue holds
	wg.Add(n)
	require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
		for range n {
			assert.NoError(t, cx.Spawn(once(func() {
				assert.NotNil(t, ex)
				wg.Done()
			})))
		}
		return true
	})))
	wg.Wait()
	var hs []*rt.JoinHandle[struct{}]
	s := held(t, 1)
	for i := range 40 {
		hs = append(hs, spawned(ex, func(cx *rt.Context) error {
			assert.NotNil(t, ex)
			switch i % 4 {
			case 0:
				return rt.Sleep(cx, time.Microsecond)
			case 1:
				_, err := rt.Blocking(cx, func() (int, error) { return 0, nil })
				return err
			case 2:
				return rt.Yield(cx)
			default:
				if err := rt.Await(cx, request(s, 1)); err != nil {
					return err
				}
				s.Release(1)
				return nil
			}
		}))
	}
	s.Release(1)
	for _, h := range hs {
		_, err := wait(t, h)
		require.NoError(t, err)
	}
}

// requireNothing collects garbage until nothing remains but what was there before.
func requireNothing(t *testing.T, before goleak.Option) {
	t.Helper()
	locktest.Eventually(t, "no goroutine remains", func() bool {
		runtime.GC()
		return goleak.Find(before) == nil
	})
}

// An executor without references, and that has no tasks, ends by itself.
func TestNothingRemainsOfADroppedExecutor(t *testing.T) {
	for name, opts := range map[string][]rt.Option{
		"solo":     {rt.WithWorkers(1)},
		"two":      {rt.WithWorkers(2)},
		"many":     {rt.WithWorkers(8)},
		"watchdog": {rt.WithWorkers(2), rt.WithWatchdog(time.Millisecond, func(rt.Report) {})},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			used(t, func() *rt.Executor { return rt.New(opts...) })
			requireNothing(t, before)
		})
	}
	t.Run("never used", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		_ = rt.New(rt.WithWorkers(2))
		requireNothing(t, before)
	})
}

// A plainPool starts a goroutine for each function, and counts those that run.
type plainPool struct{ running atomic.Int64 }

func (p *plainPool) Submit(fn func()) error {
	p.running.Add(1)
	go func() {
		defer p.running.Add(-1)
		fn()
	}()
	return nil
}

// A pool gets its goroutines back.
func TestDroppedExecutorLeavesItsPool(t *testing.T) {
	var p plainPool
	before := goleak.IgnoreCurrent()
	used(t, func() *rt.Executor {
		ex, err := rt.NewOn(&p, rt.WithWorkers(3))
		require.NoError(t, err)
		return ex
	})
	requireNothing(t, before)
	require.Zero(t, p.running.Load())
}

// A task keeps its executor, even if nothing else does; and when it has ended its owner may wait
// for it.
func TestTasksOfADroppedExecutorRunOn(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := held(t, 1)
	handle := func() *rt.JoinHandle[int] {
		return rt.Go(rt.New(rt.WithWorkers(2)), func(cx *rt.Context) (int, error) {
			if err := rt.Await(cx, request(s, 1)); err != nil {
				return 0, err
			}
			s.Release(1)
			return sevenOf(cx)
		})
	}
	func() { // the handle refers to the executor
		h := handle()
		locktest.AwaitWaiting(t, s, 1)
		for range 5 {
			runtime.GC()
		}
		s.Release(1)
		v, err := wait(t, h)
		require.NoError(t, err)
		require.Equal(t, 7, v)
	}()
	requireNothing(t, before)
	requireIdle(t, s)
}

// sevenOf has another task of the same executor compute.
func sevenOf(cx *rt.Context) (int, error) {
	return rt.Go(cx.Executor(), func(*rt.Context) (int, error) { return 7, nil }).Await(cx)
}
