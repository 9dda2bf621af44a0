package measure

import (
	"fmt"
	"slices"
)

// MedianAndSpread formats quotients; it is empty if there are none.
func MedianAndSpread(vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f (%s)", Median(vs), Spread("%.2f", vs))
}

// Median returns the middle of vs, or the mean of the two in the middle. There must be at least
// one.
func Median(vs []float64) float64 {
	s := slices.Sorted(slices.Values(vs))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// Ratios divides round by round. The two figures of one round were taken a second apart: what else
// the machine did at that time slowed both, and drops out.
func Ratios(ours, peers []float64) []float64 {
	rs := make([]float64, min(len(ours), len(peers)))
	for i := range rs {
		rs[i] = ours[i] / peers[i]
	}
	return rs
}

// fairness returns the smallest count divided by the largest, 0 if no goroutine did anything.
func fairness(counts []int64) float64 {
	most := slices.Max(counts)
	if most == 0 {
		return 0
	}
	return float64(slices.Min(counts)) / float64(most)
}

// Spread formats the smallest and the largest of vs.
func Spread(format string, vs []float64) string {
	return fmt.Sprintf(format+"–"+format, slices.Min(vs), slices.Max(vs))
}
