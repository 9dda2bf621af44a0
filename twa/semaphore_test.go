package twa_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

var bg = context.Background()

var requireIdle, queued = semtest.RequireIdle, semtest.Queued

func bind(s semtest.Semaphore, f *waiter.Future, n int64) { s.(*twa.Semaphore).Bind(f, n) }

// The promises that all semaphores make, with the array of the process and with the smallest, where
// all wait in one bucket.
func TestContract(t *testing.T) {
	for name, opts := range map[string][]twa.Option{
		"default":    nil,
		"one bucket": {twa.WithWaitingArray(twa.NewArray(1))},
	} {
		t.Run(name, func(t *testing.T) {
			semtest.Run(t, semtest.Kind{
				New:  func(n int64) semtest.Semaphore { return twa.New(n, opts...) },
				Bind: bind,
			})
		})
	}
}

// tooMuch is what a release of n permits panics with that is too much.
func tooMuch(n, held, size int64) string {
	return fmt.Sprintf("twa: released %d, but at most %d are held (size %d)", n, held, size)
}

func TestPanicsNameThePackage(t *testing.T) {
	s := twa.New(1)
	for msg, f := range map[string]func(){
		"twa: acquire of a negative number of permits": func() { _ = s.Acquire(bg, -1) },
		"twa: nil context": func() { _ = s.Acquire(nil, 9) }, //nolint:staticcheck // nil on purpose
		tooMuch(1, 0, 1):   func() { s.Release(1) },
		"twa: nil option":  func() { twa.New(1, nil) },
		"twa: release of a negative number of permits": func() { s.Release(-1) },
		"twa: negative size":                           func() { s.Resize(-1) },
		"twa: array that NewArray has not made":        func() { twa.WithWaitingArray(new(twa.Array)) },
		"twa: future of a negative number of permits":  func() { s.Bind(new(waiter.Future), -1) },
		"twa: future of a nil semaphore":               func() { (*twa.Semaphore)(nil).Bind(new(waiter.Future), 1) },
		"twa: future of a nil mutex":                   func() { (*twa.Mutex)(nil).Bind(new(waiter.Future)) },
	} {
		require.PanicsWithValue(t, msg, f)
	}
	requireIdle(t, s)
}

func TestZeroSemaphoreCanBeResized(t *testing.T) {
	semtest.CheckSizeZero(t, new(twa.Semaphore))
}

func TestHugeSizesActAsMaxPermits(t *testing.T) {
	s := twa.New(math.MaxInt64)
	require.Equal(t, twa.MaxPermits, s.Size())
	s.Resize(1)
	s.Resize(math.MaxInt64)
	require.Equal(t, twa.MaxPermits, s.Size())
	requireIdle(t, s)
}

func TestNothingIsAvailableWhileOneWaits(t *testing.T) {
	s := twa.New(3)
	require.NoError(t, s.Acquire(bg, 2))
	require.EqualValues(t, 1, s.Available())
	ctx, cancel := context.WithCancel(bg)
	large := queued(t, ctx, s, 3)
	require.EqualValues(t, 0, s.Available(), "one permit is free, but it is the waiter's")
	cancel()
	require.ErrorIs(t, locktest.Receive(t, large), context.Canceled)
	require.EqualValues(t, 1, s.Available())
	s.Resize(0)
	require.EqualValues(t, 0, s.Available(), "there is no negative number of permits")
	s.Release(2)
	requireIdle(t, s)
}

func TestResizeDownQueuesBehindThoseWhoWait(t *testing.T) {
	s := twa.New(3)
	require.NoError(t, s.Acquire(bg, 3))
	first := queued(t, bg, s, 1)
	s.Resize(1) // two are to go
	require.EqualValues(t, 1, s.Size())
	second := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, first), "it was there before the resize")
	s.Release(1)
	s.Release(1)
	locktest.RequireBlocked(t, second)
	require.EqualValues(t, 0, s.Available())
	s.Release(1)
	require.NoError(t, locktest.Receive(t, second))
	s.Release(1)
	requireIdle(t, s)
}

// After an over-release, and after Close, the limit has a mark, which is seen only by a goroutine
// that acquires and releases.
func TestOverReleaseLeavesTheSizeAlone(t *testing.T) {
	s := twa.New(2)
	for range 3 { // once it has been noticed, it is noticed again
		require.PanicsWithValue(t, tooMuch(1, 0, 2), func() { s.Release(1) })
		require.EqualValues(t, 2, s.Size())
		require.EqualValues(t, 2, s.Available())
	}
	require.ErrorIs(t, s.Acquire(bg, 3), twa.ErrTooLarge)
	require.False(t, s.TryAcquire(3))
	s.Resize(5)
	require.EqualValues(t, 5, s.Size())
	require.NoError(t, s.Acquire(bg, 5))
	w := queued(t, bg, s, 4)
	s.Release(4)
	require.NoError(t, locktest.Receive(t, w))
	s.Resize(1)
	require.EqualValues(t, 1, s.Size())
	s.Release(5)
	require.EqualValues(t, 1, s.Available())
	require.PanicsWithValue(t, tooMuch(1, 0, 1), func() { s.Release(1) })

	require.NoError(t, s.Acquire(bg, 1))
	s.Close()
	require.EqualValues(t, 1, s.Size())
	require.ErrorIs(t, s.Acquire(bg, 1), twa.ErrClosed)
	require.ErrorIs(t, s.Acquire(bg, 2), twa.ErrClosed)
	s.Resize(3)
	require.EqualValues(t, 3, s.Size())
	s.Release(1)
	require.ErrorIs(t, s.Acquire(bg, 1), twa.ErrClosed)
	require.PanicsWithValue(t, tooMuch(1, 0, 3), func() { s.Release(1) })
	requireIdle(t, s)
}
