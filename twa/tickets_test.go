package twa

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// However many requests time out while a goroutine holds, there are no more runs of abandoned
// tickets than there are waiters.
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
	for range 100 { // no goroutine behind it: as if it had never been
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
	require.Empty(t, s.t.cold.begin)
	require.Empty(t, s.t.cold.end)
	require.EqualValues(t, 1, s.Available())
}

// A release of many wakes many, wherever in the array they are: one by one, or, if it returns more
// than there are buckets, all at once.
func TestReleaseOfManyWakesAllThatItServes(t *testing.T) {
	for _, buckets := range []int{1, 4, 64} {
		s := New(40, WithWaitingArray(NewArray(buckets)))
		require.True(t, s.TryAcquire(40))
		order := make(chan int, 10)
		for i := range 10 {
			go func() {
				if s.Acquire(context.Background(), 4) == nil {
					order <- i
				}
			}()
			locktest.AwaitWaiting(t, s, i+1)
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
	s.Resize(3) // of which one has been paid, and is nothing to remember
	require.Empty(t, s.t.cold.debts)
	require.EqualValues(t, 0, s.Available())
	s.Release(2)
	require.EqualValues(t, 2, s.Available())
	s.Release(1)
	require.EqualValues(t, 3, s.Available())
	s.Resize(2)
	s.Resize(5)
	require.EqualValues(t, 5, s.Available())
	require.Empty(t, s.t.cold.debts)
}

// A debt that has a goroutine before it and behind it is ended as if it gave up, and no other with
// it.
func TestNewestDebtEndsFirst(t *testing.T) {
	s := New(4)
	line := lineUp(t, s, 4, 0)
	s.Resize(3)
	first := line.add(1)
	s.Resize(2)
	second := line.add(1)
	s.Resize(3)
	require.Len(t, s.t.cold.begin, 1, "the second debt has become a run")
	require.Len(t, s.t.cold.debts, 1)
	require.EqualValues(t, 2, s.t.runs.Load())
	s.Release(1) // the first debt
	require.False(t, first.Complete())
	s.Release(1)
	require.NoError(t, first.Take())
	s.Release(1)
	require.NoError(t, second.Take())
	s.Release(3)
	require.EqualValues(t, 3, s.Available())
	require.Zero(t, s.t.runs.Load())
}

// A line is one of futures, who note in which order they are woken.
type line struct {
	t     *testing.T
	s     *Semaphore
	woken []int
	n     int
}

// lineUp takes n permits of s, which is new, with the first ticket having the number start.
func lineUp(t *testing.T, s *Semaphore, n, start int64) *line {
	t.Helper()
	startAt(s, start)
	require.True(t, s.TryAcquire(n))
	return &line{t: t, s: s}
}

func (l *line) add(n int64) *waiter.Future {
	f, i := new(waiter.Future), l.n
	l.n++
	l.s.Bind(f, n)
	require.False(l.t, f.Poll(waiter.WakerFunc(func() { l.woken = append(l.woken, i) })))
	return f
}

// A release of several grants all that it reaches, in order, whatever gave up among them; by the
// way that suits few buckets, and the one that suits many.
func TestReleaseOfManyGoesPastTheAbandoned(t *testing.T) {
	for _, start := range starts {
		for _, buckets := range []int{1, 2, 64} {
			s := New(5, WithWaitingArray(NewArray(buckets)))
			l := lineUp(t, s, 5, start)
			var fs []*waiter.Future
			for range 8 {
				fs = append(fs, l.add(1))
			}
			for _, i := range []int{4, 2, 1} { // the second neighbour first
				fs[i].Release()
			}
			require.EqualValues(t, 2, s.t.runs.Load(), "neighbours are one run")
			s.Release(5)
			require.Equal(t, []int{0, 3, 5, 6, 7}, l.woken, "from %d, %d buckets", start, buckets)
			s.Release(5)
			require.EqualValues(t, 5, s.Available())
			require.Zero(t, s.t.runs.Load())
		}
	}
}

// A run is joined with its neighbours, and with no other, wherever numbers wrap around.
func TestRunsOfOneDoNotTouch(t *testing.T) {
	for _, start := range starts {
		s := New(1)
		l := lineUp(t, s, 1, start)
		front, a, b, c, d := l.add(1), l.add(1), l.add(1), l.add(1), l.add(1)
		a.Release()
		c.Release()
		require.Equal(
			t,
			map[int64]int64{(start + 2) * step: (start + 3) * step, (start + 4) * step: (start + 5) * step},
			s.t.cold.begin,
		)
		for _, f := range []*waiter.Future{front, b, d} {
			s.Release(1)
			require.NoError(t, f.Err())
		}
		require.Equal(t, []int{0, 2, 4}, l.woken)
		s.Release(1)
		require.EqualValues(t, 1, s.Available())
	}
}

// Two semaphores that sleep in one array, under the same numbers: a release of many is for its own.
func TestReleaseOfManyWakesItsOwn(t *testing.T) {
	a := NewArray(1)
	var semaphores [2]*Semaphore
	var futures [2][2]*waiter.Future
	for i := range semaphores {
		semaphores[i] = New(2, WithWaitingArray(a))
		l := lineUp(t, semaphores[i], 2, 0)
		futures[i] = [2]*waiter.Future{l.add(1), l.add(1)}
	}
	for i := range semaphores {
		require.EqualValues(t, 2, semaphores[i].Waiting())
		for _, f := range futures[i] {
			require.False(t, f.Complete())
		}
		semaphores[i].Release(2)
		for _, f := range futures[i] {
			require.NoError(t, f.Err())
		}
	}
}

// What had been granted when the semaphore was closed is what counts, however often it is closed
// later.
func TestClosingTwiceChangesNothing(t *testing.T) {
	s := New(1)
	require.True(t, s.TryAcquire(1))
	end := s.t.take(1) // a request that does not sleep yet
	s.Close()
	s.Release(1)
	s.Close()
	require.Equal(t, ErrClosed, s.t.await(waiting.UntilDone(context.Background()), zero, 1, end))
}

// A request that need not wait does not look into the array, which is made when one does: a
// semaphore gets its number there.
func TestNoneEntersTheArrayInVain(t *testing.T) {
	s, m := New(1), new(Mutex)
	var f waiter.Future
	var l waiter.Future
	for range 3 {
		require.NoError(t, s.Acquire(context.Background(), 1))
		s.Release(1)
		s.Bind(&f, 1)
		require.True(t, f.Poll(nil))
		require.NoError(t, f.Take())
		s.Release(1)
		s.Bind(&f, 1)
		require.True(t, locktest.IsClosed(f.Done()))
		f.Release()
		m.Lock()
		m.Unlock()
		m.Bind(&l)
		require.True(t, l.Poll(nil))
		l.Release()
	}
	require.Zero(t, s.t.id.Load())
	require.Zero(t, m.t.id.Load())
	require.True(t, s.TryAcquire(1))
	s.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	require.NotZero(t, s.t.id.Load())
	f.Release()
	s.Release(1)
}

// The tickets of a semaphore have parts of its key that count up by one, and semaphores have
// numbers that do, given when a goroutine first waits: the table spreads both
// (TestPartsGoEverywhere in internal/parking).
func TestKeysCountUp(t *testing.T) {
	s, other := New(1), New(1)
	id := s.t.id.get()
	require.Equal(t, id+1, other.t.id.get())
	require.Equal(t, id, s.t.id.get(), "given once")
	last := s.t.key(id, s.t.take(1))
	for range 10 {
		last.Part++
		k := s.t.key(id, s.t.take(1))
		require.True(t, k == last && k.Object == &s.t && k.Hash == uintptr(id), "part %d, hash %d", k.Part, k.Hash)
	}
	require.True(t, last.Hash != other.t.key(other.t.id.get(), 0).Hash)
}

func TestArraysAreRoundedUp(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 1000: 1024} {
		require.Equal(t, want, NewArray(n).table().Buckets(), "%d", n)
	}
	for n, want := range map[int]int{
		maxBuckets - 1: maxBuckets, maxBuckets: maxBuckets, maxBuckets + 1: maxBuckets, math.MaxInt: maxBuckets,
	} {
		require.Equal(t, want, rounded(n), "%d", n)
	}
}

// A Resize ends all waiting requests that are too large, even by one. What one of them has been
// promised is not passed on to another. (Once the older ones ended first, and the next got its
// permits before it was its turn to end.)
func TestResizeGrantsNoneThatItEnds(t *testing.T) {
	for _, start := range starts {
		s := New(6)
		l := lineUp(t, s, 2, start)
		first, second, third := l.add(5), l.add(4), l.add(3)
		s.Resize(3)
		require.ErrorIs(t, first.Err(), ErrTooLarge)
		require.ErrorIs(t, second.Err(), ErrTooLarge)
		require.NoError(t, third.Take())
		s.Release(2)
		s.Release(3)
		require.EqualValues(t, 3, s.Available())
	}
}

// Of two releases too many that run together each is noticed, although the second, when it takes
// its permits back, leaves no more than the first has given.
func TestReleasesTooManyThatRunTogetherAreNoticed(t *testing.T) {
	s := New(1)
	g := s.t.give(1) // the first stops here
	require.Panics(t, func() { s.Release(2) })
	require.False(t, s.t.quiet(zero, 1, g))
	require.False(t, s.t.releaseSlow(zero, 1, g))
	require.EqualValues(t, 1, s.Available())
}
