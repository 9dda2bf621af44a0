package observe

import (
	"math"
	"time"
)

// A Histogram counts durations in buckets whose bounds grow by the fourth root of two: a native
// histogram of schema 2, in seconds, in the terms of Prometheus. Bucket i, which may be negative,
// has what took more than 2^((i-1)/4) and at most 2^(i/4) seconds. Counts are of samples, so that
// Count may be less than the number of events.
type Histogram struct {
	Count   uint64
	Sum     time.Duration
	Buckets []uint64 // from First on
	First   int      // the index of the first of them
}

// bound returns the upper bound of bucket i of any histogram.
func bound(i int) time.Duration { return time.Duration(math.Exp2(float64(i)/4) * float64(time.Second)) }

// Quantile returns an upper bound of the q-quantile, 0 <= q <= 1, or 0 if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(h.Count)))
	var n uint64
	for i, c := range h.Buckets {
		if n += c; c > 0 && n >= rank {
			return bound(h.First + i)
		}
	}
	return 0
}
