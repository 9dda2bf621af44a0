package parking

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Key names a lock: an object, and which of its parts. Equal keys name the same lock. Hash gives
// the place in the table.
type Key struct {
	Object any // comparable: a pointer to the lock, or the key of a user
	Part   int64
	Hash   uintptr // the same for keys with equal objects
}

// A Table has the queues of many locks, in buckets. The sleepers of a bucket stand in one line,
// whatever their keys: first those of which a wake has failed, which means that they were woken and
// found the lock taken; then the others in the order of their arrival. A waker takes the first of
// its key.
//
// Invariants:
//
//  1. A sleeper is in the line until a waker unlinks it, and wakes it, or until the sleeper gives
//     up and unlinks itself. Unlinking decides. (TestModelBits/context in sync/mutex,
//     TestWakeIsPassedOn)
//  2. The bucket's lock is held while a sleeper decides to sleep, and while a waker chooses. So if
//     the state that the sleeper has read changes afterwards, the wake that follows finds it.
//     (TestModelBits, TestSleepsOnlyIfStill)
//  3. A waker wakes a sleeper of its own key, whatever else is in the bucket. (TestWakesItsOwn)
type Table struct{ buckets []bucket }

type bucket struct {
	mu          xsync.Mutex
	first, last *Sleeper    // guarded by mu
	seq         xsync.Int64 // the number of signals so far, for any key
	announced   xsync.Int64 // the number of calls of Announce without Retract, for any key
	_           [24]byte    // fills a cache line on 64-bit machines, so that buckets do not share one
}

// A Sleeper is a waiter in a line.
type Sleeper struct {
	node       *waiting.Waiter // gets the outcome
	object     any             // the key's
	part       int64           // the same
	bucket     *bucket         // where the line is
	next, prev *Sleeper        // guarded by the bucket's mu
	queued     bool            // the same
	handoff    bool            // so many wakes have failed that a hand-off is due
	handed     bool            // the lock has been handed over; written before the sleeper is woken

	parker *waiting.Parker // for waits without a limit, so that they ask one pool, not two; nil at first
}

// A How says how a sleep has ended.
type How int

// The ends of a sleep.
const (
	NotSlept How = iota // there was no reason to sleep
	Woken               // the lock may be free
	Handed              // the sleeper holds the lock
)

var sleepers = xsync.Pool{New: func() any { return new(Sleeper) }}

// GetSleeper returns a sleeper for a goroutine's wait.
func GetSleeper() *Sleeper { return sleepers.Get().(*Sleeper) }

// Parker returns a parker for a wait that l may end. Put takes it back.
func (s *Sleeper) Parker(l waiting.Limit) *waiting.Parker {
	if l.MayEnd() {
		return waiting.GetParker(l)
	}
	return s.Kept()
}

// Kept is Parker for a wait without a limit.
func (s *Sleeper) Kept() *waiting.Parker {
	if p := s.parker; p != nil && p.IsCheapest() && !waiting.InBubble() {
		return p
	}
	return s.renew()
}

// renew returns a parker for a wait without a limit, and keeps it unless it is that of a bubble.
//
//go:noinline
func (s *Sleeper) renew() *waiting.Parker {
	if waiting.InBubble() {
		return waiting.GetParker(waiting.Limit{})
	}
	if s.parker != nil {
		s.parker.Put()
	}
	s.parker = waiting.GetParker(waiting.Limit{})
	return s.parker
}

// Put ends the use of s, which is in no line, and of its parker p. If p has been withdrawn it is
// nil.
func (s *Sleeper) Put(p *waiting.Parker) {
	if p != nil && p != s.parker {
		p.Put()
	}
	s.node, s.object, s.bucket = nil, nil, nil
	sleepers.Put(s)
}

// New returns a table with a number of buckets that is a power of two.
func New(buckets int) *Table { return &Table{buckets: make([]bucket, buckets)} }

// Multiplied by the golden ratio, numbers that differ little differ much in the upper bits.
const golden = 0x9E3779B97F4A7C15

// Mix spreads objects over the buckets, and the parts of one object, too. Neighbouring parts are
// never in one bucket, and mostly 17 buckets apart. (With a sum instead of the exclusive or they
// always would be, but then two objects whose parts once share buckets would share all of them.)
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

// A State is what the two bits of a lock say whose sleepers are here: see package twobit.
type State = uint32

// The states: free; held; held, and goroutines may sleep.
const (
	Unlocked State = 0
	Locked   State = 1
	Sleepers State = 2

	Mask = 3 // the bits
)

