//go:build !interleave

package phased

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// A goroutine that may spin does so only where another processor can make progress meanwhile: a few
// times before it sleeps, or, if it never sleeps, until its wait ends.
func TestSpinsOnlyBesideAnotherProcessor(t *testing.T) {
	looks := func(w Wait, enough int) (n int) {
		require.Equal(t, enough > 0, w.poll(func() bool { n++; return n == enough }))
		return n
	}
	for _, procs := range []int{1, 2} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		spins := procs > 1 && runtime.NumCPU() > 1
		locktest.Eventually(
			t,
			"it is known how many processors there are",
			func() bool { return (looks(SpinThenPark, 0) > 0) == spins },
		)
		if spins {
			require.Equal(t, 1, looks(SpinThenPark, 1))
		}
		for _, w := range []Wait{Spin, Yield} {
			require.Equal(t, 100, looks(w, 100))
		}
		require.Zero(t, looks(Park, 0))
	}
}
