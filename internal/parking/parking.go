// Package parking is where goroutines sleep that wait for locks too small to have a queue: a table
// of queues, which a lock finds by its key.
package parking

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Key names a lock: an object, and which of its parts. Two keys are of one lock if they are
// equal; where in the table they are is no more than a number that equal keys have in common.
type Key struct {
	Object any // comparable: a pointer to the lock, or whatever somebody waits for by a key of his own
	Part   int64
	Hash   uintptr // the same for equal keys
}

// A Table has the queues of many locks, in buckets. In a bucket the sleepers stand in one line,
// whatever they wait for: those who have been woken in vain first, then in the order of their
// coming. Whoever wakes picks the first of its key.
//
// Invariants:
//
//  1. A sleeper is in the line exactly until somebody unlinks it: a waker, who tells it so, or the
//     sleeper itself, who has given up. Unlinking decides. (TestModelBits/context in sync/mutex,
//     TestWakeIsPassedOn)
//  2. Whether to sleep is decided under the bucket's lock, and so is whom to wake: if what the
//     sleeper has looked at changes afterwards, the wake that follows the change finds it.
//     (TestModelBits, TestSleepsOnlyIfStill)
//  3. A waker wakes one of its own key, whatever else is in the bucket. (TestWakesItsOwn)
type Table struct{ buckets []bucket }

type bucket struct {
	mu          xsync.Mutex
	first, last *Sleeper    // guarded by mu
	seq         xsync.Int64 // signals so far, for whatever key
	announced   xsync.Int64 // how many have said that they may wait for a signal, for whatever key
	_           [24]byte    // a cache line on 64-bit machines: buckets do not slow each other down
}

// A Sleeper is a waiter in a line.
type Sleeper struct {
	node       *waiter.Waiter // who is told
	key        Key
	next, prev *Sleeper // guarded by the bucket's mu
	queued     bool     // the same
	urgent     bool     // has been woken in vain so often that the lock is to be handed over
	handed     bool     // has been; written before the sleeper is told

	parker *waiter.Parker // for waits that nothing ends early: one pool to ask instead of two; nil until there has been one
}

// How is how a sleep has ended.
type How int

// The ends of a sleep.
const (
	NotSlept How = iota // there was no reason to
	Woken               // there is a chance
	Handed              // the lock is the sleeper's
)

var sleepers = xsync.Pool{New: func() any { return new(Sleeper) }}

// GetSleeper returns a sleeper for a goroutine's wait.
func GetSleeper() *Sleeper { return sleepers.Get().(*Sleeper) }

// Parker returns a parker for a wait that l may end. Put takes it back.
func (s *Sleeper) Parker(l waiter.Limit) *waiter.Parker {
	if l.MayEnd() || waiter.InBubble() {
		return waiter.GetParker(l)
	}
	if s.parker == nil {
		s.parker = waiter.GetParker(l)
	}
	return s.parker
}

// Put ends the use of s, which is in no line, and of p, its parker; or p is nil, and has been
// withdrawn.
func (s *Sleeper) Put(p *waiter.Parker) {
	if p != nil && p != s.parker {
		p.Put()
	}
	s.node, s.key = nil, Key{}
	sleepers.Put(s)
}

// New returns a table with so many buckets, a power of two.
func New(buckets int) *Table { return &Table{buckets: make([]bucket, buckets)} }

// Multiplied by the golden ratio, numbers that differ little are far from each other in the upper
// bits.
const golden = 0x9E3779B97F4A7C15

// Mix spreads objects, and has the parts of one march: neighbours are never in one bucket, and
// mostly 17 apart, and parts go everywhere. (By a sum in place of the exclusive or they would be so
// always, but two objects that once march in step would do so for ever.)
func Mix(object, part uint64) uint64 {
	h := object*golden + part*17
	return h>>32 ^ h
}

// OrDefault returns t, or the table of the process if t is nil. It panics if New has not made t. (A
// [Table] is what users know as a twa.Array.)
func (t *Table) OrDefault() *Table {
	switch {
	case t == nil:
		return Default()
	case len(t.buckets) == 0:
		panic("twa: array that NewArray has not made")
	}
	return t
}

func (t *Table) bucket(k Key) *bucket {
	return &t.buckets[Mix(uint64(k.Hash), uint64(k.Part))&uint64(len(t.buckets)-1)]
}

