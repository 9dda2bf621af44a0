package contract

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/sync/semaphore"
)

var (
	_ fleet.Permits = (*semaphore.Semaphore)(nil)
	_ fleet.Permits = (*fleet.Semaphore)(nil)
)

func TestPermitsAreSharedByProcesses(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 3), w.semaphore(w.join(), 99)
	require.EqualValues(t, 3, b.Size(), "the size that it has")
	require.NoError(t, a.Acquire(w.ctx, 2))
	require.NoError(t, b.Acquire(w.ctx, 1))
	require.ErrorIs(t, b.AcquireTimeout(50*time.Millisecond, 1), context.DeadlineExceeded)
	got := make(chan error)
	go func() { got <- b.Acquire(w.ctx, 2) }()
	a.Release(2)
	require.NoError(t, <-got)
	require.False(t, a.TryAcquire(1))
	b.Release(3)
}

// At most size permits are held at any time, by however many processes.
func TestConservation(t *testing.T) {
	for _, procs := range []int{1, 2, 4, 16} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			w := newWorldAlone(t)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const size = 5
			var held, grants atomic.Int64
			var wg sync.WaitGroup
			for i := range 3 {
				s := w.semaphore(w.join(fleet.WithTenure(2*time.Millisecond)), size)
				for j := range 6 {
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					wg.Go(func() {
						for range 30 {
							n := 1 + r.Int64N(size)
							ctx, cancel := w.ctx, context.CancelFunc(func() {})
							if r.IntN(3) == 0 {
								ctx, cancel = context.WithTimeout(w.ctx, time.Duration(r.IntN(4000))*time.Microsecond)
							}
							if s.Acquire(ctx, n) == nil {
								if now := held.Add(n); now > size {
									t.Errorf("%d are held of %d", now, size)
								}
								if r.IntN(2) == 0 {
									time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
								}
								held.Add(-n)
								grants.Add(1)
								s.Release(n)
							}
							cancel()
						}
					})
				}
			}
			wg.Wait()
			require.Greater(t, grants.Load(), int64(100))
		})
	}
}

func TestIdlePermitsStayUntilSomebodyWaits(t *testing.T) {
	w := newWorld(t)
	f, g := w.join(), w.join()
	a, b := w.semaphore(f, 1), w.semaphore(g, 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	a.Release(1)
	for range 100 {
		require.True(t, a.TryAcquire(1), "without the network")
		a.Release(1)
	}
	require.Equal(t, 1, w.entries("semaphore"))
	require.False(t, b.TryAcquire(1), "another process has it")
	require.NoError(t, b.Acquire(w.ctx, 1))
	require.False(t, a.TryAcquire(1))
	b.Release(1)
}

func TestAPermitOfZero(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 1)
	require.NoError(t, s.Acquire(w.ctx, 0))
	require.NoError(t, s.AcquireTimeout(time.Second, 0))
	require.ErrorIs(t, s.AcquireTimeout(0, 0), context.DeadlineExceeded)
	require.True(t, s.TryAcquire(0))
	s.Release(0)
	s.Close()
	require.ErrorIs(t, s.Acquire(w.ctx, 0), fleet.ErrClosed)
	require.False(t, s.TryAcquire(0))
}

