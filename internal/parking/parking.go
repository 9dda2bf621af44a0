// Package parking is where goroutines sleep that wait for locks too small to have a queue: a table of queues, which a lock
// finds by its key.
package parking

import (
	"context"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Key names a lock: an object, and which of its parts. Two keys are of one lock if they are equal; where in the table they
// are is no more than a number that equal keys have in common.
type Key struct {
	Object any // a pointer
	Part   int
	Hash   uintptr // the same for equal keys
}

// A Table has the queues of many locks, in buckets. In a bucket the sleepers stand in one line, whatever they wait for: those who
// have been woken in vain first, then in the order of their coming. Whoever wakes picks the first of its key.
//
// Invariants:
//
//  1. A sleeper is in the line exactly until somebody unlinks it: a waker, who tells it so, or the sleeper itself, who has given
//     up. Unlinking decides. (TestModelBits/context in sync/mutex, TestWakeIsPassedOn)
//  2. Whether to sleep is decided under the bucket's lock, and so is whom to wake: if what the sleeper has looked at changes
//     afterwards, the wake that follows the change finds it. (TestModelBits, TestSleepsOnlyIfStill)
//  3. A waker wakes one of its own key, whatever else is in the bucket. (TestWakesItsOwn)
type Table struct{ buckets []bucket }

type bucket struct {
	mu          xsync.Mutex
	first, last *sleeper // guarded by mu
	_           cpu.CacheLinePad
}

// A sleeper is a goroutine in a line.
type sleeper struct {
	parker     *waiter.Parker
	key        Key
	next, prev *sleeper // guarded by the bucket's mu
	queued     bool     // the same
	urgent     bool     // has been woken in vain so often that the lock is to be handed over
	handed     bool     // has been; written before the sleeper is told
}

// How is how a sleep has ended.
type How int

// The ends of a sleep.
const (
	NotSlept How = iota // there was no reason to
	Woken               // there is a chance
	Handed              // the lock is the sleeper's
)

var sleepers = xsync.Pool{New: func() any { return new(sleeper) }}

// New returns a table with so many buckets, a power of two.
func New(buckets int) *Table { return &Table{buckets: make([]bucket, buckets)} }

// Multiplied by the golden ratio, numbers that differ little are far from each other in the upper bits.
const golden = 0x9E3779B97F4A7C15

func (t *Table) bucket(k Key) *bucket {
	h := uint64(k.Hash)*golden + uint64(k.Part)*17
	return &t.buckets[(h>>32^h)&uint64(len(t.buckets)-1)]
}

// Sleep sleeps until somebody wakes k, or ctx is done. It does not if still, which is asked under the lock that a wake takes,
// too, says no. vain is how often it has been woken in vain before. If ctx was done before the wake the error is ctx.Err(); a
// wake that came all the same has been passed on, but a lock that has been handed over is the sleeper's even so. In the
// steady state it allocates nothing.
func (t *Table) Sleep(ctx context.Context, k Key, vain int, still func() bool) (How, error) {
	b := t.bucket(k)
	b.mu.Lock()
	if !still() {
		b.mu.Unlock()
		return NotSlept, nil
	}
	done := ctx.Done()
	s := sleepers.Get().(*sleeper)
	s.parker, s.key, s.urgent = waiter.GetParker(ctx, done), k, vain >= patience
	b.insert(s, vain > 0)
	b.mu.Unlock()
	if s.parker.Park(ctx, done) {
		s.parker.Put()
		return s.end(), nil
	}
	b.mu.Lock()
	claimed := !b.remove(s)
	b.mu.Unlock()
	s.parker.Withdraw(claimed)
	how := s.end()
	if claimed && how == Woken {
		t.Wake(k)
	}
	return how, waiter.ContextError(ctx)
}

// end returns s to the pool.
func (s *sleeper) end() How {
	how := Woken
	if s.handed {
		how = Handed
	}
	s.parker, s.key, s.handed = nil, Key{}, false
	sleepers.Put(s)
	return how
}

// Wake wakes the first who sleeps for k, if anybody does. It has no lock to hand over.
func (t *Table) Wake(k Key) { t.WakeOrHand(k, nil) }

// WakeOrHand wakes the first who sleeps for k, if anybody does; or, if that one is urgent, hands it the lock. Before, and under
// the lock under which whoever goes to sleep asks, it calls release with what it will do, and does nothing if that reports
// false. If release is nil there is nothing to hand over.
func (t *Table) WakeOrHand(k Key, release func(hand bool) bool) bool {
	b := t.bucket(k)
	b.mu.Lock()
	s := b.first
	for s != nil && s.key != k {
		s = s.next
	}
	hand := s != nil && s.urgent && release != nil
	if release != nil && !release(hand) {
		b.mu.Unlock()
		return false
	}
	if s == nil {
		b.mu.Unlock()
		return true
	}
	b.remove(s)
	s.handed = hand
	p := s.parker // read first: the sleeper is its owner's again when it has been told
	b.mu.Unlock()
	p.Deliver(waiter.Granted)
	return true
}

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

// insert puts s into the line: at its front, or at its end.
func (b *bucket) insert(s *sleeper, front bool) {
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
func (b *bucket) remove(s *sleeper) bool {
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
