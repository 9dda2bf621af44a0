//go:build !interleave

package records_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

var bg = context.Background()

func inFunction(s *records.Stack, name string) bool {
	frames := runtime.CallersFrames(s.PCs())
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// A way to use a lock: n of its permits, shared or not.
type way struct {
	lock    any
	acquire func(ctx context.Context) error
	release func()
	n       int64
	shared  bool
}

func ways() map[string]way {
	m, l := new(mutex.Mutex), new(rwlock.RWLock)
	all := map[string]way{
		"mutex": {m, m.LockContext, m.Unlock, 1, false},
		"write": {l, l.LockContext, l.Unlock, 1<<56 - 2, false},
	}
	for name, opts := range map[string][]semaphore.Option{
		"plain": nil, "array": {semaphore.WithWaitingArray(nil)}, "capacitor": {semaphore.WithCapacitor(1, 16)},
	} {
		s := semaphore.New(2, opts...)
		acquire := func(ctx context.Context) error { return s.Acquire(ctx, 2) }
		all[name] = way{s, acquire, func() { s.Release(2) }, 2, false}
	}
	return all
}

func TestHoldersAndWaitersAreShown(t *testing.T) {
	for name, w := range ways() {
		t.Run(name, func(t *testing.T) {
			read := observedtest.Watch(t, w.lock, observed.Holders)
			require.NoError(t, w.acquire(bg))
			l := read()
			require.Len(t, l.Holders, 1)
			h := l.Holders[0]
			require.Equal(t, w.n, h.Permits)
			require.Equal(t, w.shared, h.Shared)
			require.True(t, inFunction(h.Stack, "TestHoldersAndWaitersAreShown"))
			require.NotZero(t, h.Agent.Goroutine)
			require.Zero(t, l.Unknown)
			require.Equal(t, l.Size-l.Free, w.n)

			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			done := make(chan error)
			for range 2 {
				go func() { done <- w.acquire(ctx) }()
			}
			locktest.Eventually(t, "not in time", func() bool { return len(read().Waiters) == 2 && read().Waiting == 2 })
			l = read()
			for _, x := range l.Waiters {
				require.True(t, x.CanEnd)
				require.NotEqual(t, h.Agent.Goroutine, x.Agent.Goroutine)
				require.True(t, inFunction(x.Stack, "TestHoldersAndWaitersAreShown"))
			}
			require.EqualValues(t, 2, l.Contended, "they are counted while they wait")
			w.release()
			require.NoError(t, <-done)
			locktest.Eventually(t, "not in time", func() bool { return len(read().Holders) == 1 })
			l = read()
			require.NotEqual(t, h.ID, l.Holders[0].ID)
			require.NotEqual(t, h.Agent.Goroutine, l.Holders[0].Agent.Goroutine)
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
			w.release() // what a goroutine holds that has ended
			l = read()
			require.Empty(t, l.Holders)
			require.Empty(t, l.Waiters)
			require.EqualValues(t, 2, l.Acquired)
			require.EqualValues(t, 1, l.Failed[records.Cancelled])
			require.EqualValues(t, 1, l.Released)
			require.EqualValues(t, 1, l.Handed)
			require.EqualValues(t, 2, l.Peak)
			require.EqualValues(t, 1, l.Wait.Count)
			require.EqualValues(t, 2, l.Hold.Count)
		})
	}
}

func TestWhatWasHeldBeforeIsUnknown(t *testing.T) {
	s := semaphore.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	read := observedtest.Watch(t, s, observed.Holders)
	require.EqualValues(t, 2, read().Unknown)
	require.NoError(t, s.Acquire(bg, 1))
	require.EqualValues(t, 2, read().Unknown)
	require.Len(t, read().Holders, 1)
	s.Release(1) // the newest is the caller's own
	require.Empty(t, read().Holders)
	s.Release(1)
	require.EqualValues(t, 1, read().Unknown)
	s.Release(1)
	require.Zero(t, read().Unknown)
	require.NoError(t, s.Acquire(bg, 3))
	require.Zero(t, read().Unknown)
	s.Release(3)
}

func in(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// Who releases for another is taken to mean the oldest. If there is a choice what is left is
// marked.
func TestReleaseByAnotherIsApproximate(t *testing.T) {
	s := semaphore.New(3)
	read := observedtest.Watch(t, s, observed.Holders)
	require.NoError(t, s.Acquire(bg, 1))
	in(func() { require.NoError(t, s.Acquire(bg, 1)) })
	require.Len(t, read().Holders, 2)
	second := read().Holders[1]
	in(func() { s.Release(1) })
	l := read()
	require.Len(t, l.Holders, 1)
	require.Equal(t, second.ID, l.Holders[0].ID)
	require.True(t, l.Holders[0].Approximate)
	require.EqualValues(t, 1, l.Handed)
	s.Release(1)
	require.Empty(t, read().Holders)
}

func TestPartsOfAHold(t *testing.T) {
	s := semaphore.New(5)
	read := observedtest.Watch(t, s, observed.Holders)
	require.NoError(t, s.Acquire(bg, 3))
	require.NoError(t, s.Acquire(bg, 2))
	s.Release(1)
	require.Equal(t, []int64{3, 1}, permits(read().Holders))
	s.Release(2)
	require.Equal(t, []int64{2}, permits(read().Holders))
	s.Release(2)
	require.Empty(t, read().Holders)
	require.Panics(t, func() { s.Release(1) })
}

func permits(holds []records.Hold) (all []int64) {
	for _, h := range holds {
		all = append(all, h.Permits)
	}
	return all
}

func TestReadersAndUpgrades(t *testing.T) {
	l := new(rwlock.RWLock)
	read := observedtest.Watch(t, l, observed.Holders)
	all := read().Size
	kinds := func() (k []string) {
		for _, h := range read().Holders {
			switch {
			case h.Shared:
				k = append(k, "reader")
			case h.Permits == all:
				k = append(k, "writer")
			default:
				k = append(k, "part")
			}
		}
		return k
	}
	l.RLock()
	require.True(t, l.TryRLock())
	require.Equal(t, []string{"reader", "reader"}, kinds())
	require.False(t, l.TryLock())
	l.ULock()
	require.Equal(t, []string{"reader", "reader", "part"}, kinds())
	l.RUnlock()
	l.RUnlock()
	l.Upgrade()
	require.Equal(t, []string{"part", "part"}, kinds())
	require.Zero(t, read().Free)
	l.Downgrade()
	require.Equal(t, []string{"reader"}, kinds())
	l.RUnlock()
	require.Empty(t, kinds())
	l.Lock()
	require.Equal(t, []string{"writer"}, kinds())
	l.DowngradeToUpgradable()
	l.ForgoUpgrade()
	require.Equal(t, []string{"reader"}, kinds())
	require.Panics(t, l.Unlock)
	require.Equal(t, []string{"reader"}, kinds(), "an illegal unlock changes nothing")
	l.RUnlock()
	require.EqualValues(t, 1, read().Failed[records.Tried])
}

func TestCountsAreExact(t *testing.T) {
	for _, level := range []observed.Level{observed.Counts, observed.Holders} {
		t.Run([]string{"", "counts", "holders"}[level], func(t *testing.T) {
			s := semaphore.New(1, semaphore.WithMaxWaiting(1))
			read := observedtest.Watch(t, s, level)
			for range 9999 {
				require.True(t, s.TryAcquire(1))
				s.Release(1)
			}
			require.ErrorIs(t, s.Acquire(bg, 2), semaphore.ErrTooLarge)
			require.NoError(t, s.Acquire(bg, 1))
			require.False(t, s.TryAcquire(1))
			require.ErrorIs(t, s.AcquireTimeout(1, 1), context.DeadlineExceeded)
			done := make(chan error)
			go func() { done <- s.Acquire(bg, 1) }()
			locktest.Eventually(t, "not in time", func() bool { return s.Waiting() == 1 })
			require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrQueueFull)
			s.Close()
			require.ErrorIs(t, <-done, semaphore.ErrClosed)
			require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrClosed)
			s.Release(1)
			l := read()
			require.EqualValues(t, 10_000, l.Acquired)
			require.EqualValues(t, 2, l.Contended)
			require.Equal(t, [...]uint64{
				records.Tried: 1, records.TooLarge: 1, records.QueueFull: 1, records.Cancelled: 0,
				records.TimedOut: 1, records.Closed: 2, records.Shed: 0, records.WouldExpire: 0,
			}, l.Failed)
			require.InDelta(t, 10_000, l.Hold.Count, 256, "the sample stands for all")
		})
	}
}

