//go:build !interleave

package rt_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
)

// A wait that was told of the panic, and is given up before it says so, tells the handler.
func TestPanicThatIsGivenUpWithItsAwaitIsTold(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(1), rt.WithPanicHandler(told.add))
	other := solo(t)
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error { _ = rt.Await(cx, request(s, 1)); panic(errBoo) })
	w := spawned(other, func(cx *rt.Context) error { _, err := h.Await(cx); return err })
	locktest.Eventually(t, "waits", func() bool { return rt.Joiners(ex) == 1 })
	release := occupy(t, other)
	s.Release(1)
	locktest.Eventually(t, "ended", func() bool { return ex.Stats().Tasks == 0 })
	w.Abort()
	release()
	_, err := wait(t, w)
	require.ErrorIs(t, err, rt.ErrCancelled)
	require.ErrorIs(t, ex.Shutdown(bg), errBoo)
	require.Len(t, told.list(), 1)
}

func TestPanicThatIsGivenUpWithItsWaitIsTold(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(1), rt.WithPanicHandler(told.add))
	s := held(t, 1)
	h := spawned(ex, func(cx *rt.Context) error { _ = rt.Await(cx, request(s, 1)); panic(errBoo) })
	ctx := &endsInTheWait{Context: bg, done: make(chan struct{})}
	got := make(chan error, 1)
	go func() { _, err := h.Wait(ctx); got <- err }()
	locktest.Eventually(t, "waits", func() bool { return rt.Joiners(ex) == 1 })
	s.Release(1)
	require.Equal(t, context.Canceled, locktest.Receive(t, got))
	require.ErrorIs(t, ex.Shutdown(bg), errBoo)
	require.Len(t, told.list(), 1)
}

// A future that is complete when it is given up was told as well; it keeps the error.
func TestPanicThatIsGivenUpWithItsFutureIsTold(t *testing.T) {
	var told toldPanics
	ex := rt.New(rt.WithWorkers(1), rt.WithPanicHandler(told.add))
	for i := range 2 {
		s := held(t, 1)
		h := spawned(ex, func(cx *rt.Context) error { _ = rt.Await(cx, request(s, 1)); panic(errBoo) })
		var w locktest.CountingWaker
		require.False(t, h.Poll(&w))
		s.Release(1)
		locktest.Eventually(t, "ended", func() bool { return w.Load() == 1 })
		require.True(t, h.Poll(&w))
		if i == 1 {
			require.ErrorIs(t, h.Err(), errBoo)
		}
		h.Release()
		h.Release()
		locktest.Eventually(t, "told", func() bool { return len(told.list()) == 1 })
		require.ErrorIs(t, h.Err(), errBoo)
	}
	require.NoError(t, ex.Shutdown(bg), "all have been asked for")
	require.Len(t, told.list(), 1)
}

// recoveringPool is a pool whose goroutines survive panics.
type recoveringPool struct{}

func (recoveringPool) Submit(fn func()) error {
	go func() {
		defer func() { _ = recover() }()
		fn()
	}()
	return nil
}

// A panic of the handler ends the program, even in a pool that recovers from panics.
func TestPanicOfTheHandlerEndsTheProgram(t *testing.T) {
	const mode = "FARAD_TEST_HANDLER_PANICS"
	if os.Getenv(mode) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestPanicOfTheHandlerEndsTheProgram$")
		c.Env = append(os.Environ(), mode+"=1")
		out, err := c.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "panic: the handler's\n")
		return
	}
	ex, err := rt.NewOn(recoveringPool{}, rt.WithWorkers(1),
		rt.WithPanicHandler(func(*rt.PanicError) { panic("the handler's") }))
	require.NoError(t, err)
	spawned(ex, func(*rt.Context) error { panic(errBoo) })
	_ = ex.Shutdown(bg)
}
