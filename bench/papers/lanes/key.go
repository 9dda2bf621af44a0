package lanes

import (
	"math/rand/v2"

	"github.com/farad-go/farad/internal/xsync"
)

// ByGoroutine returns a key that is mostly the same for a goroutine and differs between those that
// run: where its stack is. Go offers nothing better: neither the goroutine's number nor the
// processor's can be had.
func ByGoroutine() uint64 { return uint64(xsync.Hint()) }

// AtRandom returns a key that sends every arrival to another lane.
func AtRandom() uint64 { return rand.Uint64() }

// Multiplied by the golden ratio, keys that differ little are far from each other in the upper
// bits.
const golden = 0x9E3779B97F4A7C15

// laneOf returns to which of n lanes a key belongs.
func laneOf(key uint64, n int) int {
	return int(key * golden >> 32 * uint64(n) >> 32)
}