func TestFuturesAreShown(t *testing.T) {
	m, l := new(mutex.Mutex), new(rwlock.RWLock)
	futures := map[string]observedtest.Future{
		"mutex": {Of: m, Bind: m.Bind, Take: m.Lock, Give: m.Unlock, GiveIts: m.Unlock, Permits: 1},
		"write": {Of: l, Bind: l.Bind, Take: l.Lock, Give: l.Unlock, GiveIts: l.Unlock},
		"read":  {Of: l, Bind: l.BindRead, Take: l.Lock, Give: l.Unlock, GiveIts: l.RUnlock, Permits: 1, Shared: true},
	}
	for name, opts := range policies {
		s := semaphore.New(3, opts...)
		futures[name] = observedtest.Future{
			Of:      s,
			Bind:    func(f *waiter.Future) { s.Bind(f, 2) },
			Take:    func() { require.NoError(t, s.Acquire(bg, 2)) },
			Give:    func() { s.Release(2) },
			GiveIts: func() { s.Release(1); s.Release(1) },
			Permits: 2,
		}
	}
	for name, f := range futures {
		t.Run(name, func(t *testing.T) { observedtest.RunFuture(t, f) })
	}
}

// policies are the kinds of semaphores.
var policies = map[string][]semaphore.Option{
	"semaphore": nil, "array": {semaphore.WithWaitingArray(nil)}, "capacitor": {semaphore.WithCapacitor(1, 16)},
}

