//go:build !interleave

package sync

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// A observedLock is one of the three ways to hold a lock.
type observedLock struct {
	name string
	make func() any

	lock    func(l any)
	try     func(l any) bool
	context func(l any, ctx context.Context) error
	timeout func(l any, d time.Duration) bool
	unlock  func(l any)

	exclude func(l any) // keeps others out
	allow   func(l any) // ends that
	permits int64
	shared  bool
}

var observedLocks = []observedLock{
	{
		name: "sync.Mutex", make: func() any { return new(Mutex) }, permits: 1,
		lock:    func(l any) { l.(*Mutex).Lock() },
		try:     func(l any) bool { return l.(*Mutex).TryLock() },
		context: func(l any, ctx context.Context) error { return l.(*Mutex).LockContext(ctx) },
		timeout: func(l any, d time.Duration) bool { return l.(*Mutex).LockTimeout(d) },
		unlock:  func(l any) { l.(*Mutex).Unlock() },
		exclude: func(l any) { l.(*Mutex).Lock() },
		allow:   func(l any) { l.(*Mutex).Unlock() },
	},
	{
		name: "sync.RWMutex", make: func() any { return new(RWMutex) }, permits: rwSize,
		lock:    func(l any) { l.(*RWMutex).Lock() },
		try:     func(l any) bool { return l.(*RWMutex).TryLock() },
		context: func(l any, ctx context.Context) error { return l.(*RWMutex).LockContext(ctx) },
		timeout: func(l any, d time.Duration) bool { return l.(*RWMutex).LockTimeout(d) },
		unlock:  func(l any) { l.(*RWMutex).Unlock() },
		exclude: func(l any) { l.(*RWMutex).RLock() },
		allow:   func(l any) { l.(*RWMutex).RUnlock() },
	},
	{
		name: "sync.RWMutex", make: func() any { return new(RWMutex) }, permits: 1, shared: true,
		lock:    func(l any) { l.(*RWMutex).RLock() },
		try:     func(l any) bool { return l.(*RWMutex).TryRLock() },
		context: func(l any, ctx context.Context) error { return l.(*RWMutex).RLockContext(ctx) },
		timeout: func(l any, d time.Duration) bool { return l.(*RWMutex).RLockTimeout(d) },
		unlock:  func(l any) { l.(*RWMutex).RUnlock() },
		exclude: func(l any) { l.(*RWMutex).Lock() },
		allow:   func(l any) { l.(*RWMutex).Unlock() },
	},
}

func forEachObserved(t *testing.T, f func(t *testing.T, w observedLock)) {
	t.Helper()
	for _, w := range observedLocks {
		name := w.name
		if w.shared {
			name += " for reading"
		}
		t.Run(name, func(t *testing.T) { f(t, w) })
	}
}

// Each request is counted once, as what has become of it.
func TestObservedLockCountsRequests(t *testing.T) {
	forEachObserved(t, func(t *testing.T, w observedLock) {
		l := w.make()
		read := observedtest.Watch(t, l, observed.Counts)
		canceled, cancel := context.WithCancel(bg)
		cancel()

		w.lock(l)
		w.unlock(l)
		require.True(t, w.try(l))
		w.unlock(l)
		require.NoError(t, w.context(l, t.Context()))
		w.unlock(l)
		require.True(t, w.timeout(l, time.Hour))
		w.unlock(l)
		require.True(t, w.context(l, canceled) != nil) // which is not a request
		s := read()
		require.Equal(t, w.name, s.Kind)
		require.True(t, s.Owned)
		require.EqualValues(t, 4, s.Acquired)
		require.Zero(t, s.Contended)
		require.Equal(t, s.Size, s.Free)

		w.exclude(l)
		require.False(t, w.try(l))
		require.False(t, w.timeout(l, time.Microsecond))
		soon, cancel := context.WithTimeout(bg, time.Microsecond)
		defer cancel()
		require.True(t, w.context(l, soon) != nil)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(bg)
		go func() { ended <- w.context(l, ctx) }()
		locktest.Eventually(t, "it waits", func() bool { return read().Waiting == 1 })
		cancel()
		require.ErrorIs(t, locktest.Receive(t, ended), context.Canceled)
		go func() { w.lock(l); w.unlock(l); ended <- nil }()
		locktest.Eventually(t, "it waits", func() bool { return read().Waiting == 1 })
		w.allow(l)
		require.NoError(t, locktest.Receive(t, ended))
		s = read()
		require.EqualValues(t, 6, s.Acquired)
		require.EqualValues(t, 1, s.Failed[records.Tried])
		require.EqualValues(t, 1, s.Failed[records.Cancelled])
		require.EqualValues(t, 4, s.Contended+2-s.Failed[records.TimedOut]) // One may have ended before it began.
		require.Equal(t, s.Size, s.Free)
		require.Zero(t, s.Waiting)
	})
}

