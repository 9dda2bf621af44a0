//go:build !interleave

package keyed

import (
	"hash/maphash"
	"math/bits"
	"runtime"
)

// hash returns the hash of k. It panics if k cannot be a key.
func (t *table[K]) hash(k K) uint64 {
	if t.picky {
		requireKey(k)
	}
	return maphash.Comparable(t.seed, k)
}

// shardBits returns the binary logarithm of the number of shards of a table that is made now.
func shardBits() int { return shardBitsFor(runtime.GOMAXPROCS(0)) }

// shardBitsFor returns it for so many processors: 256 shards for each, but no more than 2048. With
// 100,000 keys and 64 goroutines on two processors a Lock and its Unlock took 120 ns with 32 for
// each processor, 95 with 64, 78 with 128, 70 with 256, and 66 with 512. (With fewer shards it is
// also more likely that a goroutine is stopped while others want its shard.)
func shardBitsFor(processors int) int { return min(8+bits.Len(uint(processors-1)), 11) }
