//go:build !interleave || simulate

package parking

import (
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestDefaultGrowsWithTheProcessors(t *testing.T) {
	for processors, want := range map[int]int{
		1: 512, 2: 512, 4: 512, 5: 1024, 8: 1024, 9: 2048, 16: 2048, 17: 4096, 32: 4096, 33: 4096, 1024: 4096,
	} {
		require.Equal(t, want, size(processors), "%d processors", processors)
	}
	require.Equal(t, size(runtime.NumCPU()), Default().Buckets())
	require.Same(t, Default(), Default())
}
