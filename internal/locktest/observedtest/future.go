package observedtest

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/waiter"
)

// A Future is a future of a lock that is free, and the lock's own ways to be taken and given back.
type Future struct {
	Of any // the lock
	F  interface {
		Poll(w waiter.Waker) bool
		Err() error
		Cancel()
	}
	End        func() // F's Unlock or Release
	Take, Give func() // so that F has to wait meanwhile
	GiveIts    func() // what F has handed over
	Permits    int64  // that F asks for; 0: all
	Shared     bool   // F is a reader's
}

// RunFuture checks that a lock that is observed knows its futures: one that waits, is granted, and
// then is its owner's who asks, until it ends.
func RunFuture(t *testing.T, f Future) {
	t.Helper()
	t.Run("holders", func(t *testing.T) { f.isKnown(t, Watch(t, f.Of, observed.Holders)) })
	t.Run("counts", func(t *testing.T) { f.isCounted(t, Watch(t, f.Of, observed.Counts)) })
	t.Run("switched", func(t *testing.T) { f.isForgotten(t) })
}

func (f Future) isKnown(t *testing.T, read func() observed.Lock) {
	t.Helper()
	for _, giveUp := range []func(){f.End, f.F.Cancel} {
		f.Take()
		require.False(t, f.F.Poll(nil))
		require.False(t, f.F.Poll(nil))
		require.ErrorIs(t, f.F.Err(), waiter.ErrPending)
		l := read()
		require.Len(t, l.Waiters, 1)
		require.True(t, l.Waiters[0].Future)
		require.False(t, l.Waiters[0].Granted)
		require.Equal(t, cmp.Or(f.Permits, l.Size), l.Waiters[0].Permits)
		giveUp()
		require.Empty(t, read().Waiters)
		f.Give()
	}
	for _, end := range []func(){f.End, func() { f.F.Cancel(); f.GiveIts() }} {
		f.Take()
		require.False(t, f.F.Poll(nil))
		f.Give()
		require.True(t, f.F.Poll(nil))
		l := read()
		require.Len(t, l.Waiters, 1)
		require.True(t, l.Waiters[0].Granted)
		require.Empty(t, l.Holders)
		require.NoError(t, f.F.Err())
		require.NoError(t, f.F.Err())
		l = read()
		require.Empty(t, l.Waiters)
		require.Len(t, l.Holders, 1)
		require.Equal(t, cmp.Or(f.Permits, l.Size), l.Holders[0].Permits)
		require.Equal(t, f.Shared, l.Holders[0].Shared)
		end()
		l = read()
		require.Empty(t, l.Holders)
		require.Equal(t, l.Size, l.Free)
	}
	require.True(t, f.F.Poll(nil)) // at once
	require.Len(t, read().Waiters, 1)
	require.True(t, read().Waiters[0].Granted)
	f.End()
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
			require.False(t, f.F.Poll(nil))
			observed.Watch(f.Of, "", below)
			if granted {
				f.Give()
				require.True(t, f.F.Poll(nil))
			} else {
				f.End()
			}
			read := Watch(t, f.Of, observed.Holders)
			l := read()
			require.Empty(t, l.Waiters)
			require.Empty(t, l.Holders)
			require.Positive(t, l.Unknown)
			if granted {
				require.NoError(t, f.F.Err())
				require.Empty(t, read().Holders)
				f.End()
			} else {
				f.Give()
			}
			l = read()
			require.Zero(t, l.Unknown)
			require.Zero(t, l.Handed)
			require.Equal(t, l.Size, l.Free)
			observed.Unwatch(f.Of)
		}
	}
}

// isCounted is the same where only numbers are kept: what was asked for is acquired, once.
func (f Future) isCounted(t *testing.T, read func() observed.Lock) {
	t.Helper()
	before := read().Acquired
	acquired := func() uint64 { return read().Acquired - before }
	f.Take()
	require.False(t, f.F.Poll(nil))
	f.End()
	require.EqualValues(t, 1, acquired(), "it has given up")
	require.False(t, f.F.Poll(nil))
	f.Give()
	require.True(t, f.F.Poll(nil))
	require.EqualValues(t, 1, acquired(), "nobody has asked")
	require.NoError(t, f.F.Err())
	require.NoError(t, f.F.Err())
	require.EqualValues(t, 2, acquired())
	f.End()
	require.True(t, f.F.Poll(nil)) // at once
	require.NoError(t, f.F.Err())
	require.EqualValues(t, 3, acquired())
	f.F.Cancel()
	f.GiveIts()
	l := read()
	require.EqualValues(t, 3, acquired())
	require.Equal(t, l.Size, l.Free)
	require.Empty(t, l.Holders)
}
