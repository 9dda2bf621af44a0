package twa

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// corners are the numbers where something in the arithmetic of tickets turns round: the counters
// themselves, their sign, half of what can be compared, and the longest line.
var corners = []int64{0, 1 << 62, 1 << 61, 1 << 60, -(1 << 61), -(1 << 60)}

// starts are the numbers of first tickets that have one of the corners in the middle of a short
// line, or at its ends.
var starts = func() (at []int64) {
	for _, c := range corners {
		for _, before := range []int64{0, 1, 2, 3, 8} {
			at = append(at, c-before)
		}
	}
	return append(at, math.MaxInt64/2-2, 12345)
}()

// startAt has the first ticket of s, of which no goroutine has taken one, have the number start.
func startAt(s *Semaphore, start int64) {
	free := s.Available()
	s.t.ticket.Store(start * step)
	s.t.grant.Store((start + free) * step)
}

// goOn has so many permits been taken and given back, in pieces, by others: it is what pass in a
// long time.
func goOn(s *Semaphore, permits uint64) {
	units := int64(permits * step)
	s.t.grant.Add(units)
	s.t.ticket.Add(units)
}

// far are numbers of permits that go by while a goroutine does not look: less than half of the
// circle, about half, more, nearly all and more than all.
var far = []uint64{
	1 << 40,
	1 << 59,
	1<<61 - 1,
	1 << 61,
	1<<61 + 1,
	1<<62 - 1,
	1 << 62,
	1<<62 + 1,
	3 << 61,
	1<<63 - 1<<52,
	1<<63 + 1<<52,
}

// What is given back late comes back, by every way, wherever the numbers begin and however far they
// have gone on.
func TestNumbersAreKeptOnlyInTheLine(t *testing.T) {
	for name, c := range map[string]func(t *testing.T, s *Semaphore, goOn func()){
		"a debt that has been paid at once": func(_ *testing.T, s *Semaphore, goOn func()) {
			s.Resize(3)
			goOn()
			s.Resize(8)
		},
		"a debt that a release has paid": func(t *testing.T, s *Semaphore, goOn func()) {
			require.True(t, s.TryAcquire(7))
			s.Resize(3)
			require.Len(t, s.t.cold.debts, 1)
			s.Release(7)
			require.Empty(t, s.t.cold.debts)
			require.Zero(t, s.t.runs.Load())
			goOn()
			s.Resize(8)
		},
		"a debt of which a part has been paid": func(t *testing.T, s *Semaphore, goOn func()) {
			require.True(t, s.TryAcquire(8))
			s.Resize(3)
			s.Release(3)
			s.Resize(5)
			require.Empty(t, s.t.cold.debts, "3 of 5 have been paid, and 2 ended")
			s.Release(5)
			goOn()
			s.Resize(8)
		},
		"debts among those who wait": func(t *testing.T, s *Semaphore, goOn func()) {
			require.True(t, s.TryAcquire(8))
			var fs [3]waiter.Future
			for i := range fs {
				s.Bind(&fs[i], 1)
				require.False(t, fs[i].Poll(nil))
				s.Resize(s.Size() - 1)
			}
			require.Len(t, s.t.cold.debts, 3)
			fs[1].Release()
			s.Release(8)
			require.Empty(t, s.t.cold.debts)
			require.Zero(t, s.t.runs.Load())
			require.NoError(t, fs[0].Take())
			s.Release(1)
			goOn()
			fs[2].Release()
			s.Resize(8)
		},
		"a future that was granted at once": func(t *testing.T, s *Semaphore, goOn func()) {
			var f waiter.Future
			s.Bind(&f, 3)
			require.True(t, f.Poll(nil))
			goOn()
			f.Release()
		},
		"a future that has waited": func(t *testing.T, s *Semaphore, goOn func()) {
			require.True(t, s.TryAcquire(7))
			var f waiter.Future
			s.Bind(&f, 3)
			require.False(t, f.Poll(nil))
			s.Release(7)
			goOn()
			f.Release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, start := range starts {
				for _, permits := range far {
					s := New(8)
					startAt(s, start)
					c(t, s, func() { goOn(s, permits) })
					require.EqualValues(t, 8, s.Available(), "from %d, %d permits later", start, permits)
					require.Zero(t, s.t.runs.Load())
					s.Release(0)
					require.True(t, s.TryAcquire(8))
					s.Release(8)
					require.Panics(t, func() { s.Release(1) })
				}
			}
		})
	}
}

