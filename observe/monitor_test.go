//go:build !interleave

package observe

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// watchFast has the monitor look all the time, and returns the deadlocks that are found from now on
// over locks whose name has a prefix. It is for tests that are not parallel.
func watchFast(t *testing.T, prefix string) (found func() []Deadlock) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	Configure(Config{Period: time.Millisecond, Logger: quiet})
	t.Cleanup(func() { Configure(Config{Logger: quiet}) })
	start := time.Now()
	return func() []Deadlock {
		return slices.DeleteFunc(Read().Deadlocks, func(d Deadlock) bool {
			return d.At.Before(start) || !strings.HasPrefix(d.Waits[0].Lock, prefix)
		})
	}
}

// looks waits until the monitor has looked so often.
func looks(t *testing.T, n int64) {
	t.Helper()
	first := watchdog.looks.Load()
	locktest.Eventually(t, "the monitor looks", func() bool {
		watchdog.hurry() // After a look that took long it would pause for long.
		return watchdog.looks.Load() >= first+n
	})
}

// A ring are agents each of which holds its lock and waits for the next.
type ring struct {
	locks []stdsync.Locker
	all   stdsync.WaitGroup
	met   stdsync.WaitGroup
}

func newRing(n int, prefix string) *ring {
	r := &ring{}
	for i := range n {
		var l stdsync.Locker
		name := fmt.Sprint(prefix, i)
		switch (n + i) % 4 {
		case 0:
			l = &sync.Mutex{}
		case 1:
			l = &sync.RWMutex{}
		case 2:
			l = &mutex.Mutex{}
		default:
			l = &rwlock.RWLock{}
		}
		Watch(l, name, LevelHolders)
		r.locks = append(r.locks, l)
	}
	return r
}

// deadlock has goroutines wait for each other. Every other one runs a task.
func (r *ring) deadlock(ex *rt.Executor) {
	r.all.Add(len(r.locks))
	r.met.Add(len(r.locks))
	for i := range r.locks {
		if i%2 == 0 {
			go r.holdAndWait(i)
			continue
		}
		rt.GoNamed(ex, fmt.Sprint("task ", i), func(*rt.Context) (struct{}, error) {
			r.holdAndWait(i)
			return struct{}{}, nil
		})
	}
}

func (r *ring) holdAndWait(i int) {
	defer r.all.Done()
	mine, next := r.locks[i], r.locks[(i+1)%len(r.locks)]
	mine.Lock()
	r.met.Done()
	r.met.Wait()
	next.Lock() // here they wait
	defer next.Unlock()
	if i > 0 {
		mine.Unlock()
	}
}

// end unlocks what the first goroutine holds, which lets the last one go on, and so on.
func (r *ring) end() {
	r.locks[0].Unlock()
	r.all.Wait()
	for _, l := range r.locks {
		Watch(l, "", LevelOff)
	}
}

// Each cycle of two to five goroutines and tasks is reported once, with the lines.
func TestGoroutinesThatDeadlock(t *testing.T) {
	ex := rt.New(rt.WithWorkers(3))
	Watch(ex, "ring", LevelHolders)
	defer func() {
		Watch(ex, "", LevelOff)
		require.NoError(t, ex.Shutdown(context.Background()))
	}()
	for n := 2; n <= 5; n++ {
		prefix := fmt.Sprintf("ring of %d: ", n)
		found := watchFast(t, prefix)
		var told []Deadlock
		var mu stdsync.Mutex
		stop := On(func(d Deadlock) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, d)
		})
		r := newRing(n, prefix)
		r.deadlock(ex)
		locktest.Eventually(t, "a deadlock is found", func() bool { return len(found()) > 0 })
		locktest.Eventually(t, "it is told", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(told) > 0
		})
		looks(t, 5)
		all := found()
		require.Len(t, all, 1)
		require.Len(t, told, 1)
		stop()
		require.Len(t, all[0].Waits, n)
		agents, tasks := map[uint64]bool{}, 0
		for _, b := range all[0].Waits {
			agents[b.Waiter.Agent.Goroutine] = true
			if b.Waiter.Agent.Task != 0 {
				tasks++
				assert.Contains(t, b.Waiter.Agent.Name, "task ")
			}
			assert.Contains(t, b.Waiter.Stack.String(), "holdAndWait (monitor_test.go:")
			require.Len(t, b.Holders, 1)
			assert.Contains(t, b.Holders[0].Stack.String(), "holdAndWait (monitor_test.go:")
			assert.NotEqual(t, b.Waiter.Stack.String(), b.Holders[0].Stack.String())
		}
		assert.Len(t, agents, n)
		assert.Equal(t, n/2, tasks)
		r.end()
	}
}