// Who holds and who waits are known by their stacks, as long as they do.
func TestObservedLockKnowsItsHolders(t *testing.T) {
	forEachObserved(t, func(t *testing.T, w observedLock) {
		l := w.make()
		read := observedtest.Watch(t, l, observed.Holders)
		for name, lock := range map[string]func(){
			"lock":    func() { w.lock(l) },
			"try":     func() { w.try(l) },
			"context": func() { _ = w.context(l, t.Context()) },
			"timeout": func() { w.timeout(l, time.Hour) },
		} {
			lock()
			s := read()
			require.Len(t, s.Holders, 1, name)
			h := s.Holders[0]
			require.Equal(t, w.permits, h.Permits, name)
			require.Equal(t, w.shared, h.Shared, name)
			require.Equal(t, s.Size-w.permits, s.Free, name)
			requireStack(t, &h, "TestObservedLockKnowsItsHolders")
			w.unlock(l)
			require.Empty(t, read().Holders, name)

			if name == "try" {
				continue
			}
			w.exclude(l)
			ended := make(chan bool)
			go func() { waitsHere(lock); w.unlock(l); ended <- true }()
			locktest.Eventually(t, "it waits", func() bool { return read().Waiting == 1 })
			s = read()
			require.Len(t, s.Waiters, 1, name)
			require.Len(t, s.Holders, 1, name)
			require.Equal(t, w.permits, s.Waiters[0].Permits, name)
			require.Equal(t, w.shared, s.Waiters[0].Shared, name)
			require.Equal(t, name != "lock", s.Waiters[0].CanEnd, name)
			requireStack(t, &s.Waiters[0], "waitsHere")
			w.allow(l)
			locktest.Receive(t, ended)
			s = read()
			require.Empty(t, s.Holders, name)
			require.Empty(t, s.Waiters, name)
		}
	})
}

//go:noinline
func waitsHere(lock func()) { lock() }

func requireStack(t *testing.T, h *records.Hold, function string) {
	t.Helper()
	frames, names := runtime.CallersFrames(h.Stack.PCs()), ""
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		names += f.Function + "\n"
	}
	require.Contains(t, names, function)
}

// The holder of a lock that begins to be observed is unknown, and nobody else is.
func TestObservedLockSaysWhoIsUnknown(t *testing.T) {
	forEachObserved(t, func(t *testing.T, w observedLock) {
		l := w.make()
		w.lock(l)
		read := observedtest.Watch(t, l, observed.Holders)
		require.Equal(t, w.permits, read().Unknown)
		require.Empty(t, read().Holders)
		w.unlock(l)
		require.Zero(t, read().Unknown)
		w.lock(l)
		require.Zero(t, read().Unknown)
		require.Len(t, read().Holders, 1)
		w.unlock(l)
	})
}

// When all locks are to be observed, one that somebody has to wait for joins.
func TestLockThatIsWaitedForJoins(t *testing.T) {
	forEachObserved(t, func(t *testing.T, w observedLock) {
		before := records.All(observed.Holders)
		defer records.All(before)
		l := w.make()
		w.exclude(l)
		require.False(t, l.(observable).isObserved())
		require.False(t, w.timeout(l, time.Millisecond))
		require.True(t, l.(observable).isObserved())
		w.allow(l)
		require.True(t, records.Unwatch(l))
		require.False(t, l.(observable).isObserved())
	})
}

// An observed lock is one in a bubble, too.
func TestObservedLockInABubble(t *testing.T) {
	withBubbles(t)
	forEachObserved(t, func(t *testing.T, w observedLock) {
		l := w.make()
		read := observedtest.Watch(t, l, observed.Holders)
		synctest.Test(t, func(t *testing.T) {
			require.True(t, w.try(l))
			require.Len(t, read().Holders, 1)
			require.Equal(t, read().Size-w.permits, read().Free)
			w.unlock(l)
			w.lock(l)
			w.unlock(l)
			w.exclude(l)
			go func() { w.lock(l); w.unlock(l) }()
			synctest.Wait()
			require.Len(t, read().Waiters, 1)
			require.Len(t, read().Holders, 1)
			require.False(t, w.timeout(l, time.Hour))
			w.allow(l)
			synctest.Wait()
			require.Empty(t, read().Holders)
			require.Empty(t, read().Waiters)
			require.Equal(t, read().Size, read().Free)
			require.EqualValues(t, 4, read().Acquired)
		})
	})
}

