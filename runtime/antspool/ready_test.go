package antspool_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Foreign work has all goroutines. Nothing of ours runs that could look when it ends, and no event
// tells us when the others leave.
func TestJobsOutliveForeignWork(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for range 20 {
			p := newPool(t, 3)
			leave := occupy(t, p, 3)
			var jobs []*antspool.Job
			for range 5 {
				jobs = append(jobs, p.Go(1, func() {}))
			}
			require.Equal(t, 3, p.Ready())
			require.EqualValues(t, 2, p.Gate().Waiting())
			leave()
			for _, j := range jobs {
				locktest.Receive(t, j.Done())
				require.NoError(t, j.Err())
			}
			requireIdle(t, p)
		}
	})
}

func TestPoolWithABoundedQueueIsAskedAgain(t *testing.T) {
	p := check(t, antspool.New(newAnts(t, 1, ants.WithMaxBlockingTasks(1))))
	leave := occupy(t, p, 1)
	var foreign sync.WaitGroup
	foreign.Add(1)
	go func() { _ = p.Ants().Submit(foreign.Done) }()
	locktest.Eventually(t, "the queue of ants is full", func() bool { return p.Ants().Waiting() == 1 })
	j := p.Go(1, func() {})
	locktest.Eventually(t, "refused", func() bool { return p.Retries() > 0 })
	leave()
	foreign.Wait()
	locktest.Receive(t, j.Done())
	require.NoError(t, j.Err())
}

// While a long foreign function has the other goroutine, a short job of ours ends every now and
// then: the next uses its goroutine.
func TestReadyJobsUseTheGoroutineOfOneThatEnds(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2, antspool.WithGate(semaphore.New(100)))
		leave := occupy(t, p, 1)
		var inside highWater
		var ended sync.WaitGroup
		ended.Add(100)
		for range 100 {
			p.Go(1, func() {
				inside.add(1)
				runtime.Gosched()
				inside.add(-1)
				ended.Done()
			})
		}
		ended.Wait()
		require.EqualValues(t, 1, inside.peak.Load())
		leave()
	})
}

// A job of ours that runs for long must not be what the others wait for.
func TestReadyJobsFindAGoroutineThatOthersLeave(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 2, antspool.WithGate(semaphore.New(100)))
		leave := occupy(t, p, 1)
		end := make(chan struct{})
		long := p.Go(1, func() { <-end })
		short := p.Go(1, func() {})
		leave()
		locktest.Receive(t, short.Done())
		close(end)
		locktest.Receive(t, long.Done())
	})
}

func TestRetriesGrowRareAndEnd(t *testing.T) {
	p := newPool(t, 1)
	leave := occupy(t, p, 1)
	start := time.Now()
	j := p.Go(1, func() {})
	time.Sleep(20 * antspool.MaxDelay)
	growing := 1
	for d := antspool.RetryFirst; d < antspool.MaxDelay; d *= 2 {
		growing++
	}
	require.LessOrEqual(t, p.Retries(), growing+int(time.Since(start)/antspool.MaxDelay)+1)
	locktest.Eventually(t, "some tries", func() bool { return p.Retries() > 2 })
	leave()
	locktest.Receive(t, j.Done())
	requireIdle(t, p)
	time.Sleep(antspool.MaxDelay) // a timer that has gone off already may still try
	n := p.Retries()
	time.Sleep(3 * antspool.MaxDelay)
	require.Equal(t, n, p.Retries(), "without ready jobs nothing is tried")
}

func TestOneGoroutineAsksABlockingPool(t *testing.T) {
	p := newBlockingPool(t, 2, antspool.WithGate(semaphore.New(100)))
	leave := occupy(t, p, 2)
	var jobs []*antspool.Job
	for range 100 {
		jobs = append(jobs, p.Go(1, func() {}))
		require.LessOrEqual(t, p.Ants().Waiting(), 1)
	}
	locktest.Eventually(t, "one", func() bool { return p.Ants().Waiting() == 1 })
	leave()
	for _, j := range jobs {
		locktest.Receive(t, j.Done())
	}
}