func TestGoroutineThatLocksTwice(t *testing.T) {
	found := watchFast(t, "twice")
	var mu sync.Mutex
	Watch(&mu, "twice", LevelHolders)
	defer Watch(&mu, "", LevelOff)
	mu.Lock()
	watchdog.hurry()
	mu.Unlock() // now it is known that who locks unlocks
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			mu.Lock()
		}
		mu.Unlock()
	}()
	locktest.Eventually(t, "a deadlock is found", func() bool { return len(found()) == 1 })
	mu.Unlock()
	<-done
	looks(t, 3)
	assert.Len(t, found(), 1)
}

// A reader reads again, and a writer came between.
func TestReaderThatReadsTwice(t *testing.T) {
	found := watchFast(t, "reader")
	var l rwlock.RWLock
	Watch(&l, "reader", LevelHolders)
	defer Watch(&l, "", LevelOff)
	var all stdsync.WaitGroup
	again := make(chan struct{})
	func() { // now it is known that readers unlock themselves
		l.RLock()
		defer l.RUnlock()
	}()
	reads := make(chan struct{})
	all.Go(func() {
		l.RLock()
		close(reads)
		<-again
		l.RLock()
		defer l.RUnlock()
	})
	<-reads
	all.Go(func() {
		l.Lock()
		defer l.Unlock()
	})
	locktest.Eventually(t, "the writer waits", func() bool { return l.Waiting() == 1 })
	close(again)
	locktest.Eventually(t, "a deadlock is found", func() bool { return len(found()) == 1 })
	assert.Len(t, found()[0].Waits, 2)
	l.RUnlock() // for the reader
	all.Wait()
}

// A dispatcher acquires, and those that it starts release. It is never reported, though it holds
// all permits and waits for one more.
func TestDispatchersGiveNoReport(t *testing.T) {
	found := watchFast(t, "dispatched")
	Configure(Config{Period: time.Millisecond, LongWait: 1, LongHold: -1, Logger: slog.New(slog.DiscardHandler)})
	sem := semaphore.New(3)
	Watch(sem, "dispatched", LevelHolders)
	defer Watch(sem, "", LevelOff)
	start := time.Now()
	var all stdsync.WaitGroup
	all.Go(func() {
		for range 12 {
			_ = sem.Acquire(context.Background(), 1)
		}
	})
	for range 9 {
		locktest.Eventually(t, "nothing is left", func() bool { return sem.Waiting() > 0 })
		looks(t, 3)
		sem.Release(1)
	}
	all.Wait()
	assert.Empty(t, found())
	for _, s := range Read().Suspicions {
		assert.False(t, s.Why == Unreleased && s.At.After(start), s)
	}
}

