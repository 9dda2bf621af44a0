package rt_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// never is a future that does not complete, and can say what it is. An executor is what it asks
// when it does.
type never struct{ ex *rt.Executor }

func (*never) Poll(waiter.Waker) bool { return false }
func (*never) Err() error             { return waiter.ErrPending }
func (*never) Release()               {}

func (n *never) String() string {
	n.ex.Stats() // takes every lock of the executor: so none may be held
	return "godot"
}

func TestDumpTellsWhatTasksWaitFor(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	var hs []*rt.JoinHandle[struct{}]
	for _, task := range []struct {
		name string
		f    func(cx *rt.Context) error
	}{
		{"acquires", func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) }},
		{"selects", func(cx *rt.Context) error { _, err := rt.Select(cx, request(s, 1), &never{ex}); return err }},
		{"joins", func(cx *rt.Context) error { return rt.Join(cx, request(s, 1), &never{ex}) }},
		{"sleeps", func(cx *rt.Context) error { return rt.Sleep(cx, time.Hour) }},
		{"waits for godot", func(cx *rt.Context) error { return rt.Await(cx, &never{ex}) }},
	} {
		hs = append(
			hs,
			rt.GoNamed(ex, task.name, func(cx *rt.Context) (struct{}, error) { return struct{}{}, task.f(cx) }),
		)
	}
	f := request(s, 1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
	p.SetName("polls")
	require.NoError(t, ex.Spawn(p))
	q := newPoll(func(cx *rt.Context) bool { return cx.Err() != nil })
	require.NoError(t, ex.Spawn(q))
	awaitQuiet(t, ex, 7)
	require.Equal(t, []rt.TaskInfo{
		{Name: "acquires", Waiting: true, WaitsFor: "future of package semaphore"},
		{Name: "selects", Waiting: true, WaitsFor: "the first of 2 futures"},
		{Name: "joins", Waiting: true, WaitsFor: "*rt.allOf"},
		{Name: "sleeps", Waiting: true, WaitsFor: "*rt.Timer"},
		{Name: "waits for godot", Waiting: true, WaitsFor: "godot"},
		{Name: "polls", Waiting: true, WaitsFor: "future of package semaphore"},
		{Name: "*rt_test.pollFunc", Waiting: true},
	}, ex.Dump(), "the oldest first")

	release := occupy(t, ex)
	hs[0].Abort()
	dump := ex.Dump()
	require.Equal(t, rt.TaskInfo{Name: "acquires", Cancelled: true}, dump[0], "it has been woken")
	require.Equal(t, rt.TaskInfo{Name: "*rt_test.pollFunc"}, dump[7], "the one that is being polled")
	release()
	for _, h := range hs {
		h.Abort()
		<-h.Done()
	}
	p.Abort()
	q.Abort()
	require.NoError(t, ended(t, &p.Task))
	require.NoError(t, ended(t, &q.Task))
	require.Empty(t, ex.Dump())
	s.Release(1)
	requireIdle(t, s)
}

// Dump looks at waiting tasks by taking them for a moment. Wakes that come meanwhile are not lost.
func TestDumpLosesNoWake(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := semaphore.New(1)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					ex.Dump()
					ex.Stats()
				}
			}
		})
		var hs []*rt.JoinHandle[struct{}]
		for range 8 {
			hs = append(hs, spawned(ex, func(cx *rt.Context) error {
				for range locktest.Scaled(1000) {
					if err := rt.Await(cx, request(s, 1)); err != nil {
						return err
					}
					err := rt.Yield(cx)
					s.Release(1)
					if err != nil {
						return err
					}
				}
				return nil
			}))
		}
		for _, h := range hs {
			_, err := wait(t, h)
			assert.NoError(t, err)
		}
		close(stop)
		wg.Wait()
		requireIdle(t, s)
	})
}

