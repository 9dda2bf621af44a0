//go:build !interleave

package keyed

import (
	"hash/maphash"
	"math/bits"
	"runtime"
)

// hashOf returns the hash of k, which can be hashed.
func hashOf[K comparable](seed maphash.Seed, k K) uint64 { return maphash.Comparable(seed, k) }

// shardBits returns the binary logarithm of the number of shards of a table that is made now.
func shardBits() int { return shardBitsFor(runtime.GOMAXPROCS(0)) }

// shardBitsFor returns it for so many processors.
func shardBitsFor(processors int) int { return min(6+bits.Len(uint(processors-1)), 10) }
