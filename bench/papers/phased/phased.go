// Package phased implements the semaphore of the papers on the waiting array with its near and far
// phases, for comparison with twa. In twa every waiter sleeps at once, under its own ticket, and is
// woken when that is granted. Here the waiters at the front of the line wait in one way and all
// others in another, in every combination of the papers' ways to wait. The package may import
// internal/parking and internal/xsync. Read phased.go.
//
//	ticket   0   1   2   3   4   5   6   7
//	         +---+---+---+---+---+---+---+
//	         |  granted  | n | f   f   f |  not taken yet          Threshold 1
//	         +---+---+---+---+---+---+---+
//	                     ^ grant = 3     ^ ticket = 7
//
//	granted   ticket < grant                        the owner has the permit
//	near      grant ≤ ticket < grant + Threshold    the owner waits for grant to move
//	far       grant + Threshold ≤ ticket            the owner waits for its bucket's sequence
//
// A post adds to grant. The next in line, 3, then has its permit, and 4, which is Threshold behind
// it, becomes near. So the post moves the sequence of 4's bucket, for the owner to notice. That is
// early: 4 is the successor's successor and can get ready while 3 holds the permit. With a
// threshold of 0 no ticket is ever near, and a post wakes the ticket that it grants.
//
// In the listings a waiter polls a word and never sleeps. Here the owner of a ticket may sleep in
// either phase, in the bucket of its ticket. A near sleeper does not see grant move. So a post has
// two buckets to poke: first that of the ticket that it has granted, then that of the one that has
// become near. (The listings poke the second only, which then loses wake-ups:
// TestModelWhoSleepsNearNeedsTheSecondPoke.)
//
// A bucket is only a number: how often it has been poked. All owners that wait at a bucket check
// again when the number moves, whichever ticket the poke was for. Neighbouring tickets have
// different buckets, but others collide.
//
// A wait cannot be cancelled, and takes and posts are of one permit. The comparison needs no more.
//
// Invariants, each with a test that fails without it:
//
//  1. A take ends when grant has passed its ticket, and not before. So there are never more holders
//     than permits, and they get them in the order of the tickets. (TestModelPhased, TestOrder)
//  2. grant never decreases, so a near ticket stays near until it is granted. The phases are two
//     loops, one after the other. Tickets are compared by their differences, and may wrap around.
//     (TestModelPhased/wrap)
//  3. Every ticket is made near by one post, and granted by one. Each of them, after it has added
//     to grant, moves the sequence of that ticket's bucket. It need not if the ticket has not been
//     taken yet, or its owner waits for grant itself. (TestModelPhased, TestPostPokes)
//  4. A goroutine that waits for a sequence to move has read it before it read grant.
//     (TestModelPhased)
//  5. Only the first Threshold in line wait for grant itself. The others do not touch its cache
//     line. (TestOnlyTheNearWaitForGrant)
//
// Why no wake-up is lost: a waiter reads the sequence, then grant; a poster adds to grant, then to
// the sequence. If the waiter read grant too early to end the phase, the sequence moves after the
// waiter's read. A taker adds to ticket and then reads grant; a poster adds to grant and then reads
// ticket. If the poster has not seen the ticket, and so does not poke its bucket, the taker sees
// the grant.
//
// Progress: the owner of a ticket waits only for the owners of older ones. A post takes a constant
// number of steps, and the lock of a bucket that may have sleepers. An owner that a poke for
// another ticket wakes, and that finds nothing changed, waits again.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array (Oracle Labs), Listing 2. The
// conservative post is Listing 5's; the ways to wait are section 2's. With both phases Park and a
// threshold of 0 it is what the papers call waiting without spinning.
// threshold of 0, it is what the papers call waiting without spinning.
package phased

