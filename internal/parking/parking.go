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

// A Table has the queues of many locks, in buckets. In a bucket the sleepers stand in one line, oldest first, whatever they
// wait for; whoever wakes picks the first of its key.
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
}

var sleepers = xsync.Pool{New: func() any { return new(sleeper) }}

// New returns a table with so many buckets, a power of two.
func New(buckets int) *Table { return &Table{buckets: make([]bucket, buckets)} }

// Multiplied by the golden ratio, numbers that differ little are far from each other in the upper bits.
const golden = 0x9E3779B97F4A7C15

func (t *Table) bucket(k Key) *bucket {
	h := uint64(k.Hash)*golden + uint64(k.Part)*17
	return &t.buckets[(h>>32^h)&uint64(len(t.buckets)-1)]
}

// Sleep sleeps until somebody wakes k, or ctx is done. It does not if still, which is asked under the lock that Wake
// takes, too, says no. It reports ctx.Err() if ctx was done before the wake; if the wake came all the same it has been passed
// on. In the steady state it allocates nothing.
func (t *Table) Sleep(ctx context.Context, k Key, still func() bool) error {
	b := t.bucket(k)
	b.mu.Lock()
	if !still() {
		b.mu.Unlock()
		return nil
	}
	done := ctx.Done()
	s := sleepers.Get().(*sleeper)
	s.parker, s.key = waiter.GetParker(ctx, done), k
	b.push(s)
	b.mu.Unlock()
	if s.parker.Park(ctx, done) {
		s.parker.Put()
		s.put()
		return nil
	}
	b.mu.Lock()
	claimed := !b.remove(s)
	b.mu.Unlock()
	s.parker.Withdraw(claimed)
	s.put()
	if claimed {
		t.Wake(k)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled // a context that breaks its contract, and is done without an error
}

func (s *sleeper) put() {
	s.parker, s.key = nil, Key{}
	sleepers.Put(s)
}

// Wake wakes whoever has slept longest for k, if anybody does.
func (t *Table) Wake(k Key) {
	b := t.bucket(k)
	b.mu.Lock()
	s := b.first
	for s != nil && s.key != k {
		s = s.next
	}
	if s == nil {
		b.mu.Unlock()
		return
	}
	b.remove(s)
	p := s.parker // read first: the sleeper is its owner's again when it has been told
	b.mu.Unlock()
	p.Deliver(waiter.Granted)
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

func (b *bucket) push(s *sleeper) {
	s.next, s.prev, s.queued = nil, b.last, true
	if b.last == nil {
		b.first = s
	} else {
		b.last.next = s
	}
	b.last = s
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
