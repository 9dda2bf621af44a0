//go:build !interleave

package mutex_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/mutex"
)

// blocked returns how often the block profile has seen goroutines blocked below a function.
func blocked(t *testing.T, function string) (n int64) {
	t.Helper()
	records := make([]runtime.BlockProfileRecord, 10000)
	size, ok := runtime.BlockProfile(records)
	require.True(t, ok)
	for _, r := range records[:size] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, function) {
				n += r.Count
				break
			}
		}
	}
	return n
}

// Whoever looks for contention finds it where the goroutines wait.
func TestContentionIsInTheBlockProfile(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := blocked(t, "mutex.(*Mutex).lockSlow")
	var m mutex.Mutex
	m.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Lock()
		defer m.Unlock()
	}()
	awaitWaiting(t, &m, 1)
	time.Sleep(time.Millisecond) // for it to be asleep: being in line comes before
	m.Unlock()
	receive(t, done)
	require.Greater(t, blocked(t, "mutex.(*Mutex).lockSlow"), before)
	requireFree(t, &m)
}
