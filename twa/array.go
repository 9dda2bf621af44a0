package twa

import "github.com/farad-go/farad/internal/parking"

// An Array is a waiting array: buckets, each a lock and a line of sleepers, among which everybody who waits is spread. Any number
// of semaphores may use it; a wake is for its own, whatever else is in the bucket.
//
// Without a choice semaphores use the array of the process. One of their own keeps them from slowing others down, and from being
// slowed down, where their sleepers are many.
type Array struct{ t *parking.Table }

// NewArray returns an array with so many buckets, rounded up to a power of two; one bucket takes a cache line.
func NewArray(buckets int) *Array {
	n := 1
	for n < buckets {
		n *= 2
	}
	return &Array{t: parking.New(n)}
}
