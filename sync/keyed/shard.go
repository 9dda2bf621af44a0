package keyed

import (
	"math/bits"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A shard is a part of the table: a hash table that grows and shrinks by one bucket at a time, so
// that no call has to move more than a few keys. All of it is guarded by mu.
//
// Buckets are numbered. A key is in bucket number hash mod 2^k, where 2^k is the smallest power of
// two that is not below the number of buckets. If there is no such bucket, the upper half being
// incomplete, it is in the one 2^(k-1) below. So a new bucket takes its keys from one other, and
// the last bucket goes back into that.
//
// Invariants:
//
//  1. A key has one entry while it is held, and none otherwise. Whoever waits, waits for a holder.
//     (TestModelKeyIsFreedAsTheNextComes, TestLenIsExact)
//  2. No pointer to an entry outlives the critical section in which it was found: the entry may
//     then be that of another key. (TestModelKeyIsFreedAsTheNextComes)
//  3. There are as many buckets as keys, within a factor of two, and 8 at least.
//     (TestTableGrowsAndShrinks)
//  4. A free entry has no key, so it keeps nothing alive. (TestFreeEntriesHaveNoKeys)
//
// Source: Litwin, Linear Hashing: A New Tool for File and Table Addressing, VLDB 1980. The buckets
// are in segments of equal size, so that no growth copies them.
type shard[K comparable] struct {
	mu xsync.Mutex

	keys    uint32 // in the table
	buckets uint32
	mask    uint32 // the smallest 2^k-1 that is not below the number of the last bucket
	spare   uint32 // the length of free

	free *entry[K]
	more []*segment[K] // all segments but the first

	_ [8]byte // so that on 64-bit machines shards share no cache line, nor mu one with the buckets

	first segment[K]
}

// A segment is 8 buckets, which are lists of entries.
type segment[K comparable] [perSegment]*entry[K]

const perSegment = 8

// An entry is a key in use.
type entry[K comparable] struct {
	next *entry[K] // in the bucket, or in the free list
	hash uint64
	held int64 // permits
	line waiter.Queue
	key  K
}

// spareEntries is how many free entries a shard keeps, besides one for every four of its keys.
const spareEntries = 4

// init makes s ready.
func (s *shard[K]) init() { s.buckets, s.mask = perSegment, perSegment-1 }

// bucket returns the list that the keys with this hash are in.
func (s *shard[K]) bucket(hash uint64) **entry[K] {
	i := uint32(hash) & s.mask
	if i >= s.buckets {
		i &= s.mask >> 1
	}
	return s.at(i)
}

// at returns bucket number i.
func (s *shard[K]) at(i uint32) **entry[K] {
	if i < perSegment {
		return &s.first[i]
	}
	return &s.more[i/perSegment-1][i%perSegment]
}

// find returns the link to the entry of k; if there is none, the link where it would be, which is
// nil.
func (s *shard[K]) find(hash uint64, k K) **entry[K] {
	at := s.bucket(hash)
	for *at != nil && (*at).key != k {
		at = &(*at).next
	}
	return at
}

// insert makes the entry of k at the link that find has returned.
func (s *shard[K]) insert(at **entry[K], hash uint64, k K) *entry[K] {
	e := s.free
	if e == nil {
		e = new(entry[K])
	} else {
		s.free = e.next
		e.next = nil
		s.spare--
	}
	e.hash, e.key = hash, k
	*at = e
	if s.keys++; s.keys > s.buckets {
		s.grow()
	}
	return e
}

// remove takes out the entry at a link that find has returned. Its key is not held any more.
func (s *shard[K]) remove(at **entry[K]) {
	e := *at
	*at = e.next
	var none K
	e.key = none
	e.push(&s.free)
	s.spare++
	s.keys--
	if s.tooManySpare() || s.tooManyBuckets() {
		s.trim()
	}
}

// push puts e into a list.
func (e *entry[K]) push(list **entry[K]) { e.next, *list = *list, e }

func (s *shard[K]) tooManySpare() bool { return s.spare > spareEntries+s.keys/4 }

func (s *shard[K]) tooManyBuckets() bool { return s.buckets > perSegment && s.buckets/2 > s.keys }

// trim is called when a key has gone. One key in four takes a free entry with it besides its own.
// Two buckets go with each key: with one, half of them would be left over in the end.
func (s *shard[K]) trim() {
	for range 2 {
		if s.tooManySpare() {
			s.free = s.free.next
			s.spare--
		}
		if s.tooManyBuckets() {
			s.shrink()
		}
	}
}

// grow adds a bucket.
func (s *shard[K]) grow() {
	i := s.buckets
	if i%perSegment == 0 {
		s.more = append(s.more, new(segment[K]))
	}
	split := s.at(i &^ topBit(i))
	s.buckets, s.mask = i+1, s.mask|i
	e := *split
	*split = nil
	for e != nil {
		next := e.next
		e.push(s.bucket(e.hash))
		e = next
	}
}

// shrink removes the last bucket.
func (s *shard[K]) shrink() {
	i := s.buckets - 1
	from, to := s.at(i), s.at(i&^topBit(i))
	for e := *from; e != nil; {
		next := e.next
		e.push(to)
		e = next
	}
	*from = nil
	s.buckets = i
	if i == s.mask>>1+1 {
		s.mask >>= 1
	}
	if i%perSegment == 0 {
		s.dropSegment()
	}
}

// dropSegment removes the last segment, and sees to it that the list of segments does not stay much
// longer than it need be.
func (s *shard[K]) dropSegment() {
	last := len(s.more) - 1
	s.more[last] = nil
	s.more = s.more[:last]
	if cap(s.more) >= 4*last {
		s.more = append(make([]*segment[K], 0, 2*last), s.more...)
	}
}

// topBit returns the highest bit of i, which is not 0.
func topBit(i uint32) uint32 { return 1 << (bits.Len32(i) - 1) }
