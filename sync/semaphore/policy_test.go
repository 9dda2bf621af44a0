package semaphore_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

func newArray(n int64) *semaphore.Semaphore {
	return semaphore.New(n, semaphore.WithWaitingArray(twa.NewArray(4)))
}

// The promises that all semaphores make, with the array of the process and with the smallest, where
// all wait in one bucket.
func TestArrayContract(t *testing.T) {
	for name, a := range map[string]*twa.Array{"default": nil, "one bucket": twa.NewArray(1)} {
		t.Run(name, func(t *testing.T) {
			semtest.Run(t, kind(semaphore.WithWaitingArray(a)))
		})
	}
}

// askedDone counts how often it is asked for its channel.
type askedDone struct {
	context.Context
	times atomic.Int64
}

func (c *askedDone) Done() <-chan struct{} {
	c.times.Add(1)
	return c.Context.Done()
}

// A wait asks for the channel once: by the answer it chooses what it sleeps on, and where that goes
// back to. By another answer it could go back twice, and two would sleep on it.
func TestWaitAsksForTheChannelOnce(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"queue":     nil,
		"array":     {semaphore.WithWaitingArray(twa.NewArray(1))},
		"capacitor": {semaphore.WithCapacitor(1, 1)},
		"shares":    {semaphore.WithShares(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			s := semaphore.New(1, opts...)
			require.True(t, s.TryAcquire(1))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for _, end := range []func(){func() { s.Release(1) }, cancel} {
				c := &askedDone{Context: ctx}
				waits := semtest.Queued(t, c, s, 1)
				end()
				require.ErrorIs(t, locktest.Receive(t, waits), ctx.Err())
				require.EqualValues(t, 1, c.times.Load())
			}
			s.Release(1)
			semtest.RequireIdle(t, s)
		})
	}
}

func TestOptionsThatContradictEachOtherPanic(t *testing.T) {
	const text = "semaphore: WithMaxWaiting and WithWaitingArray"
	most := semaphore.WithMaxWaiting(1)
	for _, a := range []*twa.Array{nil, twa.NewArray(1)} {
		array := semaphore.WithWaitingArray(a)
		require.PanicsWithValue(t, text, func() { semaphore.New(1, most, array) })
		require.PanicsWithValue(t, text, func() { semaphore.New(1, array, most) })
		semaphore.New(1, array, array)
	}
	require.PanicsWithValue(t, "semaphore: negative size", func() { newArray(-1) })
}

// A panic names the package that noticed the error: this one if it does not depend on the policy,
// twa otherwise.
func TestArrayPanicsNameThePackage(t *testing.T) {
	s := newArray(1)
	for msg, f := range map[string]func(){
		"semaphore: acquire of a negative number of permits": func() { _ = s.Acquire(bg, -1) },
		"semaphore: nil context":                             func() { _ = s.Acquire(nil, 9) }, //nolint:staticcheck // nil on purpose
		"semaphore: release of a negative number of permits": func() { s.Release(-1) },
		"semaphore: negative size":                           func() { s.Resize(-1) },
		"semaphore: future of a negative number of permits":  func() { s.Bind(new(waiter.Future), -1) },
		"twa: released 1, but at most 0 are held (size 1)":   func() { s.Release(1) },
	} {
		require.PanicsWithValue(t, msg, f)
	}
	requireIdle(t, s)
}

// What a semaphore with an array does otherwise than one without, it does as twa says.
func TestArraySemaphoreDiffersAsTwaDoes(t *testing.T) {
	s := newArray(3)
	require.NoError(t, s.Acquire(bg, 2))
	require.EqualValues(t, 1, s.Available())
	ctx, cancel := context.WithCancel(bg)
	large := queued(t, ctx, s, 3)
	require.EqualValues(t, 0, s.Available(), "one permit is free, but it is the waiter's")
	require.EqualValues(t, 1, s.Waiting())
	cancel()
	require.ErrorIs(t, locktest.Receive(t, large), context.Canceled)
	require.EqualValues(t, 1, s.Available())

	require.True(t, s.TryAcquire(1))
	first := queued(t, bg, s, 1)
	s.Resize(1) // two are to go
	require.EqualValues(t, 1, s.Size())
	require.EqualValues(t, 0, s.Available(), "there is no negative number of permits")
	second := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, first), "it was there before the resize")
	s.Release(1)
	s.Release(1)
	locktest.RequireBlocked(t, second)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, second))
	s.Release(1)
	requireIdle(t, s)

	huge := newArray(math.MaxInt64)
	require.Equal(t, twa.MaxPermits, huge.Size())
	huge.Resize(1)
	huge.Resize(math.MaxInt64)
	require.Equal(t, twa.MaxPermits, huge.Size())
	requireIdle(t, huge)
}

// The handles know nothing of what is underneath.
func TestArraySemaphoreHasPermitHandles(t *testing.T) {
	s := newArray(3)
	p, err := s.AcquirePermit(bg, 3)
	require.NoError(t, err)
	q, ok := s.TryAcquirePermit(1)
	require.False(t, ok)
	q.Release()
	part := p.Split(2)
	part.Release()
	part.Release()
	require.EqualValues(t, 2, s.Available())
	r, ok := s.TryAcquirePermit(2)
	require.True(t, ok)
	p.Merge(r)
	require.EqualValues(t, 3, p.N())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(p.Release)
	}
	wg.Wait()
	requireIdle(t, s)
	_, err = s.AcquirePermit(bg, 4)
	require.ErrorIs(t, err, semaphore.ErrTooLarge)
	s.Close()
	_, err = s.AcquirePermit(bg, 1)
	require.ErrorIs(t, err, semaphore.ErrClosed)
}

// A request for nothing is granted by an open semaphore, and by no closed one, however it is made.
func TestArraySemaphoreIsAskedForNothing(t *testing.T) {
	s := newArray(1)
	require.True(t, s.TryAcquire(1))
	for _, want := range []error{nil, semaphore.ErrClosed} {
		require.Equal(t, want, s.Acquire(bg, 0))
		require.Equal(t, want, s.AcquireTimeout(time.Hour, 0))
		require.Equal(t, want == nil, s.TryAcquire(0))
		_, err := s.AcquirePermit(bg, 0)
		require.Equal(t, want, err)
		var f waiter.Future
		s.Bind(&f, 0)
		require.True(t, f.Poll(nil))
		require.Equal(t, want, f.Err())
		s.Release(0)
		s.Close()
	}
	done, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, s.Acquire(done, 0), context.Canceled, "done before closed")
	require.ErrorIs(t, s.AcquireTimeout(0, 0), context.DeadlineExceeded)
	s.Release(1)
	requireIdle(t, s)
}

// Two semaphores in one array do not wake each other's waiters, nor count them.
func TestArrayIsShared(t *testing.T) {
	a := twa.NewArray(1)
	x, y := semaphore.New(1, semaphore.WithWaitingArray(a)), semaphore.New(1, semaphore.WithWaitingArray(a))
	for _, s := range []*semaphore.Semaphore{x, y} {
		require.NoError(t, s.Acquire(bg, 1))
	}
	inX, inY := queued(t, bg, x, 1), queued(t, bg, y, 1)
	require.EqualValues(t, 1, x.Waiting())
	y.Release(1)
	require.NoError(t, locktest.Receive(t, inY))
	locktest.RequireBlocked(t, inX)
	y.Close()
	locktest.RequireBlocked(t, inX)
	x.Release(1)
	require.NoError(t, locktest.Receive(t, inX))
	x.Release(1)
	y.Release(1)
	requireIdle(t, x)
	requireIdle(t, y)
}
