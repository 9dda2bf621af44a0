//go:build !interleave

package share

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/waiter"
)

// A bellman is called by the bell of a share.
type bellman struct {
	Bell
	calls chan struct{}
}

// newShare returns a share of given permits, until the test says that it is not valid.
func newShare(given int64) (s *Share, bell *bellman, valid *bool) {
	s, bell, valid = new(Share), &bellman{calls: make(chan struct{}, 1)}, new(bool)
	*valid = true
	bell.Init(func() { bell.calls <- struct{}{} })
	s.Init(&bell.Bell, func() bool { return *valid })
	s.Resize(given)
	return s, bell, valid
}

// isRung reports whether the driver is called, and hears it.
func (b *bellman) isRung() bool {
	defer b.Clear()
	select {
	case <-b.calls:
		return true
	default:
		return false
	}
}

// The agent asks for what waits. When it does not wait any more, the entry should go.
func TestTheDriverIsToldOfWhoGivesUp(t *testing.T) {
	s, bell, _ := newShare(0)
	a := line.NewAgent(7, new(numbers).next, 10, false, s)
	other := line.Entry{Key: line.Key{Lease: 8}, Create: 5, Mod: 5, Weight: 1}
	a.Learn(line.State{Rev: 5, Size: 1, Entries: []line.Entry{other}}, 0)
	txn, _ := s.Plan(a, 0)
	require.Nil(t, txn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- s.Wait(waiter.UntilDone(ctx), 1) }()
	<-bell.calls // it waits
	bell.Clear()
	txn, _ = s.Plan(a, 0)
	require.Len(t, txn.Ops, 1)
	a.Answered(true)
	a.See(6, 1, line.Entry{Key: line.Key{Lease: 7}, Create: 6, Mod: 6, Weight: 1})
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.True(t, bell.isRung())
	txn, _ = s.Plan(a, 0)
	require.Equal(t, []line.Op{{Key: line.Key{Lease: 7}, Mod: 6}}, txn.Ops)
}

// An observed share grants and refuses what one does that is not observed, but for its fast path.
func TestAnObservedShareIsAShare(t *testing.T) {
	s, _, valid := newShare(2)
	require.True(t, s.TryObserved(1), "whether it is observed or not")
	require.True(t, s.Release(1))
	s.Observe(true)
	require.True(t, s.IsObserved())
	require.False(t, s.Try(1), "nobody would notice")
	require.True(t, s.TryObserved(1))
	require.NoError(t, s.Wait(waiter.After(time.Minute), 1))
	require.False(t, s.TryObserved(1))
	require.Error(t, s.Wait(waiter.After(time.Millisecond), 1))
	require.EqualValues(t, 2, s.Held())

	got := make(chan error)
	wait := func() {
		go func() { got <- s.Wait(waiter.Limit{}, 1) }()
		require.Eventually(t, func() bool { return s.Waiting() == 1 }, time.Minute, time.Millisecond)
	}
	wait()
	require.True(t, s.Release(1))
	require.NoError(t, <-got)
	require.False(t, s.Release(3), "fewer are held")

	wait()
	*valid = false // a loss that the share learns of later
	require.True(t, s.Release(1))
	require.True(t, errors.Is(<-got, waiter.ErrClosed))
	require.False(t, s.TryObserved(1))
	require.ErrorIs(t, s.Wait(waiter.Limit{}, 1), waiter.ErrClosed)
	require.EqualValues(t, 1, s.Held())
	require.True(t, s.Release(1))
	require.Zero(t, s.Held())
	s.Observe(false)
	*valid = true
	require.True(t, s.Try(1))
	require.True(t, s.Release(1))
}

// A release that concerns nobody else costs no look of the driver.
func TestTheDriverIsToldOfReleasesThatItWants(t *testing.T) {
	s, bell, _ := newShare(2)
	require.True(t, s.Try(2))
	require.True(t, s.Release(1))
	require.False(t, bell.isRung(), "nobody waits")
	require.True(t, s.Try(1))
	s.attention.Store(onIdle)
	s.Resize(1)
	require.True(t, s.Release(1))
	require.False(t, bell.isRung(), "nothing is free")
	require.True(t, s.Release(1))
	require.True(t, bell.isRung())
	s.Resize(2)
	require.True(t, s.Try(2))
	s.Resize(1)
	s.attention.Store(onDebt)
	require.True(t, s.Release(1))
	require.True(t, bell.isRung())
}

// When the driver is called there is something new to see: who has begun to wait is in line, and
// who gives up is not. A request that need not wait is no news.
func TestTheDriverIsToldOfWhatHasHappened(t *testing.T) {
	s, _, _ := newShare(1)
	var seen []int
	s.bell = new(Bell)
	s.bell.Init(func() { seen = append(seen, s.Waiting()) })
	s.attention.Store(onWait)
	require.NoError(t, s.Wait(waiter.Limit{}, 1))
	require.Empty(t, seen)
	var f waiter.Future
	var r Request
	r.Of(s)
	waiter.Bind(&f, &r, 1)
	require.False(t, f.Poll(nil))
	s.bell.Clear()
	f.Release()
	require.Equal(t, []int{1, 0}, seen)
}

// What is released without a handle is counted apart, so that it is nobody's with a handle.
func TestLoosePermits(t *testing.T) {
	s, _, _ := newShare(3)
	require.True(t, s.Try(1))
	require.True(t, s.Try(2))
	s.Loosen(2)
	require.False(t, s.Tighten(3), "one of them has a handle")
	require.True(t, s.Tighten(1))
	require.EqualValues(t, 1, s.Loose())
	require.True(t, s.Tighten(1))
	require.Zero(t, s.Loose())
	require.EqualValues(t, 3, s.Held(), "the caller of Tighten releases")
}