// A request that was refused while it waited, and whose owner did not look, is gone when the future
// is bound to another lock.
func TestRefusedFutureIsForgotten(t *testing.T) {
	for name, opts := range policies {
		t.Run(name, func(t *testing.T) {
			s, other := semaphore.New(1, opts...), semaphore.New(1)
			read := observedtest.Watch(t, s, observed.Holders)
			require.True(t, s.TryAcquire(1))
			var f waiter.Future
			s.Bind(&f, 1)
			require.False(t, f.Poll(nil))
			require.Len(t, read().Waiters, 1)
			s.Close()
			require.True(t, f.Complete())
			other.Bind(&f, 1)
			require.Empty(t, read().Waiters)
			require.True(t, f.Poll(nil))
			f.Release()
		})
	}
}

// The peak counts futures that wait. One that was granted at once has never waited, whether its
// owner has looked or not, and one that was given up does not any more.
func TestFuturesThatWaitArePeak(t *testing.T) {
	for name, opts := range policies {
		t.Run(name, func(t *testing.T) {
			s := semaphore.New(2, opts...)
			read := observedtest.Watch(t, s, observed.Holders)
			fs := make([]*waiter.Future, 5)
			for i := range fs {
				fs[i] = new(waiter.Future)
				s.Bind(fs[i], 1)
				fs[i].Poll(nil)
			}
			require.Equal(t, 3, read().Peak)
			require.NoError(t, fs[0].Err())
			for _, f := range fs {
				f.Release()
			}
			for range 4 { // one after the other: at a time one waits
				require.True(t, s.TryAcquire(2))
				s.Bind(fs[0], 1)
				require.False(t, fs[0].Poll(nil))
				fs[0].Release()
				s.Release(2)
			}
			require.Equal(t, 3, read().Peak)
			for range 3 {
				require.NoError(t, s.Acquire(t.Context(), 1))
				s.Release(1)
			}
			require.Equal(t, 3, read().Peak)
		})
	}
}

