package records

// A histogram counts durations in the buckets of [Bucket]. The mu of its record guards it.
type histogram struct {
	sum     int64
	buckets [lastBucket - MinBucket + 1]uint64
}

// lastBucket has what is longer than some five hours, too.
const lastBucket = 57

// add counts a duration for weight many.
//
//go:norace
func (h *histogram) add(d, weight int64) {
	d = max(d, 0)
	h.sum += d * weight
	h.buckets[min(Bucket(d), lastBucket)-MinBucket] += uint64(weight)
}

// Histogram is what a histogram has counted. Buckets begins with that of index First.
type Histogram struct {
	Count   uint64
	Sum     int64
	Buckets []uint64
	First   int
}

func (h *histogram) read() (r Histogram) {
	var b []uint64
	for i, n := range h.buckets {
		if n > 0 || len(b) > 0 {
			if len(b) == 0 {
				r.First = MinBucket + i
			}
			b = append(b, n)
		}
		r.Count += n
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	r.Sum, r.Buckets = h.sum, b
	return r
}
