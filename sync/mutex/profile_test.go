//go:build !interleave

package mutex_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// The block profile shows contention where the goroutines wait, if they wait in channels.
func TestContentionIsInTheBlockProfile(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(true))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := locktest.TimesBlocked(t, "mutex.(*Mutex).lockSlow")
	var m mutex.Mutex
	locktest.Eventually(t, "the wait is in the profile", func() bool {
		m.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.Lock()
			defer m.Unlock()
		}()
		locktest.AwaitWaiting(t, &m, 1)
		time.Sleep(time.Millisecond) // for it to be asleep, as a rule: being in line comes before
		m.Unlock()
		locktest.Receive(t, done)
		return locktest.TimesBlocked(t, "mutex.(*Mutex).lockSlow") > before
	})
	requireFree(t, &m)
}

// The runtime reports a program in which every goroutine waits.
func TestTheRuntimeReportsADeadlock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deadlock.go")
	require.NoError(t, os.WriteFile(file, []byte(`package main

import (
	"github.com/farad-go/farad/sync/mutex"
)

func main() {
	var m mutex.Mutex
	m.Lock()
	m.Lock()
}
`), 0o600))
	for _, tags := range []string{"", "farad_portable"} {
		out := locktest.GoTool(t, "run", "-tags", tags, file)
		require.Contains(t, out, "all goroutines are asleep - deadlock!", tags)
	}
}