// A String that panics is the caller's affair, not that of the tasks that were being looked at.
func TestDumpSurvivesAPanickingString(t *testing.T) {
	ex := solo(t)
	s := held(t, 1)
	bad := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, new(malicious)) })
	good := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
	locktest.AwaitWaiting(t, s, 1)
	locktest.Eventually(t, "they wait", func() bool { return ex.Stats().Sleeping == 1 })
	func() {
		defer func() { _ = recover() }()
		ex.Dump()
	}()
	s.Release(1)
	_, err := wait(t, good)
	require.NoError(t, err)
	bad.Abort()
	_, err = wait(t, bad)
	require.ErrorIs(t, err, rt.ErrCancelled)
}

// malicious is a future whose String panics.
type malicious struct{ never }

func (*malicious) String() string { panic("in String") }

func TestStatsCount(t *testing.T) {
	ex := rt.New(rt.WithWorkers(3))
	locktest.Eventually(t, "all sleep", func() bool { return ex.Stats().Sleeping == 3 })
	s := held(t, 1)
	sleeping := spawned(ex, func(cx *rt.Context) error { return rt.Sleep(cx, time.Hour) })
	waiting := spawned(ex, func(cx *rt.Context) error { return rt.Await(cx, request(s, 1)) })
	awaitQuiet(t, ex, 2)
	locktest.Eventually(t, "all sleep", func() bool { return ex.Stats().Sleeping == 3 })
	stats := ex.Stats()
	require.Equal(t, 3, stats.Workers)
	require.Equal(t, 2, stats.Tasks)
	require.Equal(t, 1, stats.Sleepers)
	require.Equal(t, []int{0, 0, 0}, stats.Queued)
	require.EqualValues(t, 2, stats.Polls)
	require.Zero(t, stats.Ended)
	require.Positive(t, stats.Wakes)

	releases := []func(){occupy(t, ex), occupy(t, ex), occupy(t, ex)}
	for range 5 {
		require.NoError(t, ex.Spawn(once(func() {})))
	}
	stats = ex.Stats()
	require.Equal(t, 5, stats.Injected)
	require.Equal(t, 10, stats.Tasks)
	require.Zero(t, stats.Sleeping)
	for _, release := range releases {
		release()
	}
	sleeping.Abort()
	s.Release(1)
	_, err := wait(t, waiting)
	require.NoError(t, err)
	shutdown(t, ex)
	stats = ex.Stats()
	require.Zero(t, stats.Tasks)
	require.Zero(t, stats.Sleepers)
	require.Zero(t, stats.Injected)
	require.EqualValues(t, 10, stats.Ended)
	require.EqualValues(t, 12, stats.Polls, "two tasks were polled twice")
	require.Zero(t, stats.Replaced)
}

// What is taken from a worker in a poll that takes long counts as stolen.
func TestStatsCountSteals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // otherwise the monitor may move some of them again
		const n = 10
		ex := rt.New(rt.WithWorkers(2))
		ran := make(chan struct{}, n)
		release, releaseOther := blockedWithInbox(t, ex, n, func() { ran <- struct{}{} })
		releaseOther()
		for range n {
			locktest.Receive(t, ran)
		}
		release()
		shutdown(t, ex)
		require.EqualValues(t, n, ex.Stats().Steals)
	})
}

// A task's queue shows while its worker is busy.
func TestStatsShowTheQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the monitor, which moves the queue of a long poll, does not look meanwhile
		ex := start(t, rt.WithWorkers(2))
		release := occupy(t, ex)
		in, gate := make(chan struct{}), make(chan struct{})
		require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool {
			for range 3 { // no more than a queue holds, even the small ones of the explorer of interleavings
				assert.NoError(t, cx.Spawn(once(func() {})))
			}
			close(in)
			<-gate
			return true
		})))
		locktest.Receive(t, in)
		stats := ex.Stats()
		require.Equal(t, 3, stats.Queued[0]+stats.Queued[1])
		close(gate)
		release()
	})
}

// A name is for all lives of a task.
func TestNamesStay(t *testing.T) {
	ex := solo(t)
	s := semaphore.New(1)
	p := newPoll(func(cx *rt.Context) bool { return cx.Err() != nil })
	p.SetName("phoenix")
	for range 3 {
		require.NoError(t, ex.Spawn(p))
		require.Equal(t, "phoenix", ex.Dump()[0].Name)
		p.Abort()
		require.NoError(t, ended(t, &p.Task))
	}
	requireIdle(t, s)
}
