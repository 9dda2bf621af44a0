package twa

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// However many requests time out while somebody holds, there are no more runs of abandoned tickets than there are waiters.
func TestAbandonedTicketsDoNotAccumulate(t *testing.T) {
	s := New(1)
	require.True(t, s.TryAcquire(1))
	cancelled := func(ctx context.Context) <-chan error {
		before := s.Waiting()
		c := make(chan error, 1)
		go func() { c <- s.Acquire(ctx, 1) }()
		locktest.AwaitWaiting(t, s, before+1)
		return c
	}
	for range 100 { // nobody behind it: as if it had never been
		require.ErrorIs(t, s.AcquireTimeout(time.Nanosecond, 1), context.DeadlineExceeded)
	}
	require.Zero(t, s.t.runs.Load())
	require.EqualValues(t, step, s.t.ticket.Load())

	// One gives up, always, while the next is already there.
	front := cancelled(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	first := cancelled(ctx)
	for range 100 {
		nextCtx, nextCancel := context.WithCancel(context.Background())
		next := cancelled(nextCtx)
		cancel()
		require.ErrorIs(t, locktest.Receive(t, first), context.Canceled)
		require.EqualValues(t, 1, s.t.runs.Load(), "neighbours are one run")
		first, cancel = next, nextCancel
	}
	last := make(chan error, 1)
	go func() { last <- s.Acquire(context.Background(), 1) }()
	locktest.AwaitWaiting(t, s, 3)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, first), context.Canceled)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, front))
	require.Zero(t, s.t.runs.Load(), "the grants have reached it, and gone past it")
	s.Release(1)
	require.NoError(t, locktest.Receive(t, last))
	s.Release(1)
	require.Zero(t, s.t.runs.Load())
	require.Empty(t, s.t.rare.begin)
	require.Empty(t, s.t.rare.end)
	require.EqualValues(t, 1, s.Available())
}

// A release of many wakes many, wherever in the array they are: one by one, or, if it returns more than there are buckets, all at once.
func TestReleaseOfManyWakesAllThatItServes(t *testing.T) {
	for _, buckets := range []int{1, 4, 64} {
		s := New(40, WithArray(NewArray(buckets)))
		require.True(t, s.TryAcquire(40))
		order := make(chan int, 10)
		for i := range 10 {
			go func() {
				if s.Acquire(context.Background(), 4) == nil {
					order <- i
				}
			}()
			locktest.AwaitWaiting(t, s, int64(i+1))
		}
		s.Release(20)
		got := map[int]bool{}
		for range 5 {
			got[locktest.Receive(t, order)] = true
		}
		require.Equal(t, map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}, got, "%d buckets", buckets)
		require.EqualValues(t, 5, s.Waiting())
		s.Release(20)
		for range 5 {
			locktest.Receive(t, order)
		}
		s.Release(40)
		require.EqualValues(t, 40, s.Available())
	}
}

// What Resize takes away and gives back comes to nothing, paid or not.
func TestDebtsEndWithGrowth(t *testing.T) {
	s := New(4)
	require.True(t, s.TryAcquire(4))
	s.Resize(1) // a debt of 3
	s.Release(1)
	s.Resize(3) // of which one has been paid: 1 is left
	require.Len(t, s.t.rare.debts, 1)
	require.EqualValues(t, 0, s.Available())
	s.Release(2)
	require.EqualValues(t, 2, s.Available())
	s.Release(1)
	require.EqualValues(t, 3, s.Available())
	s.Resize(2)
	s.Resize(5)
	require.EqualValues(t, 5, s.Available())
	require.Empty(t, s.t.rare.debts)
}

// Who need not wait does not look into the array, which is made when somebody does: a semaphore gets its number there.
func TestNobodyEntersTheArrayInVain(t *testing.T) {
	s, m := New(1), new(Mutex)
	var f AcquireFuture
	var l LockFuture
	for range 3 {
		require.NoError(t, s.Acquire(context.Background(), 1))
		s.Release(1)
		f.Init(s, 1)
		require.True(t, f.Poll(nil))
		require.NoError(t, f.Err())
		s.Release(1)
		f.Init(s, 1)
		require.Len(t, f.Done(), 1)
		f.Cancel()
		m.Lock()
		m.Unlock() //nolint:staticcheck // nothing in between, on purpose
		l.Init(m)
		require.True(t, l.Poll(nil))
		l.Cancel()
	}
	require.Zero(t, s.t.id.Load())
	require.Zero(t, m.t.id.Load())
	require.True(t, s.TryAcquire(1))
	f.Init(s, 1)
	require.False(t, f.Poll(nil))
	require.NotZero(t, s.t.id.Load())
	f.Cancel()
	s.Release(1)
}

func TestArraysAreRoundedUp(t *testing.T) {
	for n, want := range map[int]int{math.MinInt: 1, -1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 1000: 1024} {
		require.Equal(t, want, NewArray(n).t.Buckets(), "%d", n)
	}
	for n, want := range map[int]int{maxBuckets - 1: maxBuckets, maxBuckets: maxBuckets, maxBuckets + 1: maxBuckets, math.MaxInt: maxBuckets} {
		require.Equal(t, want, rounded(n), "%d", n)
	}
}