// A request that fails is counted when its owner asks why, at either level, and only once.
func TestFailedFuturesAreCounted(t *testing.T) {
	for name, opts := range policies {
		for _, level := range []observed.Level{observed.Counts, observed.Holders} {
			t.Run(fmt.Sprint(name, level), func(t *testing.T) {
				s := semaphore.New(2, opts...)
				read := observedtest.Watch(t, s, level)
				var f waiter.Future
				fails := func(n int64, why records.Why, as error) {
					s.Bind(&f, n)
					require.True(t, f.Poll(nil))
					require.Zero(t, read().Failed[why])
					require.ErrorIs(t, f.Err(), as)
					require.ErrorIs(t, f.Err(), as)
					l := read()
					require.EqualValues(t, 1, l.Failed[why])
					require.Zero(t, l.Acquired)
					require.Empty(t, l.Waiters)
					f.Release()
				}
				fails(3, records.TooLarge, semaphore.ErrTooLarge)
				s.Close()
				fails(1, records.Closed, semaphore.ErrClosed)
			})
		}
	}
}

// A handle says which hold is meant, on whichever goroutine it is released.
func TestHandlesAreExact(t *testing.T) {
	s := semaphore.New(10)
	read := observedtest.Watch(t, s, observed.Holders)
	p, err := s.AcquirePermit(bg, 4)
	require.NoError(t, err)
	require.NoError(t, s.Acquire(bg, 1))
	q, _ := s.TryAcquirePermit(2)
	in(p.Release)
	require.Equal(t, []int64{1, 2}, permits(read().Holders))
	require.EqualValues(t, 1, read().Handed)
	for _, h := range read().Holders {
		require.False(t, h.Approximate)
	}
	part := q.Split(1)
	require.Equal(t, []int64{1, 1, 1}, permits(read().Holders))
	q.Merge(part)
	require.Equal(t, []int64{1, 2}, permits(read().Holders))
	all := q.Split(2)
	q.Release()
	require.Equal(t, []int64{1, 2}, permits(read().Holders))
	in(func() { require.EqualValues(t, 2, all.Forget()) })
	in(func() { s.Release(2) }) // another's: the oldest first
	require.Equal(t, []int64{1}, permits(read().Holders))
	s.Release(1)
	require.Empty(t, read().Holders)
}

// Whatever becomes of holds, what none of them has is unknown.
func TestUnknownIsWhatNoHoldHas(t *testing.T) {
	s := semaphore.New(10)
	require.True(t, s.TryAcquire(3))
	read := observedtest.Watch(t, s, observed.Holders)
	check := func(held int64) {
		t.Helper()
		l, sum := read(), int64(0)
		for _, h := range l.Holders {
			sum += h.Permits
		}
		require.Equal(t, held, sum)
		require.EqualValues(t, 3, l.Unknown)
		require.Equal(t, l.Size-l.Free, l.Unknown+sum)
	}
	p, err := s.AcquirePermit(bg, 4)
	require.NoError(t, err)
	check(4)
	part := p.Split(1)
	check(4)
	p.Release()
	check(1)
	q, _ := s.TryAcquirePermit(2)
	q.Merge(part)
	check(3)
	q.Release()
	check(0)
	require.NoError(t, s.Acquire(bg, 5))
	s.Release(2)
	check(3)
	s.Release(3)
	check(0)
	s.Release(3)
	require.Zero(t, read().Unknown)
}

