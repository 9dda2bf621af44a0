package keyed

import (
	"math/bits"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A shard is a part of the keys. All of it is guarded by mu.
//
// One key at a time is kept in the shard itself, in the cache line of mu: one that is not in use
// when it comes. The others have entries in a hash table. Whatever needs more than the fast paths
// of acquire, try and release first moves the shard's own key into the table, with open, unless the
// key that it is about has been there.
//
// The table grows and shrinks by one bucket at a time, so that no call has to move more than a few
// keys. Buckets are numbered. A key is in bucket number hash mod 2^k, where 2^k is the smallest
// power of two that is not below the number of buckets. If there is no such bucket, the upper half
// being incomplete, it is in the one 2^(k-1) below. So a new bucket takes its keys from one other,
// and the last bucket goes back into that.
//
// Invariants:
//
//  1. A key is in the shard once while it is held, and not at all otherwise. A request that waits,
//     waits for a holder. (TestModelKeyIsFreedAsTheNextComes, TestLenIsExact)
//  2. No pointer to an entry outlives the critical section in which it was found: the entry may
//     then be that of another key. (TestModelKeyIsFreedAsTheNextComes)
//  3. There are as many buckets as entries, within a factor of two, and 8 at least.
//     (TestTableGrowsAndShrinks)
//  4. A free entry has no key, so it keeps nothing alive; nor has a shard that is free.
//     (TestFreeEntriesHaveNoKeys)
//
// Source: Litwin, Linear Hashing: A New Tool for File and Table Addressing, VLDB 1980. The buckets
// are in segments of equal size, so that no growth copies them.
type shard[K comparable] struct {
	mu xsync.Mutex

	held int64 // permits of the shard's own key; 0 if it has none
	hash uint64
	key  K
	keys uint32      // in the table
	more *buckets[K] // the table; nil until open is called

	_ [8]byte // fills a cache line on 64-bit machines, up to keys of 16 bytes: no two shards share one
}

// A buckets is a hash table.
type buckets[K comparable] struct {
	n        uint32 // the number of buckets
	segments []*segment[K]
	free     *entry[K] // for reuse
}

// A segment is 8 buckets, which are lists of entries.
type segment[K comparable] [perSegment]*entry[K]

const perSegment = 8

// An entry is a key in use.
type entry[K comparable] struct {
	next *entry[K] // in the bucket, or in the free list
	hash uint64
	held int64 // permits; of a free entry: the length of the free list that begins with it
	line waiting.Queue
	key  K
}

// spareEntries is how many free entries a shard keeps, besides one for every four of its keys.
const spareEntries = 4

// len returns how many keys are in use.
func (s *shard[K]) len() int {
	n := int(s.keys)
	if s.held != 0 {
		n++
	}
	return n
}

// open makes the table ready, and moves the shard's own key into it.
func (s *shard[K]) open() {
	if s.more == nil {
		s.more = &buckets[K]{n: perSegment, segments: []*segment[K]{new(segment[K])}}
	}
	if s.held != 0 {
		s.insert(s.find(s.hash, s.key), s.hash, s.key, s.held)
		var none K
		s.held, s.key = 0, none
	}
}

// bucket returns the list that the keys with this hash are in.
func (b *buckets[K]) bucket(hash uint64) **entry[K] {
	i := uint32(hash) & (topBit(b.n-1)<<1 - 1)
	if i >= b.n {
		i -= topBit(i)
	}
	return b.at(i)
}

// at returns bucket number i.
func (b *buckets[K]) at(i uint32) **entry[K] { return &b.segments[i/perSegment][i%perSegment] }

// find returns the link to the entry of k; if there is none, the link where it would be, which is
// nil.
func (s *shard[K]) find(hash uint64, k K) **entry[K] {
	at := s.more.bucket(hash)
	for *at != nil && (*at).key != k {
		at = &(*at).next
	}
	return at
}

// insert makes the entry of k, with n permits held, at the link that find has returned.
func (s *shard[K]) insert(at **entry[K], hash uint64, k K, n int64) {
	e := s.more.free
	if e == nil {
		e = new(entry[K])
	} else {
		s.more.free, e.next = e.next, nil
	}
	e.hash, e.key, e.held = hash, k, n
	*at = e
	if s.keys++; s.keys > s.more.n {
		s.more.grow()
	}
}

// remove takes out the entry at a link that find has returned. Its key is not held any more.
func (s *shard[K]) remove(at **entry[K]) {
	e := *at
	*at = e.next
	var none K
	e.key = none
	e.held = s.more.spare() + 1
	e.push(&s.more.free)
	s.keys--
	s.more.trim(s.keys)
}

// spare returns the length of the free list.
func (b *buckets[K]) spare() int64 {
	if b.free == nil {
		return 0
	}
	return b.free.held
}

// trim is called when a key has gone, and says how many are left. One key in four takes a free
// entry with it besides its own. Two buckets go with each key: with one, half of them would be left
// over in the end.
func (b *buckets[K]) trim(keys uint32) {
	for range 2 {
		if b.spare() > spareEntries+int64(keys/4) {
			b.free = b.free.next
		}
		if b.n > perSegment && b.n/2 > keys {
			b.shrink()
		}
	}
}

// grow adds a bucket.
func (b *buckets[K]) grow() {
	i := b.n
	if i%perSegment == 0 {
		b.segments = append(b.segments, new(segment[K]))
	}
	split := b.at(i - topBit(i))
	b.n = i + 1
	e := *split
	*split = nil
	for e != nil {
		next := e.next
		e.push(b.bucket(e.hash))
		e = next
	}
}

// shrink removes the last bucket.
func (b *buckets[K]) shrink() {
	i := b.n - 1
	from, to := b.at(i), b.at(i-topBit(i))
	for e := *from; e != nil; {
		next := e.next
		e.push(to)
		e = next
	}
	*from = nil
	b.n = i
	if i%perSegment == 0 {
		b.dropSegment()
	}
}

// push puts e in front of a list.
func (e *entry[K]) push(list **entry[K]) { e.next, *list = *list, e }

// dropSegment removes the last segment, and sees to it that the list of segments does not stay much
// longer than it need be.
func (b *buckets[K]) dropSegment() {
	last := len(b.segments) - 1
	b.segments[last] = nil
	b.segments = b.segments[:last]
	if cap(b.segments) >= 4*last {
		b.segments = append(make([]*segment[K], 0, 2*last), b.segments...)
	}
}

// topBit returns the highest bit of i, which is not 0.
func topBit(i uint32) uint32 { return 1 << (bits.Len32(i) - 1) }