// Many goroutines that lock in order, all the time, are never reported.
func TestLocksThatAreUsedWellGiveNoReport(t *testing.T) {
	found := watchFast(t, "busy")
	locks := newRing(4, "busy").locks
	var all stdsync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		all.Go(func() {
			for {
				for _, l := range locks {
					l.Lock()
				}
				for _, l := range locks {
					l.Unlock()
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	n := int64(50)
	if testing.Short() {
		n = 10
	}
	looks(t, n)
	close(stop)
	all.Wait()
	assert.Empty(t, found())
	for _, l := range locks {
		Watch(l, "", LevelOff)
	}
}

// When nothing is observed there is no goroutine.
func TestMonitorEnds(t *testing.T) {
	runs := func() bool {
		watchdog.mu.Lock()
		defer watchdog.mu.Unlock()
		return watchdog.runs
	}
	var mu sync.Mutex
	Watch(&mu, "", LevelCounts)
	assert.True(t, runs())
	Watch(&mu, "", LevelOff)
	locktest.Eventually(t, "the monitor ends", func() bool { return !runs() })
	Watch(&mu, "", LevelCounts)
	assert.True(t, runs())
	Watch(&mu, "", LevelOff)
}

// At LevelOff a lock is forgotten, and an executor keeps its name.
func TestWatchAtLevelOffEndsTheObservation(t *testing.T) {
	var mu sync.Mutex
	known := func() []Lock {
		return slices.DeleteFunc(Read().Locks, func(l Lock) bool { return l.Name != t.Name() })
	}
	Watch(&mu, t.Name(), LevelOff)
	require.Empty(t, known(), "it was not observed")
	Watch(&mu, t.Name(), LevelHolders)
	mu.Lock()
	require.Len(t, known()[0].Holders, 1)
	Watch(&mu, t.Name(), LevelOff)
	require.Empty(t, known())
	Watch(&mu, t.Name(), LevelHolders)
	require.Empty(t, known()[0].Holders)
	require.EqualValues(t, 1, known()[0].Unknown, "what was known is forgotten")
	mu.Unlock()
	Watch(&mu, "", LevelOff)

	ex := rt.New(rt.WithWorkers(1))
	end := make(chan struct{})
	rt.Go(ex, func(*rt.Context) (struct{}, error) { <-end; return struct{}{}, nil })
	Watch(ex, t.Name(), LevelHolders)
	Watch(ex, "another name", LevelOff)
	Watch(ex, "", LevelHolders)
	require.Equal(t, t.Name(), Read().Tasks[0].Executor)
	Watch(ex, "", LevelOff)
	require.Empty(t, Read().Tasks)
	close(end)
	require.NoError(t, ex.Shutdown(context.Background()))
}

func TestMisuseOfWatchPanics(t *testing.T) {
	var mu sync.Mutex
	for _, level := range []Level{LevelOff, LevelHolders} {
		assert.PanicsWithValue(t, "observe: Watch of a *int, which is not a pointer to a lock that can be observed",
			func() { Watch(new(int), "", level) })
	}
	assert.PanicsWithValue(t, "observe: Watch at level 3: there is no such level",
		func() { Watch(&mu, "", LevelHolders+1) })
}

// In a bubble nothing starts the monitor, which would hold the bubble up.
func TestBubblesStartNoMonitor(t *testing.T) {
	locktest.Eventually(t, "the monitor ends", func() bool {
		watchdog.mu.Lock()
		defer watchdog.mu.Unlock()
		return !watchdog.runs
	})
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		Watch(&mu, "bubble", LevelHolders)
		mu.Lock()
		go func() {
			time.Sleep(time.Hour)
			mu.Unlock()
		}()
		mu.Lock()
		s := Read()
		require.Len(t, s.Locks, 1)
		assert.Len(t, s.Locks[0].Holders, 1)
		mu.Unlock()
		Watch(&mu, "", LevelOff)
		assert.False(t, watchdog.runs)
	})
}

// Two locks that are taken in both orders are told of, although nobody has waited; and not if one
// of them is only tried, or if another lock stands before both.
func TestInversionsWithoutWaits(t *testing.T) {
	for name, test := range map[string]struct {
		second func(a, b, gate *mutex.Mutex)
		want   int
	}{
		"both orders": {func(a, b, _ *mutex.Mutex) {
			b.Lock()
			defer b.Unlock()
			a.Lock()
			defer a.Unlock()
		}, 1},
		"a try": {func(a, b, _ *mutex.Mutex) {
			b.Lock()
			defer b.Unlock()
			if a.TryLock() {
				a.Unlock()
			}
		}, 0},
		"a gate": {func(a, b, gate *mutex.Mutex) {
			gate.Lock()
			defer gate.Unlock()
			b.Lock()
			defer b.Unlock()
			a.Lock()
			defer a.Unlock()
		}, 0},
	} {
		watchFast(t, "")
		start := time.Now()
		var a, b, gate mutex.Mutex
		for _, l := range []*mutex.Mutex{&a, &b, &gate} {
			Watch(l, name, LevelHolders)
		}
		do := func(f func()) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				f()
			}()
			<-done
		}
		do(func() {
			if test.want == 0 {
				gate.Lock()
				defer gate.Unlock()
			}
			a.Lock()
			defer a.Unlock()
			b.Lock()
			defer b.Unlock()
		})
		do(func() { test.second(&a, &b, &gate) })
		looks(t, 3)
		found := slices.DeleteFunc(Read().Suspicions, func(s Suspicion) bool {
			return s.Why != Inversion || s.At.Before(start)
		})
		require.Len(t, found, test.want, name)
		for _, s := range found {
			for i, stack := range s.Stacks {
				assert.Contains(t, stack.String(), "TestInversionsWithoutWaits", i)
			}
		}
		for _, l := range []*mutex.Mutex{&a, &b, &gate} {
			Watch(l, "", LevelOff)
		}
	}
}

