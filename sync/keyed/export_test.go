package keyed

import (
	"reflect"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/text"
	"github.com/farad-go/farad/internal/waiting"
)

// Held returns how many permits of k are held.
func (s *Semaphore[K]) Held(k K) int64 {
	n, _ := s.lines.look(s.size, k)
	return n
}

// PerSegment is the number of buckets in a segment, SpareEntries that of the free entries that an
// empty shard keeps.
const (
	PerSegment   = perSegment
	SpareEntries = spareEntries
)

// Shards returns the number of shards, 0 before the first use.
func (m *Mutex[K]) Shards() int {
	if t := m.lines.made.Load(); t != nil {
		return len(t.shards)
	}
	return 0
}

// A ShardInfo says how a shard is laid out.
// Dropped is how many segments it still refers to behind the last, Steps how many a search for each
// key takes together.
type ShardInfo struct{ Keys, Buckets, Segments, SegmentRoom, Dropped, Spare, Steps int }

// ShardInfos returns them for all shards.
func (m *Mutex[K]) ShardInfos() (infos []ShardInfo) {
	for i := range m.table().shards {
		s := m.table().shards[i]
		s.mu.Lock()
		s.open()
		b := s.more
		dropped := 0
		for _, segment := range b.segments[len(b.segments):cap(b.segments)] {
			if segment != nil {
				dropped++
			}
		}
		steps := 0
		for i := range b.n {
			depth := 0
			for e := *b.at(i); e != nil; e = e.next {
				depth++
				steps += depth
			}
		}
		infos = append(infos, ShardInfo{
			Keys: int(s.keys), Buckets: int(b.n), Spare: int(b.spare()),
			Segments: len(b.segments), SegmentRoom: cap(b.segments), Dropped: dropped, Steps: steps,
		})
		s.mu.Unlock()
	}
	return infos
}

// FreeKeys returns the keys that free entries have, which should be zero.
func (m *Mutex[K]) FreeKeys() (keys []K) {
	for i := range m.table().shards {
		s := m.table().shards[i]
		s.mu.Lock()
		keys = append(keys, s.key)
		s.open()
		for e := s.more.free; e != nil; e = e.next {
			keys = append(keys, e.key)
		}
		s.mu.Unlock()
	}
	return keys
}

// MayBeRefused reports whether values of type K are looked at before they are keys.
func MayBeRefused[K comparable]() bool { return mayBeRefused(reflect.TypeFor[K]()) }

// Observe sets or clears what says that m is observed.
func (m *Mutex[K]) Observe(on bool) { m.table().hub.observed.Store(on) }

// Text is text, with a hash of one.
func Text[K comparable](k K) string { return text.Key(k, 1) }

// RecordLate records that a key of m was taken, and then that it was given back. Between the moment
// at which the first hook sees what to record and the one at which it records that, meanwhile is
// called; waits says whether the key had to be waited for.
func (m *Mutex[K]) RecordLate(k K, waits bool, meanwhile func()) {
	t := m.table()
	r := t.request(t.hash(k), k, 1, t.size)
	to := t.hub.record()
	var q observed.Request
	r.describe(&q, to)
	meanwhile()
	if waits {
		_ = t.hub.await(to, q, waiting.Limit{}, func(waiting.Limit) error { return nil })
	} else {
		to.Tried(q, true)
	}
	t.recordReleased(r.hash, r.key, r.n, r.most)
}