func TestCollectedHandleIsReported(t *testing.T) {
	for _, back := range []bool{false, true} {
		s := semaphore.New(3)
		read := observedtest.Watch(t, s, observed.Holders)
		before := records.ReturnLeaks(back)
		lose := func() {
			_, err := s.AcquirePermit(bg, 2)
			require.NoError(t, err)
		}
		lose()
		var found []records.Leak
		locktest.Eventually(t, "not in time", func() bool {
			runtime.GC()
			found, _ = records.TakeLeaks()
			found = slices.DeleteFunc(found, func(l records.Leak) bool { return l.Lock != t.Name() })
			return len(found) > 0
		})
		records.ReturnLeaks(before)
		require.Len(t, found, 1)
		require.Equal(t, "permit", found[0].What)
		require.EqualValues(t, 2, found[0].Permits)
		require.True(t, inFunction(found[0].Stack, "TestCollectedHandleIsReported"))
		require.Equal(t, back, found[0].Returned)
		if back {
			require.EqualValues(t, 3, s.Available())
			require.Empty(t, read().Holders)
		} else {
			require.Len(t, read().Holders, 1)
			s.Release(2)
		}
		again, _ := records.TakeLeaks()
		require.Empty(t, again)
		records.Unwatch(s)
	}
}

func TestCollectedFutureIsReported(t *testing.T) {
	s := semaphore.New(1)
	read := observedtest.Watch(t, s, observed.Holders)
	lose := func() {
		f := new(waiter.Future)
		s.Bind(f, 1)
		require.True(t, f.Poll(nil))
	}
	lose()
	var found []records.Leak
	locktest.Eventually(t, "not in time", func() bool {
		runtime.GC()
		found, _ = records.TakeLeaks()
		return len(found) > 0
	})
	require.Equal(t, "future", found[0].What)
	require.Len(t, read().Holders, 1)
}

func TestRegistryKeepsNoLockAlive(t *testing.T) {
	lose := func() {
		m := new(mutex.Mutex)
		records.Watch(m, t.Name(), observed.Holders)
		m.Lock()
	}
	lose()
	var found []records.Leak
	locktest.Eventually(t, "not in time", func() bool {
		runtime.GC()
		more, _ := records.TakeLeaks()
		found = append(found, more...)
		return len(found) > 0
	})
	require.Equal(t, "lock", found[0].What)
	require.Equal(t, t.Name(), found[0].Lock)
	locktest.Eventually(t, "not in time", func() bool {
		locks, _ := records.Read()
		for _, l := range locks {
			if l.Name == t.Name() {
				return false
			}
		}
		return true
	})
}

func TestRecordIsBounded(t *testing.T) {
	const room = 1 << 12
	many := room + int64(locktest.Scaled(1_000_000))
	s := semaphore.New(2 * many)
	read := observedtest.Watch(t, s, observed.Holders)
	for range many {
		s.TryAcquire(1)
	}
	l := read()
	require.Len(t, l.Holders, room)
	require.EqualValues(t, many-room, l.DroppedHolds)
	require.Equal(t, many-room, l.Unknown, "held, by nobody knows whom")
	require.Equal(t, many, l.Size-l.Free)
	s.Release(many)
	require.Empty(t, read().Holders)
	require.Zero(t, read().Unknown)
}

func TestLocksJoinWhenTheyAreMet(t *testing.T) {
	defer records.All(records.All(observed.Holders))
	m := new(mutex.Mutex)
	m.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Lock()
		m.Unlock()
	}()
	var l records.Lock
	locktest.Eventually(t, "not in time", func() bool {
		locks, _ := records.Read()
		for _, l = range locks {
			if l.Kind == "mutex.Mutex" && len(l.Waiters) == 1 {
				return true
			}
		}
		return false
	})
	require.EqualValues(t, 1, l.Unknown, "who holds did not tell")
	require.NotEmpty(t, l.Place)
	m.Unlock()
	<-done
	records.Unwatch(m)
}