// What locks tell that are watched while the monitor looks is in the next report, if not in this.
func TestNoNestingIsLostBesideALook(t *testing.T) {
	watchFast(t, "")
	others := make([]mutex.Mutex, 1000) // so that a look takes long
	for i := range others {
		Watch(&others[i], "other", LevelCounts)
		defer Watch(&others[i], "", LevelOff)
	}
	for range locktest.Scaled(80) {
		var a, b mutex.Mutex
		nest := func(first, second *mutex.Mutex) func() {
			return func() { first.Lock(); second.Lock(); second.Unlock(); first.Unlock() }
		}
		start := time.Now()
		watchdog.hurry()
		Watch(&a, t.Name(), LevelHolders)
		Watch(&b, t.Name(), LevelHolders)
		var one, other stdsync.WaitGroup
		one.Go(nest(&a, &b))
		one.Wait()
		other.Go(nest(&b, &a))
		other.Wait()
		locktest.Eventually(t, "it is found", func() bool {
			return slices.ContainsFunc(Read().Suspicions, func(s Suspicion) bool {
				return s.Why == Inversion && s.At.After(start)
			})
		})
		Watch(&a, "", LevelOff)
		Watch(&b, "", LevelOff)
	}
}

// A goroutine may lock for its child, which unlocks. The first time nobody knows that the parent
// does not wait for itself.
func TestChildThatUnlocksIsNoDeadlock(t *testing.T) {
	found := watchFast(t, "child")
	var mu mutex.Mutex
	Watch(&mu, "child", LevelHolders)
	defer Watch(&mu, "", LevelOff)
	for range 3 {
		mu.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			locktest.Eventually(t, "the parent waits", func() bool { return mu.Waiting() == 1 })
			looks(t, 3)
			mu.Unlock()
		}()
		mu.Lock()
		<-done
		done = make(chan struct{})
		go func() {
			defer close(done)
			mu.Unlock()
		}()
		<-done
	}
	assert.Empty(t, found())
}

// In a bubble it is the year 2000: a monitor outside must not take waits there for long ones.
func TestWaitsInBubblesAreNotLong(t *testing.T) {
	watchFast(t, "")
	start := time.Now()
	var outside mutex.Mutex
	Watch(&outside, "outside", LevelCounts) // so the monitor runs
	defer Watch(&outside, "", LevelOff)
	synctest.Test(t, func(*testing.T) {
		var mu sync.Mutex
		Watch(&mu, "inside", LevelHolders)
		mu.Lock()
		go func() {
			time.Sleep(time.Second)
			for first := watchdog.looks.Load(); watchdog.looks.Load() < first+3; {
				runtime.Gosched()
			}
			mu.Unlock()
		}()
		mu.Lock()
		defer mu.Unlock()
		Watch(&mu, "", LevelOff)
	})
	for _, s := range Read().Suspicions {
		assert.False(t, s.At.After(start) && s.Lock == "inside", s)
	}
}

// A permit that is collected is told of.
func TestLeaksAreTold(t *testing.T) {
	watchFast(t, "")
	sem := semaphore.New(2)
	Watch(sem, "leaky", LevelHolders)
	defer Watch(sem, "", LevelOff)
	var told atomic.Int64
	stop := On(func(l Leak) {
		if l.Lock == "leaky" && l.Permits == 1 && strings.Contains(l.Stack.String(), "TestLeaksAreTold") {
			told.Add(1)
		}
	})
	defer stop()
	func() {
		_, err := sem.AcquirePermit(context.Background(), 1)
		require.NoError(t, err)
	}()
	locktest.Eventually(t, "the leak is told", func() bool {
		runtime.GC()
		return told.Load() == 1
	})
}