// A look that comes as late as possible finds what an immediate one would have found.
func TestLooksThatComeLate(t *testing.T) {
	each := func(t *testing.T, size int64, test func(t *testing.T, s *Semaphore, goOn func())) {
		t.Helper()
		for _, start := range starts {
			for _, permits := range far {
				for _, buckets := range []int{1, 64} {
					s := New(size, WithWaitingArray(NewArray(buckets)))
					startAt(s, start)
					test(t, s, func() { goOn(s, permits) })
					if t.Failed() {
						require.Fail(t, "late", "from %d, %d permits later", start, permits)
					}
				}
			}
		}
	}
	t.Run("whether an acquire has been granted", func(t *testing.T) {
		each(t, 8, func(t *testing.T, s *Semaphore, goOn func()) {
			end := s.t.take(3)
			goOn()
			require.NoError(t, s.t.await(waiting.UntilDone(context.Background()), zero, 3, end))
			s.Release(3)
			end = s.t.take(3)
			goOn()
			require.NoError(t, s.t.await(waiting.After(time.Hour), zero, 3, end))
			s.Close()
			s.Release(3)
			require.EqualValues(t, 8, s.Available())
		})
	})
	t.Run("whether one had been before the close", func(t *testing.T) {
		each(t, 8, func(t *testing.T, s *Semaphore, goOn func()) {
			end := s.t.take(3)
			goOn()
			s.Close()
			require.NoError(t, s.t.await(waiting.UntilDone(context.Background()), zero, 3, end))
			s.Release(3)
			require.EqualValues(t, 8, s.Available())
		})
	})
	// The release serves two, and a run of abandoned tickets between them.
	t.Run("one that a release has served", func(t *testing.T) {
		each(t, 8, func(t *testing.T, s *Semaphore, goOn func()) {
			require.True(t, s.TryAcquire(8))
			var fs [3]waiter.Future
			for i := range fs {
				s.Bind(&fs[i], 1)
				require.False(t, fs[i].Poll(nil))
			}
			fs[1].Release()
			g := s.t.give(4)
			require.False(t, s.t.quiet(zero, 4, g))
			goOn()
			require.False(t, s.t.quiet(zero, 4, g))
			require.True(t, s.t.releaseSlow(zero, 4, g))
			require.NoError(t, fs[0].Err())
			require.NoError(t, fs[2].Err())
			require.Zero(t, s.t.runs.Load())
			s.Release(6)
			require.EqualValues(t, 8, s.Available())
		})
	})
	// By then the same numbers are those of others, who wait.
	t.Run("who has been served in the round before", func(t *testing.T) {
		each(t, 2, func(t *testing.T, s *Semaphore, _ func()) {
			require.True(t, s.TryAcquire(2))
			g := s.t.grant.Load()
			var fs [4]waiter.Future
			for i := range fs {
				s.Bind(&fs[i], 1)
				require.False(t, fs[i].Poll(nil))
			}
			fs[1].Release()
			s.Resize(1)
			s.t.lookAfter(zero, g, g+8*step)
			for k := g; k != g+8*step; k += step {
				s.t.lookAfter(zero, k, k+step)
			}
			require.EqualValues(t, 3, s.Waiting())
			require.EqualValues(t, 2, s.t.runs.Load(), "a run and a debt")
			s.Release(2)
			require.NoError(t, fs[0].Err())
			require.NoError(t, fs[2].Take())
			s.Release(2)
			require.NoError(t, fs[3].Err())
			require.EqualValues(t, 0, s.Available())
			s.Release(0)
			require.Panics(t, func() { s.Release(2) })
			s.Release(1)
			require.EqualValues(t, 1, s.Available())
		})
	})
	// What is free by these looks is more than ever can be: between them ticket has gone on.
	t.Run("how many are free", func(t *testing.T) {
		s := New(8)
		require.True(t, s.TryAcquire(8))
		g := s.t.give(1)
		s.t.ticket.Add(-1 << 62)
		require.True(t, s.t.accept(zero, 1))
		require.True(t, s.t.releaseSlow(zero, 1, g))
		require.EqualValues(t, 8, s.t.limit.Load(), "no mark")
	})
}

