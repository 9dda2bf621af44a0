package records

import "math/bits"

// Steps of a fourth root of two: 2^(1/4), 2^(1/2) and 2^(3/4) times 2^63.
const (
	quarter1 = 0x9837F0518DB8A96F
	quarter2 = 0xB504F333F9DE6484
	quarter3 = 0xD744FCCAD69D6AF4
)

// MinBucket is the bucket of one nanosecond and of anything less.
const MinBucket = -119

// Bucket returns the bucket i of a duration of d nanoseconds: 2^((i-1)/4) s < d <= 2^(i/4) s. The
// unit is the second, because Prometheus' native histograms of schema 2 have these bounds.
func Bucket(d int64) int {
	if d <= 1 {
		return MinBucket
	}
	// In units of 2^-34 s: d times 2^64/10^9 is in units of 2^-64 s. The factor is rounded down, by
	// a part in 10^10, so that a bound itself falls into the bucket below it.
	s, f := bits.Mul64(uint64(d), 18446744073)
	y := s<<34 | f>>30
	e := bits.Len64(y)
	i := 4*(e-35) + 1
	switch m := y << (64 - e); {
	case m >= quarter3:
		return i + 3
	case m >= quarter2:
		return i + 2
	case m >= quarter1:
		return i + 1
	}
	return i
}
