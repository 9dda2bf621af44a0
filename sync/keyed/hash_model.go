//go:build interleave

package keyed

import "hash/maphash"

// hash returns the hash of k. It panics if k cannot be a key. Scenarios have numbers for keys: the
// even ones are in the first shard, the odd ones in the second, and those that are 16 apart in one
// bucket.
func (t *table[K]) hash(k K) uint64 {
	if t.picky {
		requireKey(k)
	}
	if n, ok := any(k).(int); ok {
		return uint64(n) | uint64(n)<<63
	}
	return maphash.Comparable(t.seed, k)
}

// shardBits returns the binary logarithm of the number of shards.
func shardBits() int { return 1 }
