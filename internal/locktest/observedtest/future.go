package observedtest

import (
	"cmp"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/waiter"
)

// A Future is how a future asks for a lock that is free, and the lock's own ways to be taken and
// given back.
type Future struct {
	Of         any // the lock
	Bind       func(f *waiter.Future)
	Take, Give func() // so that the future has to wait meanwhile
	GiveIts    func() // what was taken from the future
	Permits    int64  // that it asks for; 0: all
	Shared     bool   // it is a reader's

	f *waiter.Future
}

// RunFuture checks that a lock that is observed knows its futures: one that waits, is granted, and
// then is its owner's who looks, until it ends.
func RunFuture(t *testing.T, f Future) {
	t.Helper()
	f.f = new(waiter.Future)
	t.Run("holders", func(t *testing.T) { f.isKnown(t, Watch(t, f.Of, observed.Holders)) })
	t.Run("counts", func(t *testing.T) { f.isCounted(t, Watch(t, f.Of, observed.Counts)) })
	t.Run("switched", func(t *testing.T) { f.isForgotten(t) })
}

// waits begins a round whose request has to wait.
func (f Future) waits(t *testing.T) {
	t.Helper()
	f.Take()
	f.Bind(f.f)
	require.False(t, f.f.Poll(nil))
}

func (f Future) isKnown(t *testing.T, read func() records.Lock) {
	t.Helper()
	f.waits(t)
	require.False(t, f.f.Poll(nil))
	require.ErrorIs(t, f.f.Err(), waiter.ErrPending)
	require.ErrorIs(t, f.f.Take(), waiter.ErrPending)
	l := read()
	require.Len(t, l.Waiters, 1)
	require.True(t, l.Waiters[0].Future)
	require.False(t, l.Waiters[0].Granted)
	require.Equal(t, cmp.Or(f.Permits, l.Size), l.Waiters[0].Permits)
	f.f.Release()
	require.Empty(t, read().Waiters)
	f.Give()
	for _, taken := range []bool{false, true} {
		f.waits(t)
		f.Give()
		require.True(t, f.f.Poll(nil))
		l := read()
		require.Len(t, l.Waiters, 1)
		require.True(t, l.Waiters[0].Granted)
		require.Empty(t, l.Holders)
		holds := func() {
			t.Helper()
			l := read()
			require.Empty(t, l.Waiters)
			require.Len(t, l.Holders, 1)
			require.Equal(t, cmp.Or(f.Permits, l.Size), l.Holders[0].Permits)
			require.Equal(t, f.Shared, l.Holders[0].Shared)
		}
		require.NoError(t, f.f.Err())
		require.NoError(t, f.f.Err())
		holds()
		if taken {
			require.NoError(t, f.f.Take())
			f.f.Release()
			holds()
			f.GiveIts()
		} else {
			f.f.Release()
		}
		l = read()
		require.Empty(t, l.Holders)
		require.Equal(t, l.Size, l.Free)
	}
	f.Bind(f.f)
	require.True(t, f.f.Poll(nil)) // at once
	require.Len(t, read().Waiters, 1)
	require.True(t, read().Waiters[0].Granted)
	f.f.Release()
	require.Empty(t, read().Waiters)
	require.Empty(t, read().Holders)
}

// isForgotten checks that a lock whose level falls forgets its futures, which may end unseen, and
// knows when the level rises again that it does not know who holds.
func (f Future) isForgotten(t *testing.T) {
	t.Helper()
	for _, below := range []observed.Level{observed.Counts, observed.Off} {
		for _, granted := range []bool{false, true} {
			f.Take()
			Watch(t, f.Of, observed.Holders)
			f.Bind(f.f)
			require.False(t, f.f.Poll(nil))
			records.Watch(f.Of, "", below)
			if granted {
				f.Give()
				require.True(t, f.f.Poll(nil))
			} else {
				f.f.Release()
			}
			read := Watch(t, f.Of, observed.Holders)
			l := read()
			require.Empty(t, l.Waiters)
			require.Empty(t, l.Holders)
			require.Greater(t, l.Unknown, 0)
			if granted {
				require.NoError(t, f.f.Err())
				require.Empty(t, read().Holders)
				f.f.Release()
			} else {
				f.Give()
			}
			l = read()
			require.Zero(t, l.Unknown)
			require.Zero(t, l.Handed)
			require.Equal(t, l.Size, l.Free)
			records.Unwatch(f.Of)
		}
	}
}

// isCounted is the same at a level with numbers only: a future counts as one acquisition.
func (f Future) isCounted(t *testing.T, read func() records.Lock) {
	t.Helper()
	before := read().Acquired
	acquired := func() uint64 { return read().Acquired - before }
	f.waits(t)
	f.f.Release()
	require.EqualValues(t, 1, acquired(), "it has given up")
	f.Bind(f.f)
	require.False(t, f.f.Poll(nil))
	f.Give()
	require.True(t, f.f.Poll(nil))
	require.EqualValues(t, 1, acquired(), "nobody has asked")
	require.NoError(t, f.f.Err())
	require.NoError(t, f.f.Err())
	require.EqualValues(t, 2, acquired())
	f.f.Release()
	f.Bind(f.f)
	require.True(t, f.f.Poll(nil)) // at once
	require.NoError(t, f.f.Take())
	require.EqualValues(t, 3, acquired())
	f.f.Release()
	f.GiveIts()
	l := read()
	require.EqualValues(t, 3, acquired())
	require.Equal(t, l.Size, l.Free)
	require.Empty(t, l.Holders)
}
