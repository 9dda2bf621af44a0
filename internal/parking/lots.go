//go:build !interleave || simulate

package parking

import (
	"math/bits"
	"runtime"

	"github.com/farad-go/farad/internal/xsync"
)

var lots xsync.Pointer[Table]

// Default returns the table where all locks of the process have their sleepers. It has 128 buckets
// for each processor, 512 at least, which is 32 kB and so begins at a page, and is made when it is
// first needed.
func Default() *Table {
	if t := lots.Load(); t != nil {
		return t
	}
	return makeLots()
}

//go:noinline
func makeLots() *Table {
	lots.CompareAndSwap(nil, New(size(runtime.NumCPU())))
	return lots.Load()
}

// size returns how many buckets Default has where there are so many processors.
func size(processors int) int { return min(max(512, 1<<bits.Len(uint(128*processors-1))), 4096) }

// handoffAfter is how many failed wakes it takes to be handed the lock. A hand-off costs a switch
// for each acquisition, so it must be rare where many goroutines contend. Yet no wait should become
// long. This number is about 10 µs under contention, and as many critical sections where they are
// long.
const handoffAfter = 8
