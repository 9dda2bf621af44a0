//go:build !interleave

package engine

import (
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A future whose outcome was asked for keeps the waker of its last poll alive no more.
func TestFutureLetsGoOfItsWaker(t *testing.T) {
	var e Engine
	e.From(0).Init(1, nil)
	require.True(t, e.From(0).TryAcquire(1))
	var f waiting.Future
	waiting.Bind(&f, e.From(0), 1)
	gone := make(chan struct{})
	func() {
		object := new([64]byte)
		runtime.AddCleanup(object, func(c chan struct{}) { close(c) }, gone)
		require.False(t, f.Poll(waiter.WakerFunc(func() { object[0]++ })))
	}()
	require.True(t, e.From(0).Release(1))
	require.NoError(t, f.Err())
	locktest.Eventually(t, "collected", func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
	require.True(t, f.Complete(), "it is still there")
}