// The bit and the table agree when all have ended, and nothing is lost, whenever a lock is watched.
func TestBitAndTableAgree(t *testing.T) {
	m, s, l := new(mutex.Mutex), semaphore.New(2), rwlock.NewBiased()
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range rounds {
				for _, lock := range []any{m, s, l} {
					records.Watch(lock, "agree", observed.Level(1+i%2))
					runtime.Gosched()
					records.Unwatch(lock)
				}
			}
		})
	}
	wg.Go(func() {
		for range rounds {
			_, _ = records.Read()
			records.Stamp()
			_, _ = records.TakeLeaks()
		}
	})
	stop := make(chan struct{})
	var users sync.WaitGroup
	inside := 0
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				m.Lock()
				inside++
				m.Unlock()
				if err := s.AcquireTimeout(time.Second, 2); err == nil {
					s.Release(2)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				l.RLock()
				l.RUnlock()
				if l.TryLock() {
					l.Unlock()
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	users.Wait()
	locks, _ := records.Read()
	for _, x := range locks {
		require.NotEqual(t, "agree", x.Name)
	}
	require.True(t, m.TryLock())
	m.Unlock()
	require.EqualValues(t, 2, s.Available())
	for lock, pair := range map[any]func(){
		m: func() { m.Lock(); m.Unlock() },
		s: func() { s.TryAcquire(1); s.Release(1) },
		l: func() { l.RLock(); l.RUnlock() },
	} {
		read := observedtest.Watch(t, lock, observed.Counts)
		pair()
		require.EqualValues(t, 1, read().Acquired, "O was left behind, or is not set")
		records.Unwatch(lock)
	}
}

// At any moment the recorded holds and the unknown ones are not more than are held.
func TestHoldsAreHeld(t *testing.T) {
	s := semaphore.New(3)
	read := observedtest.Watch(t, s, observed.Holders)
	stop := make(chan struct{})
	var users sync.WaitGroup
	for range 6 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if s.Acquire(bg, 2) == nil {
					s.Release(1)
					s.Release(1)
				}
			}
		})
	}
	for range 500 {
		l := read()
		sum := l.Unknown
		for _, h := range l.Holders {
			sum += h.Permits
		}
		require.LessOrEqual(t, sum, l.Size-l.Free)
	}
	close(stop)
	users.Wait()
	require.Empty(t, read().Holders)
	require.Zero(t, read().Unknown)
	require.Zero(t, read().Handed)
}

func TestWaitsThatTheMonitorSeesAreMeasured(t *testing.T) {
	m := new(mutex.Mutex)
	read := observedtest.Watch(t, m, observed.Counts)
	for range 300 { // more than are all in the sample
		m.Lock()
		m.Unlock()
	}
	before := read()
	m.Lock()
	records.Stamp()
	records.Stamp() // the second finds that nothing was acquired since
	m.Unlock()
	require.EqualValues(t, before.Hold.Count+1, read().Hold.Count)
}

func TestWaitsThatTheMonitorSeesAreCounted(t *testing.T) {
	m := new(mutex.Mutex)
	read := observedtest.Watch(t, m, observed.Counts)
	wait := func() {
		m.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.Lock()
			m.Unlock()
		}()
		locktest.Eventually(t, "no wait", func() bool { return m.Waiting() == 1 })
		records.Stamp()
		m.Unlock()
		<-done
	}
	for i := range 600 { // more than are all in the sample
		wait()
		require.EqualValues(t, i+1, read().Wait.Count)
	}
}

// Samples of holds, which may be of what was released long ago, are no holds at another level.
func TestSamplesAreNoHolds(t *testing.T) {
	s, l := semaphore.New(2), new(rwlock.RWLock)
	readS, readL := observedtest.Watch(t, s, observed.Counts), observedtest.WatchAs(t, "readers", l, observed.Counts)
	require.NoError(t, s.Acquire(bg, 1))
	elsewhere(func() { s.Release(1) })
	l.RLock()
	records.Watch(s, "", observed.Holders)
	records.Watch(l, "", observed.Holders)
	require.Empty(t, readS().Holders)
	require.Zero(t, readS().Unknown)
	require.Empty(t, readL().Holders)
	require.Equal(t, int64(1), readL().Unknown)
	l.RUnlock()
	require.Zero(t, readL().Unknown)
}

