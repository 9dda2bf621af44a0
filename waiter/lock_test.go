package waiter_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// permits are a lock as an author outside of the module may write it.
type permits struct {
	mu     xsync.Mutex
	free   int64
	closed bool
	line   []*waiter.Waiter
}

func (l *permits) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return waiter.Closed
	case l.free >= w.N && len(l.line) == 0:
		l.free -= w.N
		return waiter.Granted
	}
	w.Arm(waker)
	l.line = append(l.line, w)
	return waiter.Pending
}

func (l *permits) Unlink(w *waiter.Waiter) bool {
	l.mu.Lock()
	i := slices.Index(l.line, w)
	if i >= 0 {
		l.line = slices.Delete(l.line, i, i+1)
	}
	l.mu.Unlock()
	l.release(0) // what stood behind w may fit
	return i >= 0
}

func (l *permits) GiveBack(n int64) bool {
	l.release(n)
	return true
}

func (l *permits) release(n int64) {
	for { // A refused grant comes back, and is the next one's.
		l.mu.Lock()
		l.free += n
		if len(l.line) == 0 || l.line[0].N > l.free {
			l.mu.Unlock()
			return
		}
		w := l.line[0]
		l.line = l.line[1:]
		l.free -= w.N
		n = w.N
		l.mu.Unlock()
		if n == 1 && w.HandOff() || n > 1 && w.Deliver(waiter.Granted) {
			n = 0
		}
	}
}

func (l *permits) close() {
	l.mu.Lock()
	l.closed = true
	line := l.line
	l.line = nil
	l.mu.Unlock()
	for _, w := range line {
		w.Deliver(waiter.Closed)
	}
}

func (l *permits) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.line) > 0
}

func TestWaitEndsAsItsRequestDoes(t *testing.T) {
	l := permits{free: 1}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, waiter.Wait(waiter.UntilDone(ctx), &l, 1), "at once")
	require.ErrorIs(t, waiter.Wait(waiter.After(0), &l, 1), context.DeadlineExceeded)

	ended := make(chan error)
	for _, c := range []struct {
		end  func()
		want error
	}{
		{func() { l.release(1) }, nil},
		{cancel, context.Canceled},
	} {
		go func() { ended <- waiter.Wait(waiter.UntilDone(ctx), &l, 1) }()
		locktest.Eventually(t, "a request waits", l.waits)
		c.end()
		require.Equal(t, c.want, <-ended)
	}
}

// A cancel that happened before the grant wins, and the permits go back.
func TestWaitGivesBackWhatCameAfterTheCancel(t *testing.T) {
	l := permits{free: 1}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, waiter.Wait(waiter.UntilDone(ctx), &l, 1), context.Canceled)
	require.EqualValues(t, 1, l.free)
}

func TestWaitOnAClosedLock(t *testing.T) {
	l := permits{}
	ended := make(chan error)
	go func() { ended <- waiter.Wait(waiter.Limit{}, &l, 1) }()
	locktest.Eventually(t, "a request waits", l.waits)
	l.close()
	require.ErrorIs(t, <-ended, waiter.ErrClosed)
	require.ErrorIs(t, waiter.Wait(waiter.Limit{}, &l, 1), waiter.ErrClosed)
}

// The lock delivers the token before the sleep, so one goroutine shows the wait from end to end.
func TestWaitAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	l := granting{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, limit := range []waiter.Limit{{}, waiter.UntilDone(ctx), waiter.After(time.Hour)} {
		granted := 0
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if waiter.Wait(limit, l, 1) == nil {
				granted++
			}
		}))
		require.Equal(t, 101, granted)
	}
}

// A granting lock has each request wait, and grants it at once.
type granting struct{}

func (granting) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	w.Arm(waker)
	w.Deliver(waiter.Granted)
	return waiter.Pending
}

func (granting) Unlink(*waiter.Waiter) bool { return false }
func (granting) GiveBack(int64) bool        { return true }

func TestFutureNamesThePackageOfItsLock(t *testing.T) {
	var f waiter.Future
	require.Equal(t, "future of no lock", f.String())
	waiter.Bind(&f, &permits{}, 1)
	require.Equal(t, "future of package waiter_test", f.String())
}

// Only the first round of a future allocates, for a lock of another author.
func TestRoundsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	l, f, granted := granting{}, new(waiter.Future), 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		waiter.Bind(f, l, 1)
		f.Poll(nil)
		if f.Err() == nil {
			granted++
		}
		f.Release()
	}))
	require.Equal(t, 101, granted)
}

func TestOversizedSaysTheNumbers(t *testing.T) {
	err := waiter.Oversized("x", 3, 2)
	require.True(t, errors.Is(err, waiter.ErrTooLarge))
	require.Equal(t, "x: a request for 3 permits exceeds the size, 2", err.Error())
}
