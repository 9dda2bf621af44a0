//go:build !interleave

package main

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRealCores(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run([]string{"-cores", "1", "-lasts", "100000", "mcs", "mutex.Mutex"}, &out))
	require.Contains(t, out.String(), "| mcs | ")
	require.Error(t, run([]string{"-cores", "257"}, &out))
}

// BenchmarkTurns measures what the simulated costs of two cores are compared with. Two threads
// alternate at one word, so every turn is a store to a line that the other has loaded, and the
// other's load.
func BenchmarkTurns(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two processors")
	}
	var word struct {
		_ [64]byte
		atomic.Int64
		_ [64]byte
	}
	var done sync.WaitGroup
	for i := range int64(2) {
		done.Go(func() {
			runtime.LockOSThread()
			for n := i; n < int64(b.N); n += 2 {
				seen := word.Load()
				for seen != n {
					seen = word.Load()
				}
				word.Store(n + 1)
			}
		})
	}
	done.Wait()
}
