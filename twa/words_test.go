package twa

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// What internal/proof shows of the circle of tickets is of this inLine: at the ends of all ranges,
// and wherever on the circle the line is, a number is in the line if the way to it from grant is no
// longer than the line.
func TestLineIsTheProvedOne(t *testing.T) {
	half := uint64(1) << 63
	ways := []uint64{0, step, 2 * step, half - 2*step, half - step, half, half + step, 1<<64 - 2*step, 1<<64 - step}
	for _, grant := range []uint64{0, step, half - step, half, 1<<64 - step} {
		for _, bit := range []uint64{0, uint64(closed)} {
			for _, line := range ways {
				if line == half {
					continue // A line is shorter, and less than that is free: invariant 6.
				}
				for _, way := range ways {
					var s tickets
					s.ticket.Store(int64(grant + line))
					want := line < half && 0 < way && way <= line
					require.Equal(t, want, s.inLine(zero, int64(grant|bit), int64(grant+way)),
						"grant %#x, line %#x, way %#x", grant, line, way)
				}
			}
		}
	}
}
