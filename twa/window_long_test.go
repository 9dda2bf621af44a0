//go:build !interleave

package twa

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// The explorer's atomics take too long for this.

// turnOver has n permits taken and given back so many times.
func turnOver(t *testing.T, s *Semaphore, n int64, times int) {
	t.Helper()
	for range times {
		if !s.TryAcquire(n) {
			t.Fatal("not free")
		}
		s.Release(n)
	}
}

// However many permits come and go in between, what a Resize takes away and what a future has not
// taken come back. (The numbers of their tickets have gone half round by then: they were taken for
// some that had still to be granted, and were never found again.)
func TestWhatIsGivenBackLateIsNotLost(t *testing.T) {
	locktest.SkipUnderRace(t) // for its length
	const most = MaxPermits
	t.Run("half of the size", func(t *testing.T) {
		s := New(most)
		s.Resize(most / 2)
		turnOver(t, s, most/4, 1<<24)
		s.Resize(most)
		semtest.RequireIdle(t, s)
		require.EqualValues(t, most, s.Available())
	})
	t.Run("one permit", func(t *testing.T) {
		s := New(most)
		s.Resize(most - 1)
		turnOver(t, s, most/2, 1<<23)
		s.Resize(most)
		semtest.RequireIdle(t, s)
		require.EqualValues(t, most, s.Available())
	})
	t.Run("a future's", func(t *testing.T) {
		s := New(most)
		var f waiter.Future
		s.Bind(&f, 1000)
		require.True(t, f.Poll(nil))
		turnOver(t, s, most/2, 1<<23)
		f.Release()
		semtest.RequireIdle(t, s)
		require.EqualValues(t, most, s.Available())
	})
}

// However often requests are made and given up while others wait, none is granted past the holders
// and the older waiters.
func TestNothingIsGrantedThatDoesNotExist(t *testing.T) {
	locktest.SkipUnderRace(t) // for its length
	const most = MaxPermits
	s := New(most)
	require.True(t, s.TryAcquire(most))
	waits := semtest.Queued(t, context.Background(), s, most)
	var fs [2]waiter.Future
	for i := range fs {
		s.Bind(&fs[i], most)
		require.False(t, fs[i].Poll(nil))
	}
	refused := 0
	for i := range 1 << 23 {
		f := &fs[i%2]
		f.Release()
		s.Bind(f, most)
		if f.Poll(nil) {
			if err := f.Err(); err != ErrQueueFull { //nolint:errorlint // that very error
				t.Fatalf("poll %d is granted, past one who holds all and one who waits: %v", i+3, err)
			}
			refused++
		}
	}
	require.NotZero(t, refused, "a line without an end")
	for i := range fs {
		fs[i].Release()
	}
	locktest.RequireBlocked(t, waits)
	s.Release(most)
	require.NoError(t, locktest.Receive(t, waits))
	s.Release(most)
	semtest.RequireIdle(t, s)
	require.EqualValues(t, most, s.Available())
}
