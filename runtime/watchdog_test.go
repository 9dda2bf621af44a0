//go:build !interleave

package rt_test

import (
	"sync"
	"sync/atomic"
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

// reports collects what a watchdog says.
type reports struct {
	mu   sync.Mutex
	list []rt.Report
}

func (r *reports) add(report rt.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, report)
}

func (r *reports) all() []rt.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]rt.Report(nil), r.list...)
}

// watched runs f in a bubble with an executor whose watchdog reports after a second.
func watched(t *testing.T, f func(t *testing.T, ex *rt.Executor, r *reports)) {
	synctest.Test(t, func(t *testing.T) {
		var r reports
		ex := start(t, rt.WithWorkers(2), rt.WithWatchdog(time.Second, r.add))
		f(t, ex, &r)
	})
}

func TestWatchdogFindsTheTaskThatSpins(t *testing.T) {
	reported := make(chan rt.Report, 10)
	ex := start(t, rt.WithWorkers(1), rt.WithWatchdog(10*time.Millisecond, func(r rt.Report) { reported <- r }))
	var letGo atomic.Bool
	h := rt.GoNamed(ex, "spinner", func(*rt.Context) (int, error) {
		for n := 0; !letGo.Load(); n++ {
			_ = n // works, and never waits
		}
		return 7, nil
	})
	r := locktest.Receive(t, reported)
	letGo.Store(true)
	require.Equal(t, rt.NeverYields, r.Kind)
	require.Equal(t, "spinner", r.Task)
	require.GreaterOrEqual(t, r.For, 10*time.Millisecond)
	v, err := wait(t, h)
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

func TestWatchdogReportsOncePerPoll(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		polls := 0
		p := newPoll(func(cx *rt.Context) bool {
			time.Sleep(3 * time.Second)
			polls++
			return polls == 3 || cx.Yield()
		})
		p.SetName("blocker")
		require.NoError(t, ex.Spawn(p))
		require.NoError(t, ended(t, &p.Task))
		synctest.Wait()
		require.Len(t, r.all(), 3)
		for _, report := range r.all() {
			require.Equal(t, rt.NeverYields, report.Kind)
			require.Equal(t, "blocker", report.Task)
			require.GreaterOrEqual(t, report.For, time.Second)
			require.LessOrEqual(t, report.For, 3*time.Second/2)
		}
	})
}

// A permit that has been granted to a future whose task looks elsewhere blocks all behind it.
func TestWatchdogFindsTheForgottenFuture(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		a, b := held(t, 1), held(t, 1)
		fa, fb := request(a, 1), request(b, 1)
		first := true
		p := newPoll(func(cx *rt.Context) bool {
			if first {
				first = false
				cx.Poll(fa)
			}
			if !cx.Poll(fb) { // and never fa again
				return false
			}
			fa.Release()
			return true
		})
		p.SetName("forgetful")
		require.NoError(t, ex.Spawn(p))
		time.Sleep(time.Minute)
		require.Empty(t, r.all(), "nothing is wrong with waiting")
		a.Release(1)
		time.Sleep(time.Minute)
		require.Len(t, r.all(), 1)
		report := r.all()[0]
		require.Equal(t, rt.NotPolled, report.Kind)
		require.Equal(t, "forgetful", report.Task)
		require.Equal(t, "*waiter.Future", report.What)
		require.GreaterOrEqual(t, report.For, time.Second)
		require.LessOrEqual(t, report.For, 3*time.Second/2)
		b.Release(1)
		require.NoError(t, ended(t, &p.Task))
		require.NoError(t, fb.Err())
		b.Release(1)
		requireIdle(t, a)
		requireIdle(t, b)
		time.Sleep(time.Minute)
		require.Len(t, r.all(), 1)
	})
}

// What has been cancelled is not forgotten: the losers of Select and FirstOf, the waits of
// cancelled tasks.
func TestWatchdogKnowsOfCancels(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		s := held(t, 3)
		for name, f := range map[string]func(cx *rt.Context) error{
			"Select": func(cx *rt.Context) error {
				_, err := rt.Select(cx, request(s, 1), request(s, 1), request(s, 1))
				return err
			},
			"FirstOf": func(cx *rt.Context) error {
				return rt.Await(cx, rt.FirstOf(request(s, 1), request(s, 1), request(s, 1)))
			},
			"Timeout": func(cx *rt.Context) error {
				return rt.Await(cx, rt.FirstOf(
					rt.Timeout(request(s, 1), time.Millisecond), request(s, 1), request(s, 1)))
			},
		} {
			for _, aborted := range []bool{false, true} {
				h := spawned(ex, func(cx *rt.Context) error {
					err := f(cx)
					if err == nil {
						s.Release(1)
					}
					time.Sleep(time.Second / 2)
					for range 3 { // lives on
						_ = rt.Sleep(cx, time.Second)
						if aborted {
							time.Sleep(time.Second / 2)
						}
					}
					return err
				})
				synctest.Wait()
				require.EqualValues(t, 3, s.Waiting(), name)
				release, releaseOther := occupy(t, ex), occupy(t, ex)
				s.Release(3)
				if aborted {
					h.Abort()
				}
				release()
				releaseOther()
				_, err := wait(t, h)
				if aborted {
					require.ErrorIs(t, err, rt.ErrCancelled)
				} else {
					require.NoError(t, err)
				}
				requireIdle(t, s)
				require.True(t, s.TryAcquire(3))
			}
		}
		require.Empty(t, filter(r.all(), rt.NotPolled))
	})
}