// Release is called by a goroutine that must not wait for goroutines of ants.
func TestWakeDoesNotWait(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		p := newPool(t, 1, antspool.WithGate(semaphore.New(3)))
		leave := occupy(t, p, 1)
		release := hold(t, p.Gate(), 3)
		var jobs []*antspool.Job
		for range 3 {
			jobs = append(jobs, p.Go(1, func() {}))
		}
		released := make(chan struct{})
		go func() {
			defer close(released)
			release()
		}()
		locktest.Receive(t, released)
		require.Equal(t, 3, p.Ready())
		leave()
		for _, j := range jobs {
			locktest.Receive(t, j.Done())
		}
	})
}

// A goroutine that went from job to job for ever would starve direct users of ants.
func TestForeignWorkGetsItsTurnOnBlockingPools(t *testing.T) {
	p := newBlockingPool(t, 1)
	var stop atomic.Bool
	var next func()
	next = func() {
		if !stop.Load() {
			p.Go(1, next)
		}
	}
	p.Go(1, next)
	for range 5 {
		done := make(chan struct{})
		go func() { _ = p.Ants().Submit(func() { close(done) }) }()
		locktest.Receive(t, done)
	}
	stop.Store(true)
}

// The next job is not called by the end of the last one, and what a release wakes is not called by
// the release.
func TestStacksDoNotGrowWithTheQueue(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		const jobs = 10_000
		p := newPool(t, 1)
		release := hold(t, p.Gate(), 1)
		var deepest highWater
		var last *antspool.Job
		for range jobs {
			last = p.Go(1, func() {
				pcs := make([]uintptr, 200)
				deepest.observe(int64(runtime.Callers(0, pcs)))
			})
		}
		release()
		locktest.Receive(t, last.Done())
		require.Less(t, deepest.peak.Load(), int64(20))
	})
}

func TestDeepQueueEndsOnAClosedPool(t *testing.T) {
	both(t, func(t *testing.T, newPool newPoolFunc) {
		for _, direct := range []bool{true, false} {
			const jobs = 10_000
			gate := semaphore.New(1)
			p := newPool(t, 1, antspool.WithGate(gate))
			release := hold(t, gate, 1)
			var all []*antspool.Job
			var deepest highWater
			for range jobs {
				j := p.Go(1, func() { t.Error("ran") })
				j.Poll(waiter.WakerFunc(func() {
					pcs := make([]uintptr, 200)
					deepest.observe(int64(runtime.Callers(0, pcs)))
				}))
				all = append(all, j)
			}
			if direct {
				require.NoError(t, p.Ants().ReleaseTimeout(locktest.Patience))
				require.EqualValues(t, jobs, gate.Waiting(), "we have not been told")
				release()
			} else {
				require.NoError(t, p.ReleaseTimeout(locktest.Patience))
				require.Zero(t, gate.Waiting())
				release()
			}
			for _, j := range all {
				locktest.Receive(t, j.Done())
				require.Equal(t, ants.ErrPoolClosed, j.Err())
			}
			require.Less(t, deepest.peak.Load(), int64(40))
		}
	})
}

// Ants 2.12.1 forgets a goroutine that waits in Submit if a function panics at that moment. With
// plain ants this test hangs after some ten thousand rounds.
func TestJobsOutliveLostWakeupsOfAnts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	p := check(t, antspool.New(newAnts(t, 1, ants.WithDisablePurge(true), ants.WithPanicHandler(func(any) {})),
		antspool.WithGate(semaphore.New(100))))
	var jobs [100]*antspool.Job // that are ready: so one of them is always asked for
	n, length := 0, time.Second
	if locktest.Stress() {
		length = 5 * time.Second
	}
	for end := time.Now().Add(length); time.Now().Before(end); n++ {
		j := &jobs[n%len(jobs)]
		if *j != nil {
			locktest.Receive(t, (*j).Done())
		}
		*j = p.Go(1, boom)
	}
	for _, j := range jobs {
		locktest.Receive(t, j.Done())
	}
	require.NoError(t, p.Submit(bg, 1, func() {}), "its end wakes the waiter that the last panic has forgotten")
	t.Logf("%d jobs", n)
}
