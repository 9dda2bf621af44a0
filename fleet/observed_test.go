//go:build !interleave

package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/hook"
	"github.com/farad-go/farad/waiter"
)

func observedLock(t *testing.T, name string) observe.Lock {
	t.Helper()
	all := observe.Read().Locks
	i := slices.IndexFunc(all, func(l observe.Lock) bool { return l.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s is not observed", name)
	return all[i]
}

// A snapshot has what the process knows, although there is neither a server nor a driver.
func TestObservedWithoutAServer(t *testing.T) {
	d := alone(t, kindSemaphore, 40)
	host, err := os.Hostname()
	require.NoError(t, err)
	d.fleet.names.Store(&map[int64]string{8: host + "/4711"})
	d.losses.Store(3)
	d.deny(denial{err: errors.New("no role")})
	s := &Semaphore{d}
	require.NoError(t, s.Acquire(t.Context(), 2))
	observe.Watch(s, "", observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	p, err := s.AcquirePermit(t.Context(), 5)
	require.NoError(t, err)
	require.False(t, s.TryAcquire(33))

	l := observedLock(t, "exports")
	require.Equal(t, "fleet.Semaphore", l.Kind)
	require.Equal(t, []int64{40, 32, 7, 2}, []int64{l.Size, l.Free, l.Held, l.Unknown})
	require.Len(t, l.Holders, 1)
	require.EqualValues(t, 5, l.Holders[0].Permits)
	require.EqualValues(t, 1, l.Counts.Tried)
	require.EqualValues(t, 1, l.Counts.Acquired)
	require.EqualValues(t, 3, l.Fleet.Losses)
	require.Equal(t, "no role", l.Fleet.Refused)
	for i := range l.Fleet.Blocks {
		b := &l.Fleet.Blocks[i]
		require.WithinDuration(t, time.Now(), b.Since, time.Minute)
		b.Since = time.Time{}
		if b.Own {
			require.InDelta(t, time.Hour, b.Tenure, float64(time.Minute))
			b.Tenure = 0
		}
	}
	require.Equal(t, []hook.Block{
		{Lease: ownLease, Own: true, Permits: 39, Holds: true},
		{Process: host + "/4711", Lease: 8, Permits: 1, Holds: true},
		{Lease: 9, Permits: 2},
	}, l.Fleet.Blocks)
	todo, _ := d.in.take()
	require.True(t, todo.strangers, "the driver is to ask who has lease 9")

	p.Release()
	s.Release(2)
	l = observedLock(t, "exports")
	require.Empty(t, l.Holders)
	require.Zero(t, l.Held+l.Unknown)
	close(d.done)
	require.Empty(t, observedLock(t, "exports").Fleet.Blocks, "nobody reports any more")
}

// All façades of a line are the same lock.
func TestWatchKnowsAllTypes(t *testing.T) {
	for kind, lock := range map[string]func(*driver) any{
		"fleet.Semaphore": func(d *driver) any { return &Semaphore{d} },
		"fleet.Mutex":     func(d *driver) any { return &Mutex{d} },
		"fleet.RWMutex":   func(d *driver) any { return &RWMutex{d} },
		"fleet.Election":  func(d *driver) any { return &Election{d} },
	} {
		d := alone(t, map[string]string{
			"fleet.Semaphore": kindSemaphore, "fleet.Mutex": kindMutex, "fleet.RWMutex": kindRWMutex,
			"fleet.Election": kindElection,
		}[kind], line.Everyone)
		observe.Watch(lock(d), kind, observe.LevelCounts)
		require.Equal(t, kind, observedLock(t, kind).Kind)
		observe.Watch(lock(d), "", observe.LevelOff)
		require.False(t, d.current.Load().IsObserved())
	}
	watch := func(x any) func() { return func() { observe.Watch(x, "", observe.LevelCounts) } }
	require.PanicsWithValue(t, "observe: a nil *fleet.Mutex", watch((*Mutex)(nil)))
	require.Panics(t, watch(&Fleet{}))
}

func TestObservedReaders(t *testing.T) {
	d := alone(t, kindRWMutex, line.Everyone)
	m := &RWMutex{d}
	observe.Watch(m, "config", observe.LevelHolders)
	defer observe.Watch(m, "", observe.LevelOff)
	var readers []*Permit
	for range 2 {
		p, err := m.RLock(t.Context())
		require.NoError(t, err)
		readers = append(readers, p)
	}
	l := observedLock(t, "config")
	require.Len(t, l.Holders, 2)
	for _, h := range l.Holders {
		require.True(t, h.Shared)
	}
	for _, p := range readers {
		p.Release()
	}
	require.Empty(t, observedLock(t, "config").Holders)
}

// A wait goes on across a loss, and what was lost is a hold until it is released.
func TestObservedAcrossALoss(t *testing.T) {
	d := alone(t, kindSemaphore, 2)
	s := &Semaphore{d}
	observe.Watch(s, "lost", observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	p, err := s.AcquirePermit(t.Context(), 1)
	require.NoError(t, err)
	got := make(chan error, 2)
	for range 2 {
		go func() { got <- s.Acquire(context.Background(), 1) }()
	}
	waiting := func(n int) func() bool {
		return func() bool { return len(observedLock(t, "lost").Waiters) == n }
	}
	require.Eventually(t, waiting(2), 10*time.Second, time.Millisecond)
	before := observedLock(t, "lost").Waiters

	d.loseAll()
	require.NoError(t, <-got)
	require.False(t, p.Valid())
	require.Eventually(t, waiting(1), 10*time.Second, time.Millisecond)
	l := observedLock(t, "lost")
	require.Len(t, l.Holders, 2, "the lost one, and the new one")
	require.EqualValues(t, 2, l.Held)
	require.EqualValues(t, 1, l.Fleet.Losses)
	require.Contains(t, []uint64{before[0].ID, before[1].ID}, l.Waiters[0].ID, "it is the same wait")
	counted := func() bool { return observedLock(t, "lost").Counts.Contended == 2 }
	require.Eventually(t, counted, 10*time.Second, time.Millisecond)
	require.Zero(t, l.Counts.Closed)

	p.Release()
	require.Len(t, observedLock(t, "lost").Holders, 1)
	s.Release(1)
	require.NoError(t, <-got)
	s.Release(1)
	require.Zero(t, observedLock(t, "lost").Held)
}

// Permits of futures and handles are their own, whichever goroutine releases them.
func TestObservedFutures(t *testing.T) {
	d := alone(t, kindSemaphore, 2)
	s := &Semaphore{d}
	observe.Watch(s, "future", observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	require.True(t, s.TryAcquire(1))
	var f Future
	s.Bind(&f, 1)
	done := f.Done()
	l := observedLock(t, "future")
	require.Len(t, l.Waiters, 1)
	require.True(t, l.Waiters[0].Future)
	s.Release(1)
	<-done
	require.True(t, observedLock(t, "future").Waiters[0].Granted)
	require.NoError(t, f.Err())
	require.Len(t, observedLock(t, "future").Holders, 1)
	p := f.Permit()
	require.Len(t, observedLock(t, "future").Holders, 1)
	released := make(chan struct{})
	go func() {
		p.Release()
		close(released)
	}()
	<-released
	l = observedLock(t, "future")
	require.Empty(t, l.Holders)
	require.EqualValues(t, 1, l.Counts.Handed)

	s.Bind(&f, 1)
	<-f.Done()
	d.loseAll()
	require.ErrorIs(t, f.Err(), ErrLost)
	f.Release()
	require.Empty(t, observedLock(t, "future").Holders)
}

// What a snapshot says to be held is held, also while a release hands it on.
func TestObservedHoldsAreHeld(t *testing.T) {
	d := alone(t, kindSemaphore, 2)
	s := &Semaphore{d}
	observe.Watch(s, "held", observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	for name, release := range map[string]func() func(){
		"loose": func() func() {
			require.True(t, s.TryAcquire(1))
			return func() { s.Release(1) }
		},
		"permit": func() func() {
			p, err := s.TryAcquirePermit(t.Context(), 1)
			require.NoError(t, err)
			return p.Release
		},
	} {
		give := release()
		require.Len(t, observedLock(t, "held").Holders, 1, name)
		var f Future
		s.Bind(&f, 1)
		holders := -1
		require.False(t, f.Poll(waiter.WakerFunc(func() { holders = len(observedLock(t, "held").Holders) })))
		give()
		require.Zero(t, holders, name)
		f.Release()
	}
}

// A context that ends between the first look at it and the grant was done before the grant.
func TestACancelBeforeTheGrantWins(t *testing.T) {
	for _, watched := range []bool{false, true} {
		d := alone(t, kindSemaphore, 4)
		s := &Semaphore{d}
		if watched {
			observe.Watch(s, "cancelled", observe.LevelHolders)
			defer observe.Watch(s, "", observe.LevelOff)
		}
		permit := func(p *Permit, err error) error {
			require.Nil(t, p)
			return err
		}
		for name, acquire := range map[string]func(context.Context) error{
			"Acquire":          func(ctx context.Context) error { return s.Acquire(ctx, 1) },
			"none":             func(ctx context.Context) error { return s.Acquire(ctx, 0) },
			"AcquirePermit":    func(ctx context.Context) error { return permit(s.AcquirePermit(ctx, 1)) },
			"TryAcquirePermit": func(ctx context.Context) error { return permit(s.TryAcquirePermit(ctx, 1)) },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			trap := locktest.NewTrapContext(ctx, "Err", 1, cancel)
			require.ErrorIs(t, acquire(trap), context.Canceled, name)
			require.Zero(t, d.current.Load().Held(), name)
		}
		if watched {
			require.Empty(t, observedLock(t, "cancelled").Holders)
		}
	}
}

// Watch at any level and moment, beside losses, lose no permit and no wake-up.
func TestWatchLosesNothing(t *testing.T) {
	d := alone(t, kindSemaphore, 4) // three are this process's
	s := &Semaphore{d}
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	var users, others sync.WaitGroup
	stop := make(chan struct{})
	others.Go(func() {
		for !isClosed(stop) {
			for _, level := range []observe.Level{observe.LevelHolders, observe.LevelCounts, observe.LevelOff} {
				observe.Watch(s, "toggled", level)
				observe.Read()
			}
		}
	})
	others.Go(func() {
		for !isClosed(stop) {
			time.Sleep(time.Millisecond)
			d.loseAll()
		}
	})
	for i := range 4 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range rounds {
				d.useSomehow(t, r)
			}
		})
	}
	users.Wait()
	close(stop)
	others.Wait()
	d.forget()
	all, _ := d.tenancies()
	require.Len(t, all, 1)
	require.Zero(t, all[0].Held())
	observe.Watch(s, "toggled", observe.LevelHolders)
	l := observedLock(t, "toggled")
	observe.Watch(s, "", observe.LevelOff)
	require.Empty(t, l.Holders)
	require.Empty(t, l.Waiters)
	require.Zero(t, l.Held+l.Unknown)
	require.EqualValues(t, 3, l.Free)
}

// useSomehow acquires and releases by one of the ways to do that.
func (d *driver) useSomehow(t *testing.T, r *rand.Rand) {
	s, n := &Semaphore{d}, 1+r.Int64N(3)
	switch r.IntN(4) {
	case 0:
		if s.TryAcquire(n) {
			s.Release(n)
		}
	case 1:
		if s.AcquireTimeout(time.Second, n) == nil {
			s.Release(n)
		}
	case 2:
		p, err := s.AcquirePermit(context.Background(), n)
		if err != nil {
			t.Error(err)
		}
		p.Release()
	default:
		var f Future
		s.Bind(&f, n)
		if r.IntN(2) == 0 {
			<-f.Done()
			if r.IntN(2) == 0 {
				f.Permit().Release()
			}
		}
		f.Release()
	}
}