// full has a goroutine hold all permits of s, and a line of so many behind that, all but the first
// and the last of them abandoned.
func full(t *testing.T, s *Semaphore, permits int64) (first, last *waiter.Future) {
	t.Helper()
	require.True(t, s.TryAcquire(s.Size()))
	first, last = new(waiter.Future), new(waiter.Future)
	s.Bind(first, 1)
	require.False(t, first.Poll(nil))
	end := s.t.take(permits - 2)
	s.Bind(last, 1)
	require.False(t, last.Poll(nil))
	s.t.abandon(zero, permits-2, end)
	require.EqualValues(t, 1, s.t.runs.Load())
	require.EqualValues(t, -permits, s.t.free(zero))
	return first, last
}

// A request that would make the line too long is refused, and leaves nothing behind; one that just
// fits is not. When the line has become shorter, all is as before.
func TestLineHasAnEnd(t *testing.T) {
	type acquirer = func(s *Semaphore, n int64) error
	ways := map[string]acquirer{
		"Acquire":        func(s *Semaphore, n int64) error { return s.Acquire(context.Background(), n) },
		"AcquireTimeout": func(s *Semaphore, n int64) error { return s.AcquireTimeout(time.Hour, n) },
		"a future": func(s *Semaphore, n int64) error {
			var f waiter.Future
			s.Bind(&f, n)
			if !f.Poll(nil) {
				f.Release()
				return waiter.ErrPending
			}
			return f.Err()
		},
	}
	for name, acquire := range ways {
		t.Run(name, func(t *testing.T) {
			for _, start := range starts {
				s := New(1, WithWaitingArray(NewArray(1)))
				startAt(s, start)
				first, last := full(t, s, window)
				ticket := s.t.ticket.Load()
				for range 3 { // by what it finds, and then by the mark
					require.Equal(t, ErrQueueFull, acquire(s, 1))
					require.False(t, s.TryAcquire(1))
					require.Equal(t, ticket, s.t.ticket.Load(), "a ticket is left behind")
					require.Equal(t, int64(long|1), s.t.limit.Load())
				}
				require.EqualValues(t, 1, s.Size())
				require.EqualValues(t, 0, s.Available())
				require.ErrorIs(t, acquire(s, 2), ErrTooLarge)
				require.PanicsWithValue(
					t,
					"twa: Resize to take away 1 permits behind a line for "+strconv.FormatInt(window, 10),
					func() { s.Resize(0) },
				)
				require.EqualValues(t, 1, s.Size())

				s.Release(1)
				require.NoError(t, first.Take())
				s.Release(1)
				require.NoError(t, last.Take())
				s.Release(1)
				require.NoError(t, acquire(s, 1))
				require.EqualValues(t, 1, s.t.limit.Load(), "the mark stays")
				s.Release(1)
				semtest.RequireIdle(t, s)
			}
		})
	}
	t.Run("one less", func(t *testing.T) {
		s := New(2)
		first, last := full(t, s, window-1)
		var f waiter.Future
		for range 2 { // without the mark, and with it
			s.Bind(&f, 1)
			require.False(t, f.Poll(nil), "this one fits")
			f.Release()
			s.Bind(&f, 2)
			require.True(t, f.Poll(nil), "one too many")
			require.Equal(t, ErrQueueFull, f.Err())
		}
		first.Release()
		last.Release()
		s.Release(2)
		semtest.RequireIdle(t, s)
	})
}

// The mark of a line that is too long goes beside the others, and comes off alone.
func TestMarksDoNotTouchEachOther(t *testing.T) {
	s := New(1)
	first, last := full(t, s, window)
	require.Equal(t, ErrQueueFull, s.Acquire(context.Background(), 1))
	first.Release()
	last.Release()
	s.Release(1)
	s.t.markLocked(wary) // as a release too many does
	require.Equal(t, int64(long|wary|1), s.t.limit.Load())
	require.NoError(t, s.Acquire(context.Background(), 1))
	require.Equal(t, int64(wary|1), s.t.limit.Load())
	s.Close()
	require.Equal(t, int64(closing|wary|1), s.t.limit.Load())
	require.ErrorIs(t, s.Acquire(context.Background(), 1), ErrClosed)
	s.Release(1)
	require.Panics(t, func() { s.Release(1) })
	semtest.RequireIdle(t, s)
}
