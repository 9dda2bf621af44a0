//go:build !interleave

package sync

import (
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestNilContextPanics(t *testing.T) {
	var none context.Context
	var m Mutex
	var l RWMutex
	for _, call := range []func(){
		func() { _ = m.LockContext(none) },
		func() { _ = l.LockContext(none) },
		func() { _ = l.RLockContext(none) },
	} {
		require.PanicsWithValue(t, "sync: nil context", call)
	}
	require.False(t, m.LockTimeout(math.MinInt64))
	require.False(t, l.LockTimeout(0))
	require.False(t, l.RLockTimeout(-1))
	for _, l := range []interface {
		TryLock() bool
		Unlock()
	}{&m, &l} {
		require.True(t, l.TryLock())
		l.Unlock()
	}
}

var misuses = map[string]func(m *Mutex, l *RWMutex){
	"sync: unlock of unlocked mutex":    func(m *Mutex, _ *RWMutex) { m.Unlock() },
	"sync: Unlock of unlocked RWMutex":  func(_ *Mutex, l *RWMutex) { l.Unlock() },
	"sync: RUnlock of unlocked RWMutex": func(_ *Mutex, l *RWMutex) { l.RUnlock() },
}

// A misuse cannot be recovered from, and says the words of the standard library, whether or not the
// lock is observed.
func TestMisuseIsFatal(t *testing.T) {
	const variable, observed = "FARAD_TEST_MISUSE", "observed: "
	if words := os.Getenv(variable); words != "" {
		var m Mutex
		var l RWMutex
		words, watch := strings.CutPrefix(words, observed)
		m.setObserved(watch)
		l.setObserved(watch)
		fatal = func(m misuse) { m.end() }
		defer func() {
			_ = recover()
			os.Exit(0)
		}()
		misuses[words](&m, &l)
		return
	}
	for words := range misuses {
		for _, prefix := range []string{"", observed} {
			self := exec.Command(os.Args[0], "-test.run=^TestMisuseIsFatal$")
			self.Env = append(os.Environ(), variable+"="+prefix+words)
			out, err := self.CombinedOutput()
			require.True(t, err != nil, "%s", out)
			require.Contains(t, string(out), "fatal error: "+words)
			require.Contains(t, string(out), "misuse_test.go", "the stack of the goroutine that did it")
		}
	}
}
