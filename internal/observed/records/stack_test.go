//go:build !interleave

package records

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inlined is inlined into its caller, and must not be lost.
func inlined() *Stack { return here() }

//go:noinline
func outer() *Stack { return inlined() }

func functions(s *Stack) (names []string) {
	frames := runtime.CallersFrames(s.PCs())
	for {
		f, more := frames.Next()
		names = append(names, f.Function[strings.LastIndexByte(f.Function, '.')+1:])
		if !more {
			return names
		}
	}
}

func TestStackIsThatOfTheCaller(t *testing.T) {
	var all []*Stack
	for range 2 {
		all = append(all, outer())
	}
	require.Equal(t, []string{"inlined", "outer", "TestStackIsThatOfTheCaller"}, functions(all[0])[:3])
	require.Same(t, all[0], all[1], "the same place")
	other := outer()
	require.NotSame(t, all[0], other)
	require.Equal(t, []string{"inlined", "outer", "TestStackIsThatOfTheCaller"}, functions(other)[:3])
}

func TestStacksAreDeep(t *testing.T) {
	var down func(n int) *Stack
	down = func(n int) *Stack {
		if n == 0 {
			return here()
		}
		return down(n - 1)
	}
	for n := range 3 * depth { // at the bottom of a goroutine, and deeper than is kept
		done := make(chan *Stack)
		go func() { done <- down(n) }()
		s := <-done
		require.NotEmpty(t, s.PCs())
		require.LessOrEqual(t, len(s.PCs()), 2*depth)
	}
}

func BenchmarkHere(b *testing.B) {
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			here()
		}
	})
	b.Run("Callers", func(b *testing.B) {
		var pcs [depth]uintptr
		for b.Loop() {
			runtime.Callers(0, pcs[:])
		}
	})
}

func TestBucketsOfAHistogram(t *testing.T) {
	var h histogram
	for _, d := range []int64{-5, 0, 1, 1000, 1_000_000_000, 1 << 62} {
		h.add(d, 3)
	}
	r := h.read()
	require.EqualValues(t, 18, r.Count)
	require.Equal(t, MinBucket, r.First)
	require.EqualValues(t, 9, r.Buckets[0])
	require.EqualValues(t, 3, r.Buckets[Bucket(1_000_000_000)-MinBucket])
	require.EqualValues(t, 3, r.Buckets[lastBucket-MinBucket])
}

// One wait in a period is picked, however quickly others are granted meanwhile.
func TestPickedWaitsAreOneInAPeriod(t *testing.T) {
	for _, step := range []int64{1, 2, 7, 8, 64, 256, 1000} {
		r, picked := newRecord(0, nil, nil), 0
		const n = 100 * period
		for range n {
			r.granted.Add(step)
			if r.isPicked() {
				picked++
			}
		}
		require.InEpsilon(t, n/period, picked, 0.2, step)
	}
}