import (
	"github.com/farad-go/farad/bench/papers/chains"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Wait is a way to wait.
type Wait int

// The ways to wait.
const (
	Spin         Wait = iota // poll as often as xsync.Spin allows, yield, and start again
	Yield                    // let others run, and poll
	SpinThenPark             // poll as often as xsync.Spin allows, then sleep
	Park                     // sleep
)

func (w Wait) sleeps() bool { return w == SpinThenPark || w == Park }

// poll calls done until it returns true. It returns false when it is time to sleep.
func (w Wait) poll(done func() bool) bool {
	for { // A turn lets others run, such as the one that makes done true.
		for i := 0; (w == Spin || w == SpinThenPark) && xsync.Spin(i); i++ {
			if done() {
				return true
			}
		}
		if w.sleeps() {
			return false
		}
		xsync.Yield()
		if done() {
			return true
		}
	}
}

// Config has how goroutines wait for a semaphore and how its posts wake them.
type Config struct {
	Threshold    int64 // how many at the front of the line are near; 0: none
	Near, Far    Wait  // how near and far owners wait
	Conservative bool  // a post pokes without a check whether any owner can be there
}

// An Array holds the buckets of semaphores' tickets.
type Array struct {
	sequences []xsync.Int64  // pokes per bucket; not padded: neighbours are 17 apart
	lots      *parking.Table // sleepers that wait for a sequence to move, by its index
}

// NewArray returns an array with the given number of buckets, a power of two.
func NewArray(buckets int) *Array {
	if buckets < 1 || buckets&(buckets-1) != 0 {
		panic("phased: the number of buckets is not a power of two")
	}
	return &Array{sequences: make([]xsync.Int64, buckets), lots: parking.New(buckets)}
}

// key is the key of all sleepers at bucket i. The table spreads small numbers evenly: each i has
// its own line.
func (a *Array) key(i int) parking.Key { return parking.Key{Object: a, Part: int64(i)} }

// sleep sleeps until bucket i is poked, unless it has been poked since its sequence was seq.
func (a *Array) sleep(i int, seq int64) {
	_, _ = a.lots.Sleep(waiting.Limit{}, a.key(i), 0, func() bool { return a.sequences[i].Load() == seq })
}

// A Semaphore is a counting semaphore.
type Semaphore struct {
	ticket xsync.Int64 // tickets taken
	grant  xsync.Int64 // tickets granted

	Config
	array *Array
}

// New returns a semaphore of n free permits, whose goroutines wait in a.
func New(a *Array, n int64, c Config) *Semaphore {
	if n < 0 || c.Threshold < 0 {
		panic("phased: a negative number")
	}
	s := &Semaphore{Config: c, array: a}
	s.grant.Store(n)
	return s
}

// bucket returns where the owner of a ticket waits.
func (s *Semaphore) bucket(ticket int64) int {
	return int(chains.Ticket(uint64(xsync.Address(s)), uint64(ticket)) & uint64(len(s.array.sequences)-1))
}

// Take takes a permit, and waits until it can.
func (s *Semaphore) Take() { s.take() }

// take is Take, and returns the ticket.
func (s *Semaphore) take() (ticket int64) {
	ticket = s.ticket.Add(1) - 1
	if s.passed(ticket) {
		return ticket
	}
	s.await(ticket)
	return ticket
}

// passed reports whether a ticket has been granted.
func (s *Semaphore) passed(ticket int64) bool { return s.grant.Load()-ticket > 0 }

// await waits until a ticket is granted.
func (s *Semaphore) await(ticket int64) {
	i := s.bucket(ticket)
	sequence := &s.array.sequences[i]
	for { // A turn follows a poke of the bucket, for this ticket or another.
		seq := sequence.Load()
		if s.passed(ticket - s.Threshold) {
			break // near
		}
		if !s.Far.poll(func() bool { return sequence.Load() != seq }) {
			s.array.sleep(i, seq)
		}
	}
	granted := func() bool { return s.passed(ticket) }
	if granted() || s.Near.poll(granted) {
		return
	}
	for seq := sequence.Load(); !granted(); seq = sequence.Load() { // The same.
		s.array.sleep(i, seq)
	}
}

// Post returns a permit.
func (s *Semaphore) Post() {
	ticket := s.grant.Add(1) - 1
	if s.Near.sleeps() && s.Threshold > 0 {
		s.poke(ticket) // first: it has its permit
	}
	s.poke(ticket + s.Threshold)
}

// poke makes the owner of a ticket read grant again, if it waits at its bucket.
func (s *Semaphore) poke(ticket int64) {
	if !s.Conservative && s.ticket.Load()-ticket <= 0 {
		return // not taken yet
	}
	i := s.bucket(ticket)
	s.array.sequences[i].Add(1)
	if s.Near.sleeps() || s.Far.sleeps() {
		s.array.lots.Signal(s.array.key(i))
	}
}