// The same if the task calls Cancel itself, as poll tasks do.
func TestWatchdogKnowsOfCancelsByTheTask(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		s := held(t, 2)
		f, g := request(s, 1), request(s, 1)
		var timer rt.Timer
		chosen := false
		p := newPoll(func(cx *rt.Context) bool {
			if !chosen {
				if first, second := cx.Poll(f), cx.Poll(g); !first && !second {
					return false
				}
				chosen = true
				g.Release()
				timer.Init(time.Minute)
			}
			return cx.Poll(&timer)
		})
		require.NoError(t, ex.Spawn(p))
		synctest.Wait()
		release, releaseOther := occupy(t, ex), occupy(t, ex)
		s.Release(2)
		release()
		releaseOther()
		synctest.Wait()
		require.NoError(t, f.Err())
		s.Release(1)
		requireIdle(t, s)
		require.NoError(t, rt.BlockOn(bg, completionOf(&p.Task)))
		require.Empty(t, r.all())
	})
}

// The futures of this package say whether they are complete, so that one that the task has
// cancelled is not reported.
func TestWatchdogAsksTheFuturesOfThisPackage(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		s, end := held(t, 1), held(t, 1)
		f, g := request(s, 1), request(end, 1)
		other := newPoll(func(cx *rt.Context) bool { return cx.Poll(f) })
		require.NoError(t, ex.Spawn(other))
		var forgotten, cancelled rt.Timer
		forgotten.Init(time.Minute)
		cancelled.Init(time.Minute)
		completion := completionOf(&other.Task)
		first := true
		p := newPoll(func(cx *rt.Context) bool {
			if first {
				first = false
				cx.Poll(&forgotten)
				cx.Poll(&cancelled)
				cx.Poll(completion)
			} else {
				cancelled.Release()
			}
			return cx.Poll(g)
		})
		require.NoError(t, ex.Spawn(p))
		time.Sleep(time.Minute / 2)
		require.Empty(t, r.all())
		time.Sleep(time.Minute)
		require.Len(t, r.all(), 1)
		require.Equal(t, "*rt.Timer", r.all()[0].What)
		s.Release(1)
		time.Sleep(time.Minute)
		require.Len(t, r.all(), 2)
		require.Equal(t, "*rt.Completion", r.all()[1].What)
		end.Release(1)
		require.NoError(t, ended(t, &p.Task))
		require.NoError(t, f.Err())
		require.NoError(t, g.Err())
	})
}

func filter(all []rt.Report, kind rt.ReportKind) (of []rt.Report) {
	for _, r := range all {
		if r.Kind == kind {
			of = append(of, r)
		}
	}
	return of
}

// Waits of all kinds, short and long, give no reason to bark.
func TestWatchdogIsSilentAboutGoodTasks(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		s, never, free := semaphore.New(2), held(t, 1), semaphore.New(1)
		var hs []*rt.JoinHandle[struct{}]
		for i := range 30 {
			hs = append(hs, spawned(ex, func(cx *rt.Context) error {
				for k := range 10 {
					var err error
					switch (i + k) % 4 {
					case 0:
						err = rt.Await(cx, request(s, 2))
					case 1:
						_, err = rt.Select(cx, request(s, 2), request(never, 1))
					case 2:
						err = rt.Join(cx, rt.Timeout(request(s, 2), 24*time.Hour), request(free, 0))
					case 3:
						_, err = rt.Blocking(cx, func() (int, error) { time.Sleep(3 * time.Second); return 0, nil })
						if err == nil {
							err = rt.Await(cx, request(s, 2))
						}
					}
					if err != nil {
						return err
					}
					err = rt.Sleep(cx, 5*time.Second)
					s.Release(2)
					if err != nil {
						return err
					}
				}
				return nil
			}))
		}
		for _, h := range hs {
			<-h.Done()
			require.NoError(t, h.Err())
		}
		require.Empty(t, r.all())
		requireIdle(t, s)
	})
}

