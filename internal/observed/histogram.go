package observed

import (
	"math/bits"

	"github.com/farad-go/farad/internal/xsync"
)

// A histogram counts durations in ns. Bucket i is of (2^((i-1)/4), 2^(i/4)]: four for each power of
// two, which is schema 2 of a native histogram of Prometheus.
type histogram struct {
	count, sum xsync.Int64
	buckets    [buckets]xsync.Int64
}

// buckets reach up to 2^44 ns, some five hours. The last has all that is longer.
const buckets = 4*44 + 1

// add counts a duration for weight many.
func (h *histogram) add(d, weight int64) {
	d = max(d, 0)
	h.count.Add(weight)
	h.sum.Add(d * weight)
	h.buckets[min(bucket(d), buckets-1)].Add(weight)
}

// roots are 2^(1/4), 2^(2/4) and 2^(3/4), in units of 2^-63.
var roots = [3]uint64{0x9837f0518db8a96f, 0xb504f333f9de6484, 0xd744fccad69d6af4}

// bucket returns the least i >= 0 with d <= 2^(i/4).
func bucket(d int64) int {
	if d <= 1 {
		return 0
	}
	up := bits.Len64(uint64(d)) - 1
	i, m := 4*up, uint64(d)<<(63-up) // the mantissa, in [1, 2)
	if m == 1<<63 {
		return i
	}
	for _, r := range roots {
		i++
		if m <= r {
			return i
		}
	}
	return i + 1
}

// Histogram is what a histogram has counted. Buckets begins with bucket First.
type Histogram struct {
	Count   uint64
	Sum     int64
	Buckets []uint64
	First   int
}

func (h *histogram) read() (r Histogram) {
	var b []uint64
	for i := range h.buckets {
		n := uint64(h.buckets[i].Load())
		if n > 0 || len(b) > 0 {
			if len(b) == 0 {
				r.First = i
			}
			b = append(b, n)
		}
		r.Count += n
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	r.Sum, r.Buckets = h.sum.Load(), b
	return r
}
