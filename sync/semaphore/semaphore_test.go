package semaphore_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// The promises that all semaphores make.
func TestContract(t *testing.T) {
	semtest.Run(t, kind())
}

func TestPanicsNameThePackage(t *testing.T) {
	s := semaphore.New(1)
	for msg, f := range map[string]func(){
		"semaphore: acquire of a negative number of permits": func() { _ = s.Acquire(bg, -1) },
		"semaphore: nil context":                             func() { _ = s.Acquire(nil, 9) }, //nolint:staticcheck // nil on purpose
		"semaphore: released 1, but 0 are held (size 1)":     func() { s.Release(1) },
		"semaphore: release of a negative number of permits": func() { s.Release(-1) },
		"semaphore: negative size":                           func() { s.Resize(-1) },
		"semaphore: future of a nil semaphore":               func() { (*semaphore.Semaphore)(nil).Bind(new(waiter.Future), 1) },
		"semaphore: future of a negative number of permits":  func() { s.Bind(new(waiter.Future), -1) },
		"semaphore: merge into a nil permit": func() {
			var none *semaphore.Permit
			none.Merge(new(semaphore.Permit))
		},
	} {
		require.PanicsWithValue(t, msg, f)
	}
	requireIdle(t, s)
}

// As with a context that is done.
func TestTimeoutThatIsOverDoesNotEvenAcquireNothing(t *testing.T) {
	s := semaphore.New(1)
	require.ErrorIs(t, s.AcquireTimeout(0, 0), context.DeadlineExceeded)
	require.ErrorIs(t, s.AcquireTimeout(-1, 0), context.DeadlineExceeded)
	requireIdle(t, s)
}

func TestAvailableCountsWhatOthersWaitFor(t *testing.T) {
	s := semaphore.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	large := queued(t, bg, s, 3)
	require.EqualValues(t, 1, s.Available(), "the large request must not take less than it asked for")
	s.Release(2)
	require.NoError(t, locktest.Receive(t, large))
	s.Release(3)
	requireIdle(t, s)
}

func TestBadNumbersPanicAndLoseNothing(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 1))
	for name, f := range map[string]func(){
		"no waiting":      func() { semaphore.WithMaxWaiting(0) },
		"future":          func() { s.Bind(new(waiter.Future), -1) },
		"future of nil":   func() { (*semaphore.Semaphore)(nil).Bind(new(waiter.Future), 1) },
		"negative permit": func() { _, _ = s.AcquirePermit(bg, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Panics(t, f)
			require.EqualValues(t, 1, s.Available())
			require.EqualValues(t, 2, s.Size())
		})
	}
	new(waiter.Future).Release() // nothing to cancel
	s.Release(1)
	requireIdle(t, s)
}

// A waiter in the slot and one in the list hide no over-release.
func TestOverReleasePanicsWithAndWithoutWaiters(t *testing.T) {
	s := semaphore.New(2)
	require.NoError(t, s.Acquire(bg, 2))
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 2)
	require.PanicsWithValue(t, "semaphore: released 3, but 2 are held (size 2)", func() { s.Release(3) })
	locktest.RequireBlocked(t, a)
	locktest.RequireBlocked(t, b)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	s.Release(2)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(2)
	requireIdle(t, s)
}

func TestZeroSemaphoreCanBeResized(t *testing.T) {
	semtest.CheckSizeZero(t, new(semaphore.Semaphore))
}

func TestHugeSizesActAsMaxPermits(t *testing.T) {
	s := semaphore.New(math.MaxInt64)
	require.Equal(t, semaphore.MaxPermits, s.Size())
	require.NoError(t, s.Acquire(bg, semaphore.MaxPermits))
	s.Resize(0)
	require.Equal(t, -semaphore.MaxPermits, s.Available())
	s.Resize(math.MaxInt64)
	s.Release(semaphore.MaxPermits)
	requireIdle(t, s)
}

func TestWeightedIsASemaphore(t *testing.T) {
	s := semaphore.NewWeighted(2)
	require.NoError(t, s.Acquire(bg, 2))
	require.False(t, s.TryAcquire(1))
	s.Release(2)
	requireIdle(t, s)
}

func TestMaxWaitingShedsLoad(t *testing.T) {
	s := semaphore.New(1, semaphore.WithMaxWaiting(2))
	require.NoError(t, s.Acquire(bg, 1))
	a, b := queued(t, bg, s, 1), queued(t, bg, s, 1)
	var f waiter.Future
	s.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	require.ErrorIs(t, f.Err(), semaphore.ErrQueueFull)
	require.ErrorIs(t, s.Acquire(bg, 1), semaphore.ErrQueueFull)
	require.ErrorIs(t, s.AcquireTimeout(time.Hour, 1), semaphore.ErrQueueFull)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, a))
	c := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, b))
	s.Release(1)
	require.NoError(t, locktest.Receive(t, c))
	s.Release(1)
	requireIdle(t, s)
}

// All whom one release serves run before it returns.
func TestAllWhomAReleaseServesRunAtOnce(t *testing.T) {
	for name, opts := range map[string][]semaphore.Option{
		"plain":  nil,
		"array":  {semaphore.WithWaitingArray(nil)},
		"shares": {semaphore.WithShares(nil)},
	} {
		t.Run(name, func(t *testing.T) { semtest.RequireHandOff(t, semaphore.New(3, opts...), 3) })
	}
}
