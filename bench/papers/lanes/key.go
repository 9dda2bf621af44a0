package lanes

import (
	"math/rand/v2"

	"github.com/farad-go/farad/internal/xsync"
)

// ByGoroutine returns a key from the address of the goroutine's stack. It is mostly the same for
// one goroutine and differs between running goroutines. Go offers nothing better: it exposes
// neither the number of the goroutine nor that of the processor.
func ByGoroutine() uint64 { return uint64(xsync.Hint()) }

// AtRandom returns a random key for each arrival.
func AtRandom() uint64 { return rand.Uint64() }

// Multiplied by the golden ratio, similar keys differ in the upper bits.
const golden = 0x9E3779B97F4A7C15

// laneOf returns which of n lanes a key belongs to.
func laneOf(key uint64, n int) int {
	return int(key * golden >> 32 * uint64(n) >> 32)
}
