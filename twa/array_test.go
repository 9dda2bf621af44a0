package twa_test

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/twa"
)

// However the keys fall into buckets, a signal reaches the waiters of its key.
func TestSignalReachesItsKey(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for _, buckets := range []int{1, 2, 64} {
			a := twa.NewArray(buckets)
			var values [4]atomic.Int64
			var wg sync.WaitGroup
			rounds := int64(locktest.Scaled(2000))
			for i := range values {
				for parity := range int64(2) { // two that take turns
					wg.Go(func() {
						for n := parity; n < rounds; n += 2 {
							came := func() bool { return values[i].Load() == n }
							require.NoError(require.GoOn(t), a.WaitUntil(bg, &values[i], came))
							values[i].Add(1)
							a.Signal(&values[i])
						}
					})
				}
			}
			wg.Wait()
		}
	})
}

func TestWaitUntilEndsWithTheContext(t *testing.T) {
	a := twa.NewArray(1)
	ctx, cancel := context.WithCancel(bg)
	asked := make(chan struct{}, 10)
	c := make(chan error, 1)
	go func() { c <- a.WaitUntil(ctx, "key", func() bool { asked <- struct{}{}; return false }) }()
	locktest.Receive(t, asked)
	locktest.Receive(t, asked) // once more before it waits
	locktest.RequireBlocked(t, c)
	a.Signal("another key")
	a.Signal("key")
	locktest.Receive(t, asked)
	cancel()
	require.Equal(t, context.Canceled, locktest.Receive(t, c))
	require.Equal(t, context.Canceled, a.WaitUntil(ctx, "key", func() bool { panic("asked") }))
	require.NoError(t, a.WaitUntil(bg, "key", func() bool { return true }))
}

// A polite signal reaches the waiters of its key. Without waiters it leaves no trace, however a
// wait has ended.
func TestPoliteSignalsWriteNothingInVain(t *testing.T) {
	a := twa.NewArray(1)
	before := a.Monitor("key")
	a.SignalPolite("key")
	require.Equal(t, before, a.Monitor("key"))

	var done atomic.Bool
	c := make(chan error, 1)
	go func() { c <- a.WaitUntil(bg, "key", done.Load) }()
	locktest.RequireBlocked(t, c)
	done.Store(true)
	a.SignalPolite("key")
	require.NoError(t, locktest.Receive(t, c))

	ctx, cancel := context.WithCancel(bg)
	go func() { c <- a.WaitUntil(ctx, "key", func() bool { return false }) }()
	locktest.RequireBlocked(t, c)
	cancel()
	require.Equal(t, context.Canceled, locktest.Receive(t, c))
	asked := 0
	require.Panics(t, func() {
		_ = a.WaitUntil(bg, "key", func() bool {
			if asked++; asked == 2 {
				panic("in the condition")
			}
			return false
		})
	})
	before = a.Monitor("key")
	a.SignalPolite("key")
	require.Equal(t, before, a.Monitor("key"), "no goroutine is announced any more")
}

func TestSequencesTellOfSignals(t *testing.T) {
	a := twa.NewArray(1)
	before := a.Monitor("key")
	a.Signal("key")
	require.NoError(t, a.Wait(bg, "key", before), "there has been a signal since")
	c := make(chan error, 1)
	seq := a.Monitor("key")
	go func() { c <- a.Wait(bg, "key", seq) }()
	locktest.RequireBlocked(t, c)
	a.Signal("key")
	require.NoError(t, locktest.Receive(t, c))

	var lazy twa.Sequence
	require.NoError(t, a.WaitLazy(bg, "key", &lazy), "the first call finds out")
	require.Equal(t, a.Monitor("key"), lazy)
	go func() { c <- a.WaitLazy(bg, "key", &lazy) }()
	locktest.RequireBlocked(t, c)
	a.Signal("key")
	require.NoError(t, locktest.Receive(t, c))
	require.Equal(t, a.Monitor("key"), lazy)

	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.Equal(t, context.Canceled, a.Wait(ctx, "key", a.Monitor("key")))
	require.Equal(t, context.Canceled, a.Wait(ctx, "key", a.Monitor("key")-1), "although there has been a signal")
	require.Equal(t, context.Canceled, a.WaitLazy(ctx, "key", &lazy))
	lazy--
	require.Equal(t, context.Canceled, a.WaitLazy(ctx, "key", &lazy))
}