// Semaphores are deadlocked for certain if their permits have been returned by those who had
// acquired them at the same places. The first time it is only possible.
func TestSemaphoresThatDeadlock(t *testing.T) {
	found := watchFast(t, "semaphores")
	Configure(Config{Period: time.Millisecond, LongWait: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	for _, used := range []bool{true, false} {
		start := time.Now()
		a, b := semaphore.New(1), semaphore.New(2)
		Watch(a, "semaphores a", LevelHolders)
		Watch(b, "semaphores b", LevelHolders)
		before := len(found())
		var all, met stdsync.WaitGroup
		round := func(meet func()) {
			for _, locks := range [][2]*semaphore.Semaphore{{a, b}, {b, a}} {
				n := locks[1].Size()
				all.Go(func() {
					_ = locks[0].Acquire(context.Background(), 1)
					if meet != nil {
						meet()
					}
					_ = locks[1].Acquire(context.Background(), n)
					locks[1].Release(n)
					locks[0].Release(1)
				})
				if meet == nil { // one after the other: nobody waits
					all.Wait()
				}
			}
		}
		if used {
			round(nil)
		}
		met.Add(2)
		round(func() {
			met.Done()
			met.Wait()
		})
		possible := func() int {
			return len(slices.DeleteFunc(Read().Suspicions, func(s Suspicion) bool {
				return s.Why != Unreleased || s.At.Before(start)
			}))
		}
		locktest.Eventually(t, "it is reported", func() bool { return len(found()) > before || possible() > 0 })
		looks(t, 3)
		if used {
			assert.Len(t, found(), before+1)
			assert.Zero(t, possible())
		} else {
			assert.Len(t, found(), before)
			assert.Equal(t, 1, possible())
		}
		b.Resize(3) // lets the first one go on
		all.Wait()
		Watch(a, "", LevelOff)
		Watch(b, "", LevelOff)
	}
}

// Tasks that await futures wait for each other, and for a goroutine. An abort ends it.
func TestTasksThatDeadlock(t *testing.T) {
	found := watchFast(t, "tasks")
	ex := rt.New(rt.WithWorkers(1))
	Watch(ex, "tasks", LevelHolders)
	defer Watch(ex, "", LevelOff)
	var locks [3]mutex.Mutex
	for i := range locks {
		Watch(&locks[i], fmt.Sprint("tasks ", i), LevelHolders)
		defer Watch(&locks[i], "", LevelOff)
	}
	var met stdsync.WaitGroup
	met.Add(3)
	all := make(chan struct{})
	go func() {
		defer close(all)
		met.Wait()
	}()
	for i := range 2 {
		rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
			var mine, next waiter.Future
			locks[i].Bind(&mine)
			defer mine.Release()
			if err := rt.Await(cx, &mine); err != nil {
				return struct{}{}, err
			}
			met.Done()
			for { // until all have theirs
				select {
				case <-all:
				default:
					if err := rt.Yield(cx); err != nil {
						return struct{}{}, err
					}
					continue
				}
				break
			}
			locks[i+1].Bind(&next)
			defer next.Release()
			return struct{}{}, rt.Await(cx, &next)
		})
	}
	var end stdsync.WaitGroup
	end.Go(func() {
		locks[2].Lock()
		defer locks[2].Unlock()
		met.Done()
		<-all
		locks[0].Lock()
		defer locks[0].Unlock()
	})
	locktest.Eventually(t, "a deadlock is found", func() bool { return len(found()) > 0 })
	looks(t, 3)
	require.Len(t, found(), 1)
	waits := found()[0].Waits
	require.Len(t, waits, 3)
	tasks := 0
	for _, w := range waits {
		if w.Waiter.Agent.Task != 0 {
			tasks++
		}
	}
	assert.Equal(t, 2, tasks)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = ex.Shutdown(ctx)
	end.Wait()
}

// A deadlock that was reported is not reported again in pieces: that its locks are waited for and
// held for long, and were taken in both orders. What concerns other locks is.
func TestADeadlockIsNotRepeatedAsSuspicions(t *testing.T) {
	s := sight{dead: map[uint64]bool{1: true, 2: true}}
	for _, x := range []struct {
		of   Suspicion
		want bool
	}{
		{Suspicion{Why: LongWait, LockID: 1}, true},
		{Suspicion{Why: LongHold, LockID: 2}, true},
		{Suspicion{Why: LongWait, LockID: 3}, false},
		{Suspicion{Why: Inversion, LockID: 1, inner: 2}, true},
		{Suspicion{Why: Inversion, LockID: 1, inner: 3}, false},
		{Suspicion{Why: Unreleased, LockID: 1}, false},
	} {
		require.Equal(t, x.want, s.repeats(&x.of), "%+v", x.of)
	}
	s.forgetDead(&Snapshot{Locks: []Lock{
		{ID: 1, Waiters: []Waiter{{ID: 7}}},
		{ID: 2}, // The deadlock has ended: nobody waits.
	}})
	require.Equal(t, map[uint64]bool{1: true}, s.dead)
}