// Who gives back what was acquired before the record does not hand on anything.
func TestUnknownPermitsAreNotHandedOn(t *testing.T) {
	var m mutex.Mutex
	m.Lock()
	read := observedtest.Watch(t, &m, observed.Holders)
	m.Unlock()
	require.Zero(t, read().Handed)
	m.Lock()
	elsewhere(m.Unlock)
	require.Equal(t, uint64(1), read().Handed)
}

// While the level changes all the time nothing stays that is not held.
func TestLevelsChangeAtAnyTime(t *testing.T) {
	for name, w := range ways() {
		t.Run(name, func(t *testing.T) {
			read := observedtest.Watch(t, w.lock, observed.Holders)
			stop := make(chan struct{})
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							require.NoError(t, w.acquire(bg))
							w.release()
						}
					}
				})
			}
			for i := range 2000 {
				records.Watch(w.lock, "", observed.Counts+observed.Level(i%2))
				runtime.Gosched()
			}
			close(stop)
			all.Wait()
			require.Equal(t, observed.Holders, read().Level)
			require.Empty(t, read().Holders)
			require.Empty(t, read().Waiters)
			require.Zero(t, read().Unknown)
		})
	}
}

// elsewhere calls f in another goroutine.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// Most waits tell no more than that they have been granted, and still all are counted.
func TestContendedCountsAreExact(t *testing.T) {
	const goroutines, rounds = 4, 20_000
	m := new(mutex.Mutex)
	read := observedtest.Watch(t, m, observed.Counts)
	var all sync.WaitGroup
	var left atomic.Int32
	left.Store(goroutines)
	for range goroutines {
		all.Go(func() {
			defer left.Add(-1)
			for range rounds {
				m.Lock()
				for m.Waiting() == 0 && left.Load() > 1 {
					runtime.Gosched() // until another waits
				}
				m.Unlock()
			}
		})
	}
	all.Wait()
	l := read()
	require.EqualValues(t, goroutines*rounds, l.Acquired)
	require.Greater(t, l.Contended, uint64(goroutines*rounds/2))
	require.InEpsilon(t, l.Contended, l.Wait.Count, 0.3, "the sample stands for all")
	require.InEpsilon(t, l.Acquired, l.Hold.Count, 0.1)
}

// What is held of a lock that is not observed any more, or has been collected, is in nobody's way
// when an order is learned: of the holds of a goroutine only the newest are looked at.
func TestNothingIsLearnedFromWhatIsForgotten(t *testing.T) {
	const more = 32
	for name, end := range map[string]func(m *mutex.Mutex){
		"unwatched": func(m *mutex.Mutex) { records.Unwatch(m); m.Unlock() },
		"counted":   func(m *mutex.Mutex) { records.Watch(m, "", observed.Counts); m.Unlock() },
		"collected": func(*mutex.Mutex) {},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b mutex.Mutex
			first, second := observedtest.WatchAs(t, "a", &a, observed.Holders), observedtest.WatchAs(t, "b", &b, observed.Holders)
			a.Lock()
			collected := make(chan struct{}, more)
			for range more {
				m := new(mutex.Mutex)
				records.Watch(m, "", observed.Holders)
				m.Lock()
				end(m)
				runtime.AddCleanup(m, func(c chan struct{}) { c <- struct{}{} }, collected)
			}
			for range more {
				runtime.GC()
				<-collected
			}
			records.TakeLeaks()
			held := 0
			locktest.Eventually(t, "they are forgotten", func() bool {
				records.TakeNestings()
				b.Lock()
				defer b.Unlock()
				held = 0
				for _, n := range records.TakeNestings() {
					if n.Held.LockID == first().ID && n.Wanted.LockID == second().ID {
						held++
					}
				}
				return held == 1
			})
			a.Unlock()
		})
	}
}
