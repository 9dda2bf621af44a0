//go:build !interleave

package keyed

// ShardBitsFor is shardBitsFor.
var ShardBitsFor = shardBitsFor