// Sleep sleeps until a waker wakes k, or l ends the wait. It does not sleep if still, which is
// called under the lock that a wake takes, returns false. vain is how many wakes of this wait have
// failed so far. If l has ended the wait the error is that of l. A wake that came all the same has
// been passed on, but a lock that was handed over is the sleeper's. In the steady state Sleep
// allocates nothing.
func (t *Table) Sleep(l waiter.Limit, k Key, vain int, still func() bool) (How, error) {
	s := GetSleeper()
	p := s.Parker(l)
	if !t.Enter(s, &p.Waiter, k, vain, still) {
		s.Put(p)
		return NotSlept, nil
	}
	_, err := waiter.Wait(p, l, tableLine{t, s})
	if err != nil {
		p = nil
	}
	return s.end(p), err
}

// A tableLine is a sleeper's place in the table as a [waiter.Line].
type tableLine struct {
	t *Table
	s *Sleeper
}

func (p tableLine) Unlink(*waiter.Waiter) bool { return p.t.Leave(p.s) }

// GiveBack passes on a wake that came too late, but not a lock that was handed over.
func (p tableLine) GiveBack(int64) bool {
	if !p.s.handed {
		p.t.Wake(p.s.key)
	}
	return true
}

// Enter puts s into the line of k, for node, which is armed, unless still says no; vain is as for
// Sleep. The caller owns s, and gets it back when the node has been told or Leave has returned
// true.
func (t *Table) Enter(s *Sleeper, node *waiter.Waiter, k Key, vain int, still func() bool) bool {
	s.node, s.key, s.urgent, s.handed = node, k, vain >= patience, false
	b := t.bucket(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !still() {
		return false
	}
	b.insert(s, vain > 0)
	return true
}

// Leave takes s out of its line, and reports whether it was there. If not, the wake is there or on
// its way.
func (t *Table) Leave(s *Sleeper) bool {
	b := t.bucket(s.key)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(s)
}

// end returns s to the pool, and p.
func (s *Sleeper) end(p *waiter.Parker) How {
	how := Woken
	if s.handed {
		how = Handed
	}
	s.Put(p)
	return how
}

// Wake wakes the first who sleeps for k, if anybody does. It has no lock to hand over.
func (t *Table) Wake(k Key) {
	if w := t.Claim(k); w != nil {
		w.Deliver(waiter.Granted)
	}
}

// WakeOrHand wakes the first who sleeps for k, if anybody does; or, if that one is urgent, hands it
// the lock. Before, and under the lock under which whoever goes to sleep asks, it calls release
// with what it will do, and does nothing if that reports false.
func (t *Table) WakeOrHand(k Key, release func(hand bool) bool) bool {
	b := t.bucket(k)
	b.mu.Lock()
	s := b.find(k)
	hand := s != nil && s.urgent
	if !release(hand) {
		b.mu.Unlock()
		return false
	}
	if s == nil {
		b.mu.Unlock()
		return true
	}
	b.remove(s)
	s.handed = hand
	node := s.node // read first: the sleeper is its owner's again when it has been told
	b.mu.Unlock()
	node.Deliver(waiter.Granted)
	return true
}

// Claim takes the first who sleeps for k out of the line, for the caller to tell, and returns nil
// if nobody does.
func (t *Table) Claim(k Key) *waiter.Waiter {
	b := t.bucket(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.find(k)
	if s == nil {
		return nil
	}
	b.remove(s)
	return s.node
}

// A Line is who sleeps for one key, with the bucket locked: for whoever decides by more than whose
// turn it is. Nobody may be told anything before Unlock.
type Line struct {
	b *bucket
	k Key
}

// Line locks the line of k.
func (t *Table) Line(k Key) Line {
	b := t.bucket(k)
	b.mu.Lock()
	return Line{b, k}
}

// Unlock ends the use of l.
func (l Line) Unlock() { l.b.mu.Unlock() }

// First returns the first of the line, nil if nobody sleeps.
func (l Line) First() *Sleeper { return l.b.find(l.k) }

// Next returns the one behind s, which is in the line, or nil.
func (l Line) Next(s *Sleeper) *Sleeper { return s.next.orNext(l.k) }

// Insert puts s into the line, at its front or at its end, for node, which is armed. As with Enter
// it is the caller's again when the node has been told, or Remove has returned true.
func (l Line) Insert(s *Sleeper, node *waiter.Waiter, front bool) {
	s.node, s.key = node, l.k
	l.b.insert(s, front)
}

// Remove takes s out of the line, for the caller to tell, and reports whether it was there.
func (l Line) Remove(s *Sleeper) bool { return l.b.remove(s) }

// Node returns the node that s, which is in a line, stands there for.
func (s *Sleeper) Node() *waiter.Waiter { return s.node }

// Sequence returns how many signals there have been in k's bucket.
func (t *Table) Sequence(k Key) int64 { return t.bucket(k).seq.Load() }

// Await sleeps until a signal for k, or l ends the wait; not at all if there have been other than seq
// signals in k's bucket.
func (t *Table) Await(l waiter.Limit, k Key, seq int64) error {
	b := t.bucket(k)
	_, err := t.Sleep(l, k, 0, func() bool { return b.seq.Load() == seq })
	return err
}

// Announce says that somebody may wait for signals for k, until Retract. Whoever looks afterwards
// at what a signal tells of has seen it, or Announced is true for whoever changes it.
func (t *Table) Announce(k Key) { t.bucket(k).announced.Add(1) }

// Retract ends what Announce has said.
func (t *Table) Retract(k Key) { t.bucket(k).announced.Add(-1) }

// Announced reports whether somebody may wait for signals for k, or for another key in its bucket.
func (t *Table) Announced(k Key) bool { return t.bucket(k).announced.Load() != 0 }

// Signal wakes all who sleep for k, in the order of their coming.
func (t *Table) Signal(k Key) {
	b := t.bucket(k)
	b.seq.Add(1)
	var wake waiter.WakeList
	b.mu.Lock()
	for s := b.first; s != nil; {
		next := s.next
		if s.key == k {
			b.remove(s)
			wake.Add(s.node, waiter.Granted)
		}
		s = next
	}
	b.mu.Unlock()
	wake.Wake()
}

// A Claimed is who has been taken out of a line, for the caller to tell.
type Claimed struct {
	Node *waiter.Waiter
	Key  Key
}

// ClaimAll takes all out of their lines who are one of those. It looks at the whole table, so it is
// for rare events.
func (t *Table) ClaimAll(of func(Key, *waiter.Waiter) bool) (claimed []Claimed) {
	for i := range len(t.buckets) {
		b := &t.buckets[i]
		b.mu.Lock()
		for s := b.first; s != nil; {
			next := s.next
			if of(s.key, s.node) {
				b.remove(s)
				claimed = append(claimed, Claimed{s.node, s.key})
			}
			s = next
		}
		b.mu.Unlock()
	}
	return claimed
}

// Count returns how many sleep for a key that is one of those.
func (t *Table) Count(of func(Key) bool) (n int) {
	for i := range len(t.buckets) {
		b := &t.buckets[i]
		b.mu.Lock()
		for s := b.first; s != nil; s = s.next {
			if of(s.key) {
				n++
			}
		}
		b.mu.Unlock()
	}
	return n
}

// Buckets returns how many buckets there are.
func (t *Table) Buckets() int { return len(t.buckets) }

// Sleeping returns how many sleep for k.
func (t *Table) Sleeping(k Key) (n int) {
	b := t.bucket(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := b.first; s != nil; s = s.next {
		if s.key == k {
			n++
		}
	}
	return n
}

// find returns the first who sleeps for k, nil if nobody does.
func (b *bucket) find(k Key) *Sleeper { return b.first.orNext(k) }

// orNext returns s if it sleeps for k, or the next behind it who does, nil if there is none.
func (s *Sleeper) orNext(k Key) *Sleeper {
	for s != nil && s.key != k {
		s = s.next
	}
	return s
}

// insert puts s into the line: at its front, or at its end.
func (b *bucket) insert(s *Sleeper, front bool) {
	s.next, s.prev, s.queued = nil, b.last, true
	if front {
		s.next, s.prev = b.first, nil
	}
	if s.prev == nil {
		b.first = s
	} else {
		s.prev.next = s
	}
	if s.next == nil {
		b.last = s
	} else {
		s.next.prev = s
	}
}

// remove takes s out of the line, and reports whether it was there.
func (b *bucket) remove(s *Sleeper) bool {
	if !s.queued {
		return false
	}
	if s.prev == nil {
		b.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		b.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.next, s.prev, s.queued = nil, nil, false
	return true
}