func TestBadKeysPanic(t *testing.T) {
	a := twa.NewArray(1)
	require.PanicsWithValue(t, "twa: nil key", func() { a.Signal(nil) })
	require.PanicsWithValue(t, "twa: nil key", func() { a.SignalPolite(nil) })
	require.PanicsWithValue(t, "twa: nil key", func() { a.Monitor(nil) })
	//nolint:staticcheck // nil on purpose
	require.PanicsWithValue(t, "twa: nil context", func() { _ = a.Wait(nil, t, 0) })
	//nolint:staticcheck // nil on purpose
	require.PanicsWithValue(t, "twa: nil context", func() { _ = a.WaitUntil(nil, t, func() bool { return true }) })
	type inside struct{ v any }
	for text, key := range map[string]any{
		"twa: key of type []int, which cannot be compared":           []int{1},
		"twa: key of type map[int]int, which cannot be compared":     map[int]int{},
		"twa: key of type func(), which cannot be compared":          func() {},
		"twa: key of type twa_test.inside, which cannot be compared": inside{[]int{1}},
		"twa: key of type [1]interface {}, which cannot be compared": [1]any{[]int{1}},
	} {
		require.PanicsWithValue(t, text, func() { a.Signal(key) })
		require.PanicsWithValue(t, text, func() { a.SignalPolite(key) })
		require.PanicsWithValue(t, text, func() { a.Monitor(key) })
		require.PanicsWithValue(t, text, func() { _ = a.Wait(bg, key, 0) })
		require.PanicsWithValue(t, text, func() { _ = a.WaitUntil(bg, key, func() bool { return true }) })
	}
	for _, key := range []any{1, "key", inside{1}, [1]any{"key"}, t, (*int)(nil), make(chan int)} {
		a.Signal(key)
	}
	require.PanicsWithValue(t, "twa: WaitUntil without a condition", func() {
		_ = a.WaitUntil(bg, t, nil)
	})
	require.PanicsWithValue(t, "twa: array of -1 buckets", func() { twa.NewArray(-1) })
	require.PanicsWithValue(t, "twa: array of "+strconv.Itoa(math.MinInt)+" buckets", func() {
		twa.NewArray(math.MinInt)
	})
}

// A nil array is that of the process; one that has not been made is none.
func TestArrayOfTheProcess(t *testing.T) {
	var a *twa.Array
	var done atomic.Bool
	c := make(chan error, 1)
	go func() { c <- a.WaitUntil(bg, &done, done.Load) }()
	locktest.RequireBlocked(t, c)
	done.Store(true)
	a.Signal(&done)
	require.NoError(t, locktest.Receive(t, c))
	seq := a.Monitor(t)
	a.Signal(t)
	require.NoError(t, a.Wait(bg, t, seq))
	require.NoError(t, a.WaitLazy(bg, t, &seq))

	s := twa.New(1, twa.WithWaitingArray(a))
	require.True(t, s.TryAcquire(1))
	waits := queued(t, bg, s, 1)
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waits))
	require.PanicsWithValue(t, "twa: array that NewArray has not made", func() { twa.WithWaitingArray(new(twa.Array)) })

	const text = "twa: array that NewArray has not made"
	a = new(twa.Array)
	require.PanicsWithValue(t, text, func() { a.Signal(t) })
	require.PanicsWithValue(t, text, func() { a.Monitor(t) })
	require.PanicsWithValue(t, text, func() { _ = a.Wait(bg, t, 0) })
	require.PanicsWithValue(t, text, func() { _ = a.WaitUntil(bg, t, done.Load) })
}

// A semaphore with an array of its own sleeps there, and nowhere else.
func TestSemaphoreSleepsInItsArray(t *testing.T) {
	a := twa.NewArray(4)
	s := twa.New(1, twa.WithWaitingArray(a))
	require.True(t, s.TryAcquire(1))
	waits := queued(t, bg, s, 1)
	require.Equal(t, 1, (*parking.Table)(a).Count(func(parking.Key) bool { return true }))
	s.Release(1)
	require.NoError(t, locktest.Receive(t, waits))
	require.Zero(t, (*parking.Table)(a).Count(func(parking.Key) bool { return true }))
}

func TestTableIsTheArrays(t *testing.T) {
	a := twa.NewArray(4)
	require.Equal(t, 4, (*parking.Table)(a).Buckets())
	require.Same(t, parking.Default(), (*parking.Table)((*twa.Array)(nil)).OrDefault())
	require.PanicsWithValue(t, "twa: array that NewArray has not made", func() { new(twa.Array).Signal(1) })
}
