//go:build !interleave

package rwlock_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/rwlock"
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
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		slow, before := []string{"rLockSlow", "lockSlow", "ULock", "Upgrade"}, map[string]int64{}
		for _, f := range slow {
			before[f] = blocked(t, "rwlock.(*RWLock)."+f)
		}
		l.Lock()
		waits := []<-chan struct{}{
			queued(t, l, func() { l.RLock(); defer l.RUnlock() }),
			queued(t, l, func() { l.ULock(); defer l.UUnlock() }),
			queued(t, l, func() { l.Lock(); defer l.Unlock() }),
		}
		time.Sleep(time.Millisecond) // for them to be asleep: being in line comes before
		l.Unlock()
		for _, w := range waits {
			receive(t, w)
		}
		l.RLock()
		l.ULock()
		up := queued(t, l, l.Upgrade)
		time.Sleep(time.Millisecond)
		l.RUnlock()
		receive(t, up)
		l.Unlock()
		for _, f := range slow {
			require.Greater(t, blocked(t, "rwlock.(*RWLock)."+f), before[f], f)
		}
	})
}
