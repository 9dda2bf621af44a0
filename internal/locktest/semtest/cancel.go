package semtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var cancels = []test{
	{"CancelledHeadLetsFollowersPass", cancelledHeadLetsFollowersPass},
	{"CancelInTheMiddleKeepsTheOrder", cancelInTheMiddleKeepsTheOrder},
	{"CancelBeforeGrantWins", cancelBeforeGrantWins},
	{"CancelInsideTheCallWins", cancelInsideTheCallWins},
	{"ErrorIsTheContexts", errorIsTheContexts},
	{"OneContextSharedByManyWaitersCancelsAll", oneContextSharedByManyWaitersCancelsAll},
	{"ForeignContextsCancelToo", foreignContextsCancelToo},
	{"CloseAgainstCancel", closeAgainstCancel},
	{"ContextWithoutAnErrorNeverAcquires", contextWithoutAnErrorNeverAcquires},
}

func cancelledHeadLetsFollowersPass(t *testing.T, k Kind) {
	s := k.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	large := Queued(t, ctx, s, 2)
	small := Queued(t, bg, s, 1)
	locktest.RequireBlocked(t, small)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, large), context.Canceled)
	require.NoError(t, locktest.Receive(t, small), "one permit was free all the time")
	s.Release(2)
	RequireIdle(t, s)
}

func cancelInTheMiddleKeepsTheOrder(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	a := Queued(t, bg, s, 1)
	b := Queued(t, ctx, s, 1)
	c := Queued(t, bg, s, 1)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, b), context.Canceled)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	locktest.RequireBlocked(t, c)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
	RequireIdle(t, s)
}

// The cancel happens before the release, so it wins, although both may be visible when the waiter
// wakes.
func cancelBeforeGrantWins(t *testing.T, k Kind) {
	for _, watched := range []bool{false, true} {
		for range locktest.Scaled(300) {
			s := k.New(1)
			ctx, cancel := context.WithCancel(bg)
			if watched { // enough waits to have the context watched
				for range 20 {
					waitOnce(t, ctx, s)
				}
			}
			require.NoError(t, s.Acquire(bg, 1))
			c := Queued(t, ctx, s, 1)
			cancel()
			s.Release(1)
			require.ErrorIs(t, locktest.Receive(t, c), context.Canceled)
			RequireIdle(t, s)
		}
	}
}

// The context ends, and then the permits are released, at any point of the call.
func cancelInsideTheCallWins(t *testing.T, k Kind) {
	for n := int64(1); n <= 2; n++ {
		hold := func() locktest.Held {
			s := k.New(2)
			require.NoError(t, s.Acquire(bg, 2))
			return locktest.Held{
				Wait:    func(ctx context.Context) error { return s.Acquire(ctx, n) },
				Waiting: func() bool { return s.Waiting() > 0 },
				Free:    func() { s.Release(2) },
				Release: func() { s.Release(n) },
				After:   func(t *testing.T) { t.Helper(); RequireIdle(t, s) },
			}
		}
		locktest.RequireEarlierCancelWins(t, hold)
		panictest.RequireNothingLost(t, hold)
	}
}

func errorIsTheContexts(t *testing.T, k Kind) {
	s := k.New(0)
	s.Resize(1)
	require.NoError(t, s.Acquire(bg, 1))
	cause := errors.New("because")
	ctx, cancel := context.WithCancelCause(bg)
	c := Queued(t, ctx, s, 1)
	cancel(cause)
	err := locktest.Receive(t, c)
	require.True(t, err == ctx.Err(), "no wrapping") //nolint:errorlint // that is the point
	require.ErrorIs(t, context.Cause(ctx), cause)
	s.Release(1)
	RequireIdle(t, s)
}

func oneContextSharedByManyWaitersCancelsAll(t *testing.T, k Kind) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := k.New(1)
		ctx, cancel := context.WithCancel(bg)
		for range 20 {
			waitOnce(t, ctx, s)
		}
		require.NoError(t, s.Acquire(bg, 1))
		const n = 100
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { require.ErrorIs(require.GoOn(t), s.Acquire(ctx, 1), context.Canceled) })
		}
		locktest.AwaitWaiting(t, s, n)
		behind := Queued(t, bg, s, 1)
		cancel()
		wg.Wait()
		s.Release(1)
		require.NoError(t, locktest.Receive(t, behind))
		s.Release(1)
		RequireIdle(t, s)
	})
}

func foreignContextsCancelToo(t *testing.T, k Kind) {
	s := k.New(1)
	ctx := locktest.NewForeignContext()
	for range 20 {
		waitOnce(t, ctx, s)
	}
	require.NoError(t, s.Acquire(bg, 1))
	c := Queued(t, ctx, s, 1)
	why := errors.New("foreign")
	ctx.End(why)
	require.Equal(t, why, locktest.Receive(t, c))
	s.Release(1)
	RequireIdle(t, s)
}

func closeAgainstCancel(t *testing.T, k Kind) {
	for range locktest.Scaled(300) {
		s := k.New(1)
		require.NoError(t, s.Acquire(bg, 1))
		ctx, cancel := context.WithCancel(bg)
		a, b := Queued(t, ctx, s, 1), Queued(t, ctx, s, 1)
		go s.Close()
		go cancel()
		for _, c := range []<-chan error{a, b} {
			err := locktest.Receive(t, c)
			require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, waiter.ErrClosed), "%v", err)
		}
		require.EqualValues(t, 0, s.Available(), "a canceller that lost to Close gives nothing back")
		s.Release(1)
		RequireIdle(t, s)
	}
}

// A context whose done channel is closed although it has no error must not make a wait that was
// given up a success.
type errlessContext struct{ context.Context }

func (errlessContext) Err() error { return nil }

func contextWithoutAnErrorNeverAcquires(t *testing.T, k Kind) {
	s := k.New(1)
	require.NoError(t, s.Acquire(bg, 1))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, s.Acquire(errlessContext{ctx}, 1), context.Canceled)
	s.Release(1)
	RequireIdle(t, s)
}