// Everything that is promised, of locks that are observed.
func TestContractWhileObserved(t *testing.T) {
	mutextest.RunOf[Mutex](t, func() *Mutex {
		m := new(Mutex)
		records.Watch(m, "", observed.Holders)
		return m
	}, false, unobserved("WaitingAllocatesNothing"), unobserved("FutureAllocatesNothing"),
		unobserved("GivingUpAllocatesNothing"))
}

func unobserved(test string) mutextest.Known {
	return mutextest.Known{Test: test, Why: "of a lock that is observed: TestObservingAllocatesNothing"}
}

// A lock that is observed and not, over and over, loses nothing; and what is told of it adds up.
func TestWatchingLosesNothing(t *testing.T) {
	forEachObserved(t, func(t *testing.T, w observedLock) {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			l := w.make()
			n := locktest.Scaled(2000)
			done := make(chan struct{})
			var toggler, workers sync.WaitGroup
			toggler.Go(func() {
				for level := observed.Off; ; level = (level + 1) % 3 {
					select {
					case <-done:
						return
					default:
						records.Watch(l, "", level)
						runtime.Gosched()
					}
				}
			})
			for i := range 4 {
				workers.Go(func() {
					for range n {
						switch i {
						case 0:
							w.exclude(l)
							w.allow(l)
						case 1:
							if w.try(l) {
								w.unlock(l)
							}
						case 2:
							if w.timeout(l, 10*time.Microsecond) {
								w.unlock(l)
							}
						default:
							w.lock(l)
							w.unlock(l)
						}
					}
				})
			}
			workers.Wait()
			close(done)
			toggler.Wait()
			read := observedtest.Watch(t, l, observed.Holders)
			require.Zero(require.GoOn(t), read().Unknown)
			w.exclude(l)
			w.allow(l)
			require.True(t, w.try(l), "the lock was lost")
			w.unlock(l)
			s := read()
			require.Empty(require.GoOn(t), s.Holders)
			require.Empty(require.GoOn(t), s.Waiters)
			require.Equal(require.GoOn(t), s.Size, s.Free)
		})
	})
}

// In the steady state nothing is allocated for what is known of a lock.
func TestObservingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	forEachObserved(t, func(t *testing.T, w observedLock) {
		for name, level := range map[string]observed.Level{"counts": observed.Counts, "holders": observed.Holders} {
			t.Run(name, func(t *testing.T) {
				l := w.make()
				observedtest.Watch(t, l, level)
				require.Zero(t, locktest.AllocsPerRun(1000, func() { w.lock(l); w.unlock(l) }))
				waits := locktest.AllocsPerWait(l.(interface{ Waiting() int }),
					func() { w.exclude(l) }, func() { w.allow(l) }, func() { w.lock(l); w.unlock(l) })
				require.Zero(t, waits)
			})
		}
	})
}

func TestObservedFutures(t *testing.T) {
	var m Mutex
	var l RWMutex
	for name, u := range map[string]observedtest.Future{
		"lock":  {Of: &m, Bind: m.Bind, Take: m.Lock, Give: m.Unlock, GiveIts: m.Unlock, Permits: 1},
		"write": {Of: &l, Bind: l.Bind, Take: l.Lock, Give: l.Unlock, GiveIts: l.Unlock},
		"read":  {Of: &l, Bind: l.BindRead, Take: l.Lock, Give: l.Unlock, GiveIts: l.RUnlock, Permits: 1, Shared: true},
	} {
		t.Run(name, func(t *testing.T) { observedtest.RunFuture(t, u) })
	}
}