func TestMisuse(t *testing.T) {
	w := newWorld(t)
	f := w.join()
	s := w.semaphore(f, 2)
	require.PanicsWithValue(t, "fleet: acquire of a negative number of permits", func() { _ = s.Acquire(w.ctx, -1) })
	require.PanicsWithValue(t, "fleet: acquire of a negative number of permits", func() { _ = s.AcquireTimeout(1, -1) })
	require.PanicsWithValue(t, "fleet: acquire of a negative number of permits", func() { s.TryAcquire(-1) })
	require.PanicsWithValue(t, "fleet: nil context", func() { _ = s.Acquire(nil, 1) }) //nolint:staticcheck // the test
	require.PanicsWithValue(t, "fleet: release of a negative number of permits", func() { s.Release(-1) })
	require.PanicsWithValue(t, "fleet: negative size", func() { _ = s.Resize(w.ctx, -1) })
	require.Panics(t, func() { fleet.WithTTL(0) })
	require.Panics(t, func() { fleet.WithTTL(math.MaxInt64) })
	require.Panics(t, func() { fleet.WithTenure(-1) })
	require.Panics(t, func() { _, _ = fleet.New(w.ctx, etcd.New(nil, "x")) })

	require.NoError(t, s.Acquire(w.ctx, 1))
	require.PanicsWithValue(t, "fleet: released 2 permits, but this process holds fewer", func() { s.Release(2) })
	s.Release(1)
	p, err := s.AcquirePermit(w.ctx, 1)
	require.NoError(t, err)
	require.Panics(t, func() { s.Release(1) }, "what a Permit holds is not released without it")
	p.Release()
	p.Release()
	require.EqualValues(t, 0, p.N())

	err = s.Acquire(w.ctx, 3)
	require.ErrorIs(t, err, fleet.ErrTooLarge)
	require.EqualError(t, err, "fleet: a request for 3 permits exceeds the size, 2")
	_, err = f.Semaphore(w.ctx, "", 1)
	require.Error(t, err)
	done, cancel := context.WithCancel(w.ctx)
	cancel()
	require.ErrorIs(t, s.Acquire(done, 1), context.Canceled, "even if permits are free")
}

func TestCancelLosesNothing(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(w.ctx, time.Duration(i)*500*time.Microsecond)
			defer cancel()
			if err := b.Acquire(ctx, 1); err == nil {
				b.Release(1)
			}
		})
	}
	time.Sleep(3 * time.Millisecond)
	a.Release(1)
	wg.Wait()
	require.NoError(t, a.Acquire(w.ctx, 1))
	a.Release(1)
	w.eventually(func() bool { return w.entries("semaphore") <= 1 }, "what nobody wants is taken back")
}

func TestResize(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	got := make(chan error, 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	require.NoError(t, b.Resize(w.ctx, 3))
	require.NoError(t, a.Acquire(w.ctx, 2), "three, says the server")
	w.eventually(func() bool { return a.Size() == 3 && b.Size() == 3 }, "all know it")
	go func() { got <- b.Acquire(w.ctx, 2) }()
	w.eventually(func() bool { return b.Waiting() == 1 }, "it waits")
	require.NoError(t, a.Resize(w.ctx, 1))
	require.ErrorIs(t, <-got, fleet.ErrTooLarge, "the size fell during the wait")
	a.Release(2)
	require.ErrorIs(t, b.AcquireTimeout(20*time.Millisecond, 1), context.DeadlineExceeded, "one is held of one")
	a.Release(1)
	require.NoError(t, b.Acquire(w.ctx, 1))
	b.Release(1)
	require.NoError(t, b.Resize(w.ctx, 0))
	w.eventually(func() bool { return a.Size() == 0 }, "nothing is left")
	require.ErrorIs(t, a.Acquire(w.ctx, 1), fleet.ErrTooLarge)
}

func TestClose(t *testing.T) {
	w := newWorld(t)
	f := w.join()
	a, b := w.semaphore(f, 1), w.semaphore(w.join(), 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	got := make(chan error, 1)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
	a.Close()
	a.Close()
	require.ErrorIs(t, <-got, fleet.ErrClosed)
	require.ErrorIs(t, a.Acquire(w.ctx, 1), fleet.ErrClosed)
	require.ErrorIs(t, b.AcquireTimeout(30*time.Millisecond, 1), context.DeadlineExceeded, "what is held stays held")
	a.Release(1)
	require.NoError(t, b.Acquire(w.ctx, 1))
	b.Release(1)
	w.eventually(func() bool {
		again, err := f.Semaphore(w.ctx, "s", 1)
		if err != nil || again.AcquireTimeout(time.Second, 1) != nil {
			return false
		}
		again.Release(1)
		return true
	}, "opened again")
}

func TestCloseReturnsWhatIsIdle(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	a.Release(1)
	a.Close()
	w.eventually(func() bool { return w.entries("semaphore") == 0 }, "returned")
	require.NoError(t, b.Acquire(w.ctx, 1))
	b.Release(1)
}

func TestTryAcquireContext(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 2), w.semaphore(w.join(), 2)
	require.False(t, a.TryAcquire(1), "nothing is here yet")
	ok, err := a.TryAcquireContext(w.ctx, 1)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = b.TryAcquireContext(w.ctx, 2)
	require.NoError(t, err)
	require.False(t, ok, "one is held")
	ok, err = b.TryAcquireContext(w.ctx, 1)
	require.NoError(t, err)
	require.True(t, ok)
	_, err = b.TryAcquireContext(w.ctx, 3)
	require.ErrorIs(t, err, fleet.ErrTooLarge)
	for size := int64(3); size < 20; size++ {
		require.NoError(t, a.Resize(w.ctx, size))
		ok, err = b.TryAcquireContext(w.ctx, size)
		require.NoError(t, err, "the server knows the size")
		require.False(t, ok)
	}
	a.Release(1)
	b.Release(1)
}

func TestFuture(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	require.NoError(t, a.Acquire(w.ctx, 1))
	var f fleet.Future
	b.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), fleet.ErrPending)
	select {
	case <-f.Done():
		t.Fatal("held elsewhere")
	case <-time.After(20 * time.Millisecond):
	}
	a.Release(1)
	<-f.Done()
	require.NoError(t, f.Err())
	p := f.Permit()
	require.True(t, p.Valid())
	f.Release()
	require.True(t, p.Valid(), "it is the handle's")
	p.Release()
	require.False(t, p.Valid())

	b.Bind(&f, 1)
	<-f.Done()
	f.Release()
	b.Bind(&f, 2)
	<-f.Done()
	require.ErrorIs(t, f.Err(), fleet.ErrTooLarge)
	f.Release()
	require.NoError(t, b.AcquireTimeout(time.Second, 1))
	b.Release(1)
}