// Sleep sleeps until a waker wakes k, or l ends the wait. It does not sleep if still, which is
// called under the lock that a wake takes, returns false. failedWakes is how many wakes of this
// wait have failed so far. If l has ended the wait the error is that of l. A wake that came all the
// same has been passed on, but a lock that was handed over is the sleeper's. A sleeper that is
// woken asks its context itself. In the steady state Sleep allocates nothing.
func (t *Table) Sleep(l waiting.Limit, k Key, failedWakes int, still func() bool) (How, error) {
	how, ended := t.SleepUnasked(l, k, failedWakes, still)
	if ended {
		return how, l.Err()
	}
	return how, nil
}

// SleepUnasked is Sleep, but says whether l has ended the wait. It does not ask the context, which
// might panic: then a lock that was handed over would be lost.
func (t *Table) SleepUnasked(l waiting.Limit, k Key, failedWakes int, still func() bool) (how How, ended bool) {
	s := GetSleeper()
	p := s.Parker(l)
	if !t.Enter(s, &p.Waiter, k, failedWakes, still) {
		s.Put(p)
		return NotSlept, false
	}
	p.Start(l)
	p.Sleeper().SleepInline()
	if !p.Notified(l) {
		waiting.Leave(p, tableLine{t, s, k.Hash})
		return s.end(nil), true
	}
	return s.end(p), false
}

// A tableLine is a sleeper's place in the table as a [waiting.Line].
type tableLine struct {
	t    *Table
	s    *Sleeper
	hash uintptr
}

func (p tableLine) Unlink(*waiting.Waiter) bool { return p.t.Leave(p.s) }

// GiveBack passes on a wake that came too late, but not a lock that was handed over.
func (p tableLine) GiveBack(int64) bool {
	if !p.s.handed {
		p.t.Wake(Key{p.s.object, p.s.part, p.hash})
	}
	return true
}

// Enter puts s into the line of k for node, which is armed, unless still returns false. failedWakes
// is as for Sleep. The caller owns s again when the node has its outcome or Leave has returned
// true.
func (t *Table) Enter(s *Sleeper, node *waiting.Waiter, k Key, failedWakes int, still func() bool) bool {
	s.handoff, s.handed = failedWakes >= handoffAfter, false
	l := t.Line(k)
	defer l.Unlock()
	if !still() {
		return false
	}
	l.Insert(s, node, failedWakes > 0)
	return true
}

// Leave takes s out of its line and reports whether it was there. If not, a wake is on its way.
func (t *Table) Leave(s *Sleeper) bool {
	b := s.bucket
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remove(s)
}

// end returns s to the pool, and p.
func (s *Sleeper) end(p *waiting.Parker) How {
	how := Woken
	if s.handed {
		how = Handed
	}
	s.Put(p)
	return how
}

// Wake wakes the first sleeper of k, if there is one. It hands no lock over.
func (t *Table) Wake(k Key) {
	if w := t.Claim(k); w != nil {
		w.Deliver(waiting.Granted)
	}
}

// WakeOrHand wakes the first sleeper of k, if there is one, or hands it the lock if enough of its
// wakes have failed. First it calls release, with the bucket locked, and says whether it will hand
// the lock over. If release returns false WakeOrHand does nothing and returns false.
func (t *Table) WakeOrHand(k Key, release func(hand bool) bool) bool {
	b := t.bucket(k)
	b.mu.Lock()
	s := b.find(k.Object, k.Part)
	hand := s != nil && s.handoff
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
	node := s.node // Read first: once woken, the sleeper belongs to its owner again.
	b.mu.Unlock()
	node.Deliver(waiting.Granted)
	return true
}