// Of a cond the waits are known, while they last, and leave no hold.
func TestObservedCondKnowsItsWaiters(t *testing.T) {
	var mu Mutex
	c := NewCond(&mu)
	read := observedtest.Watch(t, c, observed.Holders)
	for _, end := range []func(){c.Signal, c.Broadcast} {
		ended := make(chan bool)
		go func() {
			waitsHere(func() { do(&mu, c.Wait) })
			ended <- true
		}()
		locktest.Eventually(t, "it waits", func() bool { return read().Waiting == 1 })
		s := read()
		require.Equal(t, "sync.Cond", s.Kind)
		require.Len(t, s.Waiters, 1)
		require.Zero(t, s.Size+s.Waiters[0].Permits)
		require.False(t, s.Waiters[0].CanEnd)
		requireStack(t, &s.Waiters[0], "waitsHere")
		end()
		locktest.Receive(t, ended)
	}
	do(&mu, func() { require.False(t, c.WaitTimeout(time.Microsecond)) })
	s := read()
	require.Empty(t, s.Waiters)
	require.Empty(t, s.Holders)
	require.EqualValues(t, 2, s.Acquired)
	require.EqualValues(t, 3, s.Contended)
	require.EqualValues(t, 1, s.Failed[records.TimedOut])

	c.L = stuckLock{&mu}
	mu.Lock()
	require.Panics(t, c.Wait)
	require.Empty(t, read().Waiters)
}

// A stuckLock cannot be unlocked.
type stuckLock struct{ Locker }

func (stuckLock) Unlock() { panic("stuck") }

// Of a wait group the waits are known, and how many tasks there are.
func TestObservedWaitGroupKnowsItsWaiters(t *testing.T) {
	var wg WaitGroup
	read := observedtest.Watch(t, &wg, observed.Holders)
	wg.Add(3)
	ended := make(chan bool)
	go func() {
		waitsHere(wg.Wait)
		ended <- true
	}()
	locktest.Eventually(t, "it waits", func() bool { return read().Waiting == 1 })
	s := read()
	require.Equal(t, "sync.WaitGroup", s.Kind)
	require.Len(t, s.Waiters, 1)
	require.EqualValues(t, 3, s.Size-s.Free)
	requireStack(t, &s.Waiters[0], "waitsHere")
	require.False(t, wg.WaitTimeout(time.Microsecond))
	wg.Add(-3)
	locktest.Receive(t, ended)
	s = read()
	require.Empty(t, s.Waiters)
	require.Empty(t, s.Holders)
	require.Zero(t, s.Size-s.Free)
	require.EqualValues(t, 1, s.Acquired)
	require.EqualValues(t, 1, s.Failed[records.TimedOut])
}

// Those that somebody waits for join when all are to be observed.
func TestCondAndWaitGroupJoin(t *testing.T) {
	defer records.All(records.All(observed.Counts))
	var mu Mutex
	c, wg := NewCond(&mu), new(WaitGroup)
	do(&mu, func() { require.False(t, c.WaitTimeout(time.Microsecond)) })
	require.True(t, c.isObserved())
	wg.Add(1)
	require.False(t, wg.WaitTimeout(time.Microsecond))
	require.True(t, wg.isObserved())
	wg.Done()
	wg.Wait()
	records.Unwatch(c)
	records.Unwatch(wg)
	require.False(t, c.isObserved() || wg.isObserved())
}

// crowdOf has a goroutine wait for m, which the caller holds, and unlocks m. It returns when the
// other has m and before it unlocks.
func crowdOf(t *testing.T, m *Mutex) (unlock func()) {
	t.Helper()
	in, out := make(chan bool), make(chan bool)
	go func() {
		m.Lock()
		in <- true
		<-out
		m.Unlock()
		in <- true
	}()
	locktest.Eventually(t, "it waits", func() bool { return m.Waiting() == 1 })
	m.Unlock()
	locktest.Receive(t, in)
	return func() {
		t.Helper()
		close(out)
		locktest.Receive(t, in)
	}
}

// A crowded mutex has its fast path although it is counted, and counts there, too.
func TestCrowdedMutexCountsOnItsFastPath(t *testing.T) {
	m := newMutex(7) // in whose lane some have been before
	read := observedtest.Watch(t, m, observed.Counts)
	m.Lock()
	crowdOf(t, m)()
	require.False(t, m.isObserved())
	for range 10 {
		m.Lock()
		m.Unlock()
	}
	require.EqualValues(t, 10, m.passed())
	require.EqualValues(t, 12, read().Acquired)
	require.EqualValues(t, 1, read().Contended)

	require.True(t, m.TryLock())
	require.False(t, m.TryLock())
	require.False(t, m.LockTimeout(time.Microsecond))
	require.EqualValues(t, 13, read().Acquired)
	require.EqualValues(t, 1, read().Failed[records.Tried])
	require.EqualValues(t, 1, read().Failed[records.TimedOut])
	require.EqualValues(t, 2, read().Contended)
	m.Unlock()

	places := uint64(m.lane.places())
	for m.passed() > 0 { // until the lane is full, and a goroutine that does not wait renews it
		m.Lock()
		m.Unlock()
	}
	require.True(t, m.isObserved(), "it is not crowded any more")
	require.Equal(t, places+3, read().Acquired)
	m.Lock()
	m.Unlock()
	require.Zero(t, m.passed())
	require.Equal(t, places+4, read().Acquired)
}