// A report under way is waited for: after Shutdown none comes.
func TestShutdownWaitsForReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int64
		ex := rt.New(rt.WithWorkers(1), rt.WithWatchdog(time.Second, func(rt.Report) {
			begun.Add(1)
			time.Sleep(time.Hour)
			ended.Add(1)
		}))
		require.NoError(t, ex.Spawn(once(func() { time.Sleep(2 * time.Second) })))
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 1, begun.Load())
		require.Zero(t, ended.Load())
		require.NoError(t, ex.Shutdown(bg))
		require.EqualValues(t, 1, ended.Load())
	})
}

// gatedFuture says whether it is complete when its gate opens, and is woken at once.
type gatedFuture struct {
	asked chan struct{}
	gate  chan struct{}
}

func (f *gatedFuture) Poll(w waiter.Waker) bool { w.Wake(); return false }
func (f *gatedFuture) Err() error               { return waiter.ErrPending }
func (f *gatedFuture) Release()                 {}

func (f *gatedFuture) Complete() bool {
	close(f.asked)
	<-f.gate
	return true
}

// A future that takes long to say whether it is complete, because it waits for a task perhaps,
// holds up only the watchdog.
func TestWatchdogAsksFuturesWithoutALock(t *testing.T) {
	watched(t, func(t *testing.T, ex *rt.Executor, r *reports) {
		f := &gatedFuture{asked: make(chan struct{}), gate: make(chan struct{})}
		polls := 0
		p := newPoll(func(cx *rt.Context) bool {
			if polls++; polls == 1 {
				return cx.Poll(f)
			}
			return polls == 3 // woken once, it looks elsewhere
		})
		require.NoError(t, ex.Spawn(p))
		<-f.asked
		require.NoError(t, ex.Spawn(once(func() { close(f.gate) })))
		<-f.gate
		synctest.Wait()
		require.Len(t, r.all(), 1)
		require.Equal(t, "*rt_test.gatedFuture", r.all()[0].What)

		// A future that the task has finished with meanwhile is not reported either.
		p.Waker().Wake()
		require.NoError(t, ended(t, &p.Task))
		f = &gatedFuture{asked: make(chan struct{}), gate: make(chan struct{})}
		polls = 0
		require.NoError(t, ex.Spawn(p))
		<-f.asked
		p.Waker().Wake()
		require.NoError(t, ended(t, &p.Task))
		close(f.gate)
		synctest.Wait()
		require.Len(t, r.all(), 1)
	})
}

// Shutdown waits for a future that the watchdog asks, as it does for a report.
func TestShutdownWaitsForFuturesThatAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := rt.New(rt.WithWorkers(1), rt.WithWatchdog(time.Second, func(rt.Report) { t.Error("reported") }))
		f := &gatedFuture{asked: make(chan struct{}), gate: make(chan struct{})}
		polls := 0
		p := newPoll(func(cx *rt.Context) bool {
			if polls++; polls == 1 {
				return cx.Poll(f)
			}
			return polls == 3
		})
		require.NoError(t, ex.Spawn(p))
		<-f.asked
		p.Waker().Wake()
		require.ErrorIs(t, ex.Shutdown(doneWith()), rt.ErrStuck)
		close(f.gate)
		require.NoError(t, ex.Shutdown(bg))
	})
}

// What a wait and the end of a task cost does not grow with how many others wait. So these take a
// second; a look at all others for each would make it minutes.
func TestWatchdogIsLinearInItsWaits(t *testing.T) {
	if testing.Short() || locktest.RaceEnabled {
		t.Skip("takes a second, and much longer under the race detector")
	}
	const n = 100_000
	ex := rt.New(rt.WithWorkers(1), rt.WithWatchdog(time.Hour, func(rt.Report) {}))
	s := held(t, n)
	for range n {
		f := request(s, 1)
		require.NoError(t, ex.Spawn(newPoll(func(cx *rt.Context) bool { return cx.Poll(f) && f.Err() == nil })))
	}
	locktest.AwaitWaiting(t, s, n)
	s.Release(n)
	shutdown(t, ex)
}

// uncomparable is a future whose type cannot be the key of a map.
type uncomparable []int

func (uncomparable) Poll(waiter.Waker) bool { return true }
func (uncomparable) Err() error             { return nil }
func (uncomparable) Release()               {}

func TestWatchdogTakesFuturesOfAnyType(t *testing.T) {
	ex := solo(t, rt.WithWatchdog(time.Hour, func(rt.Report) {}))
	require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Await(cx, uncomparable{1}) }))
}

func TestMisuseOfTheWatchdogPanics(t *testing.T) {
	assert.Panics(t, func() { rt.WithWatchdog(0, func(rt.Report) {}) })
	assert.Panics(t, func() { rt.WithWatchdog(time.Second, nil) })
}
