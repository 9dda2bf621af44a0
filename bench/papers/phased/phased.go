// Package phased has the semaphore of the papers on the waiting array with its near and far phases,
// for comparison with what we ship in twa: there whoever has to wait sleeps at once, under its own
// ticket, and is woken when that is granted. Here those at the front of the line wait in one way
// and all others in another, in every combination of the papers' ways to wait.
//
//	ticket   0   1   2   3   4   5   6   7
//	         +---+---+---+---+---+---+---+
//	         |  granted  | n | f   f   f |  not taken yet          Threshold 1
//	         +---+---+---+---+---+---+---+
//	                     ^ grant = 3     ^ ticket = 7
//
//	granted   ticket < grant                        the permit is the owner's
//	near      grant ≤ ticket < grant + Threshold    the owner waits for grant itself to move
//	far       grant + Threshold ≤ ticket            the owner waits for the sequence of its bucket in an array to move
//
// A post adds to grant. With that the next in line, 3, has its permit and the one Threshold behind
// it, 4, has come near: the post moves the sequence of the bucket of 4, where the owner has to find
// that out. That is early: 4 is the successor's successor and can get ready while 3 holds the
// permit. With a threshold of 0 nobody is ever near, and the ticket that a post wakes is the one
// that it grants.
//
// In the listings who waits looks at a word again and again, and nobody sleeps. Here the owner of a
// ticket may sleep in either phase, in the bucket of its ticket. Who sleeps near does not see grant
// move, so then a post has two buckets to look after: first that of the ticket that it has granted,
// then that of the one that it has brought near. (In the listings the second alone; that loses
// wake-ups: TestModelWhoSleepsNearNeedsTheSecondPoke.)
//
// A bucket is a number, how often it has been poked, and nothing else. Whoever waits at a bucket
// looks again when the number moves, whoever it was meant for: tickets that are neighbours have
// different buckets, but others collide.
//
// Nobody gives up, takes and posts are of one permit: that is all that the comparison needs.
//
// Invariants, each with a test that fails without it:
//
//  1. A take ends when grant has passed its ticket, and not before; so no more hold a permit than
//     there are permits, and they get it in the order of the tickets. (TestModelPhased, TestOrder)
//  2. grant never goes back: who has come near stays near until granted. So the phases are two
//     loops, one after the other. Tickets are compared by their differences, and may wrap around.
//     (TestModelPhased/wrap)
//  3. Every ticket is brought near by one post, and granted by one. Each moves the sequence of that
//     ticket's bucket after it has added to grant, unless nobody has taken the ticket yet, or its
//     owner waits for grant itself. (TestModelPhased, TestPostPokes)
//  4. Who waits for a sequence to move has read it before it looked at grant. (TestModelPhased)
//  5. Only the first Threshold in line wait for grant itself; all others leave its line alone.
//     (TestOnlyTheNearWaitForGrant)
//
// Why no wake-up is lost: who waits reads the sequence, then grant; who posts adds to grant, then
// to the sequence. If grant was too old to end the phase, the sequence moves later than it was
// read. And whoever takes a ticket adds to ticket and then looks at grant; who posts adds to grant
// and then looks at ticket. If it has not seen the ticket, whose bucket it therefore leaves alone,
// the taker sees what it has granted.
//
// Who makes progress: the owner of a ticket is behind the owners of older ones, and no others; a
// post takes a constant number of steps, and the lock of a bucket where somebody may sleep. Who is
// woken by somebody else's poke, and finds nothing changed, waits again.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array (Oracle Labs), Listing 2; the
// conservative post is Listing 5's; the ways to wait are section 2's. With both phases Park, and a
// threshold of 0, it is what the papers call waiting without spinning.
package phased

import (
	"github.com/farad-go/farad/bench/papers/chains"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Wait is a way to wait.
type Wait int

// The ways to wait.
const (
	Spin         Wait = iota // to look again and again; as often as xsync.Spin sees sense in it, then to yield, then anew
	Yield                    // to let others run, and look again
	SpinThenPark             // to look a few times, as often as xsync.Spin sees sense in it, and then to sleep
	Park                     // to sleep
)

func (w Wait) sleeps() bool { return w == SpinThenPark || w == Park }

// poll asks done again and again until it says yes. Or it reports false: then it is time to sleep.
func (w Wait) poll(done func() bool) bool {
	for { // A turn lets others run, and among them whoever will make done say yes.
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

// Config says how a semaphore's goroutines wait and how its posts tell them.
type Config struct {
	Threshold    int64 // how many, from the front of the line, are near; 0: nobody
	Near, Far    Wait  // how these wait, and how the others do
	Conservative bool  // a post pokes without a look at whether anybody can be there
}

// An Array is where the tickets of semaphores have their buckets.
type Array struct {
	sequences []xsync.Int64  // how often each bucket has been poked; as in the papers they fill no cache line, but neighbours are 17 apart
	lots      *parking.Table // where those sleep who wait for a sequence to move, by its index
}

// NewArray returns an array of so many buckets, a power of two.
func NewArray(buckets int) *Array {
	if buckets < 1 || buckets&(buckets-1) != 0 {
		panic("phased: the number of buckets is not a power of two")
	}
	return &Array{sequences: make([]xsync.Int64, buckets), lots: parking.New(buckets)}
}

// key is the key of all who sleep at bucket i. The table spreads small numbers evenly: each i has a
// line of its own.
func (a *Array) key(i int) parking.Key { return parking.Key{Object: a, Part: int64(i)} }

// sleep sleeps until bucket i is poked, unless it has been since its sequence was seq.
func (a *Array) sleep(i int, seq int64) {
	_, _ = a.lots.Sleep(waiter.Limit{}, a.key(i), 0, func() bool { return a.sequences[i].Load() == seq })
}

// A Semaphore is a counting semaphore.
type Semaphore struct {
	ticket xsync.Int64 // tickets taken
	grant  xsync.Int64 // tickets granted

	Config
	array *Array
}

// New returns a semaphore of n permits, all free, whose goroutines wait in a.
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

// Take takes a permit, and waits for it if need be.
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

// Post gives a permit back.
func (s *Semaphore) Post() {
	ticket := s.grant.Add(1) - 1
	if s.Near.sleeps() && s.Threshold > 0 {
		s.poke(ticket) // first: it has its permit
	}
	s.poke(ticket + s.Threshold)
}

// poke has the owner of a ticket look at grant again, if it waits for its bucket.
func (s *Semaphore) poke(ticket int64) {
	if !s.Conservative && s.ticket.Load()-ticket <= 0 {
		return // nobody has it yet
	}
	i := s.bucket(ticket)
	s.array.sequences[i].Add(1)
	if s.Near.sleeps() || s.Far.sleeps() {
		s.array.lots.Signal(s.array.key(i))
	}
}