// A long hold of a crowded mutex is measured, because the monitor looks.
func TestHoldsOfACrowdedMutexAreMeasured(t *testing.T) {
	m := new(Mutex)
	read := observedtest.Watch(t, m, observed.Counts)
	m.Lock()
	crowdOf(t, m)()
	before := read().Hold.Count
	m.Lock()
	require.EqualValues(t, 1, m.passed())
	records.Stamp()
	records.Stamp() // the second finds that nothing was acquired since
	m.Unlock()
	require.Equal(t, before+1, read().Hold.Count)
}

// At LevelHolders a mutex is never without its bit, crowded or not.
func TestCrowdedMutexHasHolders(t *testing.T) {
	m := new(Mutex)
	read := observedtest.Watch(t, m, observed.Counts)
	m.Lock()
	unlock := crowdOf(t, m)
	require.False(t, m.isObserved())
	records.Watch(m, "", observed.Holders)
	require.True(t, m.isObserved())
	require.EqualValues(t, 1, read().Unknown)
	unlock()
	require.Zero(t, read().Unknown)
	m.Lock()
	crowdOf(t, m)()
	require.True(t, m.isObserved())
	m.Lock()
	require.Len(t, read().Holders, 1)
	m.Unlock()
	require.Zero(t, read().Handed)
	require.EqualValues(t, 5, read().Acquired)
}

// Each acquisition is counted once, and no figure falls, whatever happens beside.
func TestCrowdedMutexCountsAll(t *testing.T) {
	for _, levels := range [][]observed.Level{{observed.Counts}, {observed.Counts, observed.Holders}} {
		m := new(Mutex)
		read := observedtest.Watch(t, m, observed.Counts)
		goroutines, rounds := 4, locktest.Scaled(400_000)
		var users, others sync.WaitGroup
		for range goroutines {
			users.Go(func() {
				for i := range rounds {
					m.Lock()
					if i%100 == 0 {
						runtime.Gosched() // the others wait
					}
					m.Unlock()
				}
			})
		}
		stop := make(chan struct{})
		others.Go(func() {
			last := uint64(0)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				now := read().Acquired
				require.GreaterOrEqual(require.GoOn(t), now, last)
				require.LessOrEqual(require.GoOn(t), now, uint64(goroutines*rounds))
				last = now
				records.Stamp()
				records.Watch(m, "", levels[i%len(levels)])
				runtime.Gosched()
			}
		})
		users.Wait()
		close(stop)
		others.Wait()
		records.Watch(m, "", observed.Holders)
		s := read()
		require.EqualValues(t, goroutines*rounds, s.Acquired)
		require.Empty(t, s.Holders)
		require.Zero(t, s.Unknown)
		require.NotZero(t, s.Contended)
		// One hold stands for up to 16 lanes, so that a few of them more or less are some per cent.
		// Each change of the level may lose those that no hold stands for yet.
		require.InEpsilon(t, goroutines*rounds, s.Hold.Count, 0.3*float64(len(levels)), "the sample stands for all")
		records.Unwatch(m)
		require.False(t, m.isObserved())
	}
}

// The level of a record rises before the bit of its lock is set. A lock in between is a known
// hold, and so its unlock is recorded: it sets the bit. The hold would never end.
func TestHoldFromBeforeTheBitEnds(t *testing.T) {
	for name, lock := range map[string]func(m *Mutex) bool{
		"TryLock":     (*Mutex).TryLock,
		"LockTimeout": func(m *Mutex) bool { return m.LockTimeout(time.Hour) },
		"LockContext": func(m *Mutex) bool { return m.LockContext(t.Context()) == nil },
		"LockContext that waits": func(m *Mutex) bool {
			m.word.Or(parking.Locked)
			go func() {
				locktest.AwaitWaiting(t, m, 1)
				m.drop(rwWriter)
			}()
			return m.LockContext(t.Context()) == nil
		},
		"future": func(m *Mutex) bool {
			var f waiter.Future
			m.Bind(&f)
			return f.Poll(nil) && f.Err() == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Mutex
			read := observedtest.Watch(t, &m, observed.Holders)
			m.setObserved(false)
			require.True(t, lock(&m))
			require.Len(t, read().Holders, 1)
			m.Unlock()
			require.Empty(t, read().Holders)
		})
	}
}