func TestTokensGrow(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	var last *fleet.Permit
	for i := range 20 {
		s := a
		if i%3 == 0 {
			s = b
		}
		p, err := s.AcquirePermit(w.ctx, 1)
		require.NoError(t, err)
		if last != nil {
			require.Positive(t, p.Token().Compare(last.Token()))
		}
		require.Equal(t, []int64{p.Token().Lease}, p.Token().Survivors)
		last = p
		p.Release()
	}
}

func TestAcquireAllocatesNothing(t *testing.T) {
	w := newWorldAlone(t)
	s := w.semaphore(w.join(), 1)
	require.NoError(t, s.Acquire(w.ctx, 1))
	s.Release(1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if s.Acquire(w.ctx, 1) != nil {
			t.Error("refused")
		}
		s.Release(1)
	}))
}

// A request for nothing needs no session.
func TestFutureOfZero(t *testing.T) {
	w := newWorld(t)
	f := w.join()
	for i := range 100 {
		s, err := f.Semaphore(w.ctx, fmt.Sprint(i), 2)
		require.NoError(t, err)
		var a fleet.Future
		s.Bind(&a, 0)
		<-a.Done()
		require.NoError(t, a.Err())
		a.Release()
	}
}

// A grant that comes beside a cancel goes back at once, not when the tenure ends.
func TestWhoGivesUpLeavesNothingIdle(t *testing.T) {
	w := newWorld(t)
	a, b := w.semaphore(w.join(fleet.WithTenure(time.Hour)), 1), w.semaphore(w.join(), 1)
	for range 20 {
		require.NoError(t, a.Acquire(w.ctx, 1))
		ctx, cancel := context.WithCancel(w.ctx)
		gone, got := make(chan error), make(chan error)
		go func() { gone <- a.Acquire(ctx, 1) }()
		w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
		go func() { got <- b.AcquireTimeout(3*time.Second, 1) }()
		w.eventually(func() bool { return w.entries("semaphore") == 2 }, "it waits")
		time.Sleep(5 * time.Millisecond)
		cancel()
		a.Release(1)
		require.ErrorIs(t, <-gone, context.Canceled)
		require.NoError(t, <-got)
		b.Release(1)
	}
}

// What a future still holds must not be forgotten by Bind.
func TestBindOfAFutureThatHolds(t *testing.T) {
	w := newWorld(t)
	s := w.semaphore(w.join(), 1)
	var f fleet.Future
	s.Bind(&f, 1)
	<-f.Done()
	require.NoError(t, f.Err())
	require.Panics(t, func() { s.Bind(&f, 1) })
	f.Release()
	s.Bind(&f, 1)
	<-f.Done()
	require.NoError(t, f.Err())
	f.Release()
}