// Claim takes the first sleeper of k out of the line and returns its node. The caller delivers to
// it. It returns nil if there is none.
func (t *Table) Claim(k Key) *waiting.Waiter {
	b := t.bucket(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.find(k.Object, k.Part)
	if s == nil {
		return nil
	}
	b.remove(s)
	return s.node
}

// A Line is the sleepers of one key, with the bucket locked. It is for locks that decide by more
// than the order. No node may get its outcome before Unlock.
type Line struct {
	b      *bucket
	object any // no Key, so that a Line stays in registers
	part   int64
}

// Line locks the line of k.
func (t *Table) Line(k Key) Line {
	b := t.bucket(k)
	b.mu.Lock()
	return Line{b, k.Object, k.Part}
}

// Unlock ends the use of l.
func (l Line) Unlock() { l.b.mu.Unlock() }

// First returns the first sleeper, or nil.
func (l Line) First() *Sleeper { return l.b.find(l.object, l.part) }

// Next returns the sleeper behind s, or nil. s must be in the line.
func (l Line) Next(s *Sleeper) *Sleeper { return s.next.orNext(l.object, l.part) }

// Insert puts s into the line, at its front or at its end, for node, which is armed. The caller
// owns s again when the node has its outcome or Remove has returned true.
func (l Line) Insert(s *Sleeper, node *waiting.Waiter, front bool) {
	s.node, s.object, s.part, s.bucket = node, l.object, l.part, l.b
	l.b.insert(s, front)
}

// Remove takes s out of the line and reports whether it was there. The caller delivers to its node.
func (l Line) Remove(s *Sleeper) bool { return l.b.remove(s) }

// Holds reports whether s stands in the line.
func (l Line) Holds(s *Sleeper) bool { return s.queued && s.sleepsFor(l.object, l.part) }

// ClaimAndUnlock takes s out of the line, ends the use of l, and returns the node of s. The caller
// delivers to it.
func (l Line) ClaimAndUnlock(s *Sleeper) *waiting.Waiter {
	l.b.remove(s)
	node := s.node
	l.b.mu.Unlock()
	return node
}

// key returns the key for which s sleeps, but for the hash.
func (s *Sleeper) key() Key { return Key{Object: s.object, Part: s.part} }

// Node returns the node for which s stands in its line.
func (s *Sleeper) Node() *waiting.Waiter { return s.node }

// Sequence returns the number of signals so far in k's bucket.
func (t *Table) Sequence(k Key) int64 { return t.bucket(k).seq.Load() }

// Await sleeps until a signal for k comes or l ends the wait. It does not sleep if the number of
// signals in k's bucket is not seq.
func (t *Table) Await(l waiting.Limit, k Key, seq int64) error {
	b := t.bucket(k)
	_, err := t.Sleep(l, k, 0, func() bool { return b.seq.Load() == seq })
	return err
}

// Announce says that the caller may wait for signals for k, until it calls Retract. If the caller
// then reads the state that a signal is about, and misses a change, the goroutine that makes the
// change sees Announced return true.
func (t *Table) Announce(k Key) { t.bucket(k).announced.Add(1) }

// Retract undoes Announce.
func (t *Table) Retract(k Key) { t.bucket(k).announced.Add(-1) }

// Announced reports whether a goroutine may wait for signals for k, or for another key in its
// bucket.
func (t *Table) Announced(k Key) bool { return t.bucket(k).announced.Load() != 0 }

// Signal wakes all sleepers of k, in their order.
func (t *Table) Signal(k Key) {
	b := t.bucket(k)
	b.seq.Add(1)
	var wake waiting.WakeList
	b.mu.Lock()
	for s := b.first; s != nil; {
		next := s.next
		if s.sleepsFor(k.Object, k.Part) {
			b.remove(s)
			wake.Add(s.node, waiting.Granted)
		}
		s = next
	}
	b.mu.Unlock()
	wake.Wake()
}

// A Claimed is a node that has been taken out of a line. The caller delivers to it.
type Claimed struct {
	Node *waiting.Waiter
	Key  Key
}

// ClaimAll takes all sleepers out of their lines for which of returns true. It looks at the whole
// table, so it is for rare events.
func (t *Table) ClaimAll(of func(Key, *waiting.Waiter) bool) (claimed []Claimed) {
	for i := range len(t.buckets) {
		b := &t.buckets[i]
		b.mu.Lock()
		for s := b.first; s != nil; {
			next := s.next
			if of(s.key(), s.node) {
				b.remove(s)
				claimed = append(claimed, Claimed{s.node, s.key()})
			}
			s = next
		}
		b.mu.Unlock()
	}
	return claimed
}

// Count returns the number of sleepers for whose key of returns true.
func (t *Table) Count(of func(Key) bool) (n int) {
	for i := range len(t.buckets) {
		b := &t.buckets[i]
		b.mu.Lock()
		for s := b.first; s != nil; s = s.next {
			if of(s.key()) {
				n++
			}
		}
		b.mu.Unlock()
	}
	return n
}

// Buckets returns the number of buckets.
func (t *Table) Buckets() int { return len(t.buckets) }

// Sleeping returns the number of sleepers of k in the process's table.
func Sleeping(k Key) int { return Default().Sleeping(k) }

// Sleeping returns the number of sleepers of k.
func (t *Table) Sleeping(k Key) (n int) {
	b := t.bucket(k)
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := b.first; s != nil; s = s.next {
		if s.sleepsFor(k.Object, k.Part) {
			n++
		}
	}
	return n
}

// find returns the first sleeper of k, or nil.
func (b *bucket) find(object any, part int64) *Sleeper { return b.first.orNext(object, part) }

// orNext returns s if it sleeps for k, otherwise the next sleeper of k behind it, or nil.
func (s *Sleeper) orNext(object any, part int64) *Sleeper {
	for s != nil && !s.sleepsFor(object, part) {
		s = s.next
	}
	return s
}

// sleepsFor reports whether s sleeps for the key with this object and part.
func (s *Sleeper) sleepsFor(object any, part int64) bool {
	return s.part == part && s.object == object
}

// insert puts s into the line, at its front or at its end.
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

// remove takes s out of the line and reports whether it was there.
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
