//go:build !interleave

package agents

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoroutineIsThatOfTheTrace(t *testing.T) {
	Identify()
	var wg sync.WaitGroup
	ids := make([][2]uint64, 100)
	for i := range ids {
		wg.Go(func() {
			for range 10 {
				runtime.Gosched()
				ids[i] = [2]uint64{goroutine(), traced()}
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, id := range ids {
		require.Equal(t, id[1], id[0])
		require.NotZero(t, id[0])
		require.False(t, seen[id[0]], "two goroutines with one number")
		seen[id[0]] = true
	}
}

// Where the gate is open. A build that cannot tell says that there are none.
func TestLabelsAreThoseOfTheProfiler(t *testing.T) {
	if labels() == nil {
		pprof.Do(context.Background(), pprof.Labels("a", "b"), func(context.Context) {
			if labels() == nil {
				t.Skip("this build cannot tell")
			}
		})
	}
	require.Nil(t, labelMap(labels()))
	pprof.Do(context.Background(), pprof.Labels("path", "/users", "method", "GET"), func(context.Context) {
		a := Self()
		require.Equal(t, map[string]string{"path": "/users", "method": "GET"}, a.Labels())
	})
}

func BenchmarkGoroutine(b *testing.B) {
	Identify()
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			goroutine()
		}
	})
	b.Run("traced", func(b *testing.B) {
		for b.Loop() {
			traced()
		}
	})
}
