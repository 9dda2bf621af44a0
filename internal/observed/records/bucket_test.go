package records

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A bucket has the durations above the bound of the one before, up to its own.
func TestBucketIsThatOfItsBounds(t *testing.T) {
	seconds := func(i int) float64 { return math.Exp2(float64(i) / 4) }
	check := func(d time.Duration) {
		i := Bucket(int64(d))
		near := 1e-10 + d.Seconds()*1e-10 // the error of the integers
		require.LessOrEqual(t, d.Seconds(), seconds(i)+near, "%d", d)
		require.Greater(t, d.Seconds(), seconds(i-1)-near, "%d", d)
	}
	for d := time.Duration(1); d < 1<<16; d++ {
		check(d)
	}
	for range 1 << 16 {
		check(time.Duration(rand.Int64N(1<<rand.IntN(60)) + 1))
	}
	for d, i := range map[time.Duration]int{
		-1: MinBucket, 0: MinBucket, 1: MinBucket,
		time.Second - 1: 0, time.Second: 0, time.Second + 1: 1,
		time.Second / 2: -4, time.Second/2 + 1: -3, 2 * time.Second: 4, 2*time.Second + 1: 5,
		4096 * time.Second: 48,
	} {
		require.Equal(t, i, Bucket(int64(d)), "%d", d)
	}
}

func TestBucketsGrow(t *testing.T) {
	last := MinBucket
	for d := int64(1); d < 1<<58; d += d/16 + 1 {
		i := Bucket(d)
		require.LessOrEqual(t, last, i)
		last = i
	}
	require.LessOrEqual(t, last, Bucket(math.MaxInt64))
}

func BenchmarkBucket(b *testing.B) {
	n := 0
	for i := range b.N {
		n += Bucket(int64(i) * 977)
	}
	sink = n
}

var sink int
