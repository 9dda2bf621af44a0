package twa

import (
	"math"
	"strconv"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// tickets is a semaphore of two counters: the tickets taken, and the tickets granted. A request for
// n permits takes n tickets with one addition, and has the permits when all of them are granted. A
// release of n permits grants n tickets with one addition. So the order is that of the additions,
// and while no request has to wait both are wait-free.
//
//	ticket  0   1   2   3   4   5   6   7   8   9  10  11  12  13
//	        +---+---+---+---+---+---+---+---+---+---+---+---+---+
//	        |   granted     | A     | † † † | B | C     | not taken yet
//	        +---+---+---+---+---+---+---+---+---+---+---+---+---+
//	                        ^ grant=4       ^         ^ ticket=12
//	                                        a run of abandoned tickets, from 6 to 9
//
// A request that has to wait sleeps in a waiting array under the number behind its last ticket, its
// end: A under 6, B under 10. Exactly one addition grants each number, and the goroutine that made
// it looks after the number. It wakes the sleeper under it. If a run of abandoned tickets begins
// there, it grants the run with another addition. So abandoned tickets are skipped once.
// Cancellation costs nothing where none is cancelled: one load of the number of runs, after an
// addition that a request waits for.
//
// Both counters go in steps of two, modulo 2⁶⁴, and numbers are compared by their differences. The
// lowest bit of grant says that the semaphore is closed, so Close has its place in the order of the
// grants.
//
//	the circle of 2⁶³ tickets
//	        |<- free, ≤ 2⁴⁰ ->|                          no waiters: grant ahead of ticket
//	     ticket             grant
//	        |<-- the line: ≤ 2⁶¹, 2⁶¹ on their way -->|  waiters: ticket ahead of grant
//	      grant                                     ticket
//
// A number is in the line if it lies behind grant and not behind ticket. Any other has been
// granted, at any time in the past (inLine). So less than half of the circle is waited for, and
// everything else counts as granted. That is right because a waiting request is in the line.
//
// Invariants, each with a test that fails without it:
//
//  1. base + (grant − ticket) / 2, plus what is held, what is waited for, what abandoned tickets
//     take up and what is owed to a Resize, is the size. (TestContract/…/StressConservesPermits)
//  2. Grants are in the order of the tickets. (TestContract/…/GrantsAreFIFO, TestModelTickets)
//  3. When no operation is in progress, no run begins at or before the last granted ticket, and no
//     ticket after the last run is abandoned. So behind each run, before the next, there is a
//     waiting request or a debt of a Resize. (TestAbandonedTicketsDoNotAccumulate)
//  4. When no operation is in progress, no request sleeps whose end has been granted.
//     (TestModelTickets)
//  5. A request that Close ends is not granted, and the reverse. A request that began before Close
//     has its permits if and only if its end had been granted when Close set the bit. It does not
//     matter when, or by which goroutine, this is found out. (TestModelTicketHistories)
//  6. The line is no longer than window, except for requests that have checked limit and not yet
//     the line. Each of those adds MaxPermits at most, and two million of them at a time are needed
//     to reach half of the circle. A request that would make the line longer is refused, and marks
//     limit, so that later ones check before they take. (TestNothingIsGrantedThatDoesNotExist,
//     TestLineHasAnEnd)
//  7. Numbers of sleepers, runs and debts are kept only while they are in the line. The goroutine
//     that grants a number removes what is kept under it. Permits that come back later come back as
//     new grants, not under their old numbers. (TestWhatIsGivenBackLateIsNotLost,
//     TestNumbersAreKeptOnlyInTheLine)
//  8. A goroutine may stop between an addition and its look, while others go on half round the
//     circle or further. It finds what it would have found. (TestLooksThatComeLate) It would err
//     only if they had gone exactly once round: to within the current line, or to within the size.
//     In a circle of 2⁶³ tickets that is 2⁶³/n requests of n permits. With one permit each that is
//     292 years of one per nanosecond; for the whole of the largest semaphore it is eight million
//     requests, not one more or less.
//
// Why no wake-up is lost: a waiter enters the array first and then reads grant. A granter adds to
// grant first and then looks into the array. One of them sees the other. In the same way a request
// that abandons its tickets publishes the run first and then reads grant, and a granter looks for
// runs after the addition. Both may see the other, and mu lets one of them remove the run.
//
// Tickets_wait.go has a goroutine's wait, and tickets_cold.go abandoned tickets, debts and Close.
//
// Source: Dice and Kogan, Semaphores Augmented with a Waiting Array (Oracle Labs), Listings 1 to 3.
// There no request gives up, and takes and posts are of one permit.
type tickets struct {
	ticket xsync.Int64 // tickets taken
	grant  xsync.Int64 // tickets granted, apart from base; and the bit closed
	limit  xsync.Int64 // total permits without base, and the marks; written under mu
	runs   xsync.Int64 // number of runs of abandoned tickets and of debts; written under mu
	id     number      // for the hash
	ledger ledger

	mu   xsync.Mutex
	cold *cold // what few semaphores need; nil until then; guarded by mu

	array *Array // where waiting goroutines sleep; nil: the array of the process
}

const (
	step   = 2
	closed = 1
)

// The marks in limit make it negative, so that a comparison with it leads to the slow path.
const (
	// closing is set before grant says closed: an operation that does not see it began before.
	closing = math.MinInt64 | 1<<50
	// wary is set once an over-release has been taken back. Two releases, each one too many, may
	// run together. Then the one whose addition was first would see only what is free after the
	// other has been taken back.
	wary = math.MinInt64 | 1<<51
	// long is set once the line has been too long for a request, until it is half as long. A
	// request that sees the mark checks before it takes tickets.
	long  = math.MinInt64 | 1<<52
	sizes = 1<<50 - 1 // the rest of limit
)

// MaxPermits is the largest size of a semaphore. Larger sizes act as this one. It leaves room for
// two million requests of all permits each: what has been requested and not granted is at most 2⁶¹
// permits in all, and a request for more fails with [ErrQueueFull].
const MaxPermits int64 = 1 << 40

const (
	// window is how many permits may be waited for, including abandoned ones: half of what can be
	// compared, because a request is on its way before it can be refused (invariant 6).
	window = 1 << 61
	// glut is more than can ever be free: the size, and what a thousand releases too many of that
	// amount have added. If a read of grant and a later read of ticket show more, the second has
	// come so late that ticket has gone far ahead (invariant 8).
	glut = 1 << 50 * step
)

// granted returns how many tickets have been granted, for a value of grant.
func granted(base, g int64) int64 { return base*step + g&^closed }

// precheck is called before tickets are taken. It returns why that is useless, or
// [waiting.Pending]. It does not load grant unnecessarily: an addition, maybe the caller's own, may
// still be on its way to the cache.
func (s *tickets) precheck(base, n int64) waiting.Outcome {
	if n-base <= s.limit.Load() {
		return waiting.Pending
	}
	return s.precheckMarked(base, n)
}

// precheckMarked is precheck if limit has a mark, or is too low.
//
//go:noinline
func (s *tickets) precheckMarked(base, n int64) waiting.Outcome {
	switch {
	case s.isClosed():
		return waiting.Closed
	case n-base > s.size():
		return waiting.TooLarge
	case s.limit.Load()&long == long && s.isLong(n):
		return waiting.QueueFull
	}
	return waiting.Pending
}

// isLong reports whether the line is too long for n tickets more. It removes the mark long if the
// line is half as long as it may be.
func (s *tickets) isLong(n int64) bool {
	line := -s.free(zero)
	if line+n > window {
		return true
	}
	if line <= window/2 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if -s.free(zero) > window/2 {
			return false // it has grown again: the mark is right
		}
		l := s.limit.Load() &^ (long &^ math.MinInt64)
		if l&(closing|wary)&^math.MinInt64 == 0 {
			l &= sizes
		}
		s.limit.Store(l)
	}
	return false
}

// isTooLong reports whether a request for tickets up to end, which have just been taken, makes the
// line too long (invariant 6), for a value of grant. The tickets are in the line. A mutex never has
// such a line: its requests are of one permit each, and 2⁶¹ of them would take 73 years.
func isTooLong(base, g, end int64) bool { return end-granted(base, g) > window*step }

// refuse ends such a request, for n tickets.
func (s *tickets) refuse(base, n, end int64) {
	s.mu.Lock()
	s.markLocked(long)
	s.mu.Unlock()
	s.abandon(base, n, end)
}

// inLine reports whether the number k is still to be granted, for a recent value of grant: whether
// it is the end, or one of the tickets, of a waiting request. A number that is not in the line has
// been granted, at any time in the past (invariant 8).
func (s *tickets) inLine(base, g, k int64) bool {
	g = granted(base, g)
	return k-g > 0 && k-g <= s.ticket.Load()-g
}

// size returns how many permits there are in all, apart from base.
func (s *tickets) size() int64 { return s.limit.Load() & sizes }

// named returns err, the outcome of a request for n permits of a semaphore, with the numbers if
// they are too many.
func (s *tickets) named(err error, n int64) error {
	if err == waiter.ErrTooLarge { //nolint:errorlint // it is not wrapped yet
		return waiter.Oversized("twa", n, s.size())
	}
	return err
}

// markLocked sets a mark.
func (s *tickets) markLocked(mark int64) { s.limit.Store(s.limit.Load() | mark) }

func (s *tickets) isClosed() bool { return s.grant.Load()&closed != 0 }

// take takes n tickets, and returns the number behind them.
func (s *tickets) take(n int64) (end int64) { return s.ticket.Add(n * step) }

// atOnce reports whether the n tickets before end, which have just been taken, have been granted
// already.
func (s *tickets) atOnce(base, n, end int64) bool {
	g := s.grant.Load()
	if g&closed != 0 || granted(base, g)-end < 0 {
		return false
	}
	s.ledger.take(n)
	return true
}

// outcome returns the outcome of the n tickets before end: [waiting.Granted] if they have been
// granted, [waiting.Pending] if the owner still has to wait. With any other outcome it has
// abandoned them.
func (s *tickets) outcome(base, n, end int64) waiting.Outcome {
	switch g := s.grant.Load(); {
	case g&closed != 0:
		return s.outcomeClosed(base, n, end)
	case !s.inLine(base, g, end):
		s.ledger.take(n)
		return waiting.Granted
	case n-base > s.size():
		s.abandon(base, n, end)
		return waiting.TooLarge
	}
	return waiting.Pending
}

// tryTake takes n tickets if they would be granted at once. A caller that finds too few granted,
// and ticket unchanged, has seen a moment when too few were free.
func (s *tickets) tryTake(base, n int64) bool {
	for n-base <= s.size() { // A retry follows only tickets that another has taken or taken back.
		t := s.ticket.Load()
		switch g := s.grant.Load(); {
		case g&closed != 0:
			return false
		case granted(base, g)-t >= n*step:
		case s.ticket.Load() == t:
			return false
		default:
			continue
		}
		if s.ticket.CompareAndSwap(t, t+n*step) {
			s.ledger.take(n)
			return true
		}
	}
	return false
}

// give grants n tickets more, and returns the new value of grant. The caller calls quiet and, if
// that reports false, releaseSlow: one function for both would be too large to be inlined.
func (s *tickets) give(n int64) (g int64) { return s.grant.Add(n * step) }

// quiet reports whether nothing remains to be done after give, given what that returned: no request
// has waited, and there are not too many permits. It does not load grant again, which would wait
// until the addition has reached the cache: half as long as an addition takes. Later additions are
// the duty of their callers.
func (s *tickets) quiet(base, n, g int64) bool {
	free := granted(base, g) - s.ticket.Load()
	// Divided, not multiplied: a mark in limit must stay the sign.
	return free >= n*step && free/step <= base+s.limit.Load()
}

// overfull reports whether more permits are free than there are, for a value of ticket. It reads
// grant again: of two releases too many one may have been taken back already. It may err, because
// ticket is older.
func (s *tickets) overfull(base, ticket int64) bool {
	return granted(base, s.grant.Load())-ticket > (base+s.size())*step
}

// releaseSlow is the rest of a release: it serves the waiters. If there are more permits now than
// there should be, it takes the tickets back and reports false. Only a concurrent request or Resize
// can hide that. In any case the numbers have been granted, and no other goroutine will wake the
// sleepers under them.
//
//go:noinline
func (s *tickets) releaseSlow(base, n, g int64) bool {
	// Almost always one request waits for one permit, and there is nothing else to look at. No mark
	// is set, so no permits have been taken back, which may have been among those of g.
	if end := granted(base, g); n == 1 && end-s.ticket.Load() <= 0 && s.limit.Load() >= 0 && s.runs.Load() == 0 {
		if w := s.claim(base, end); w != nil && s.grantTo(base, w, end) {
			xsync.Cede()
		}
		return true
	}
	ok := !s.overfull(base, s.ticket.Load()) || s.accept(base, n)
	g = granted(base, g)
	// A request has waited, or accept has taken the tickets back.
	if free := g - s.ticket.Load(); free < n*step || free > glut {
		if s.lookAfter(base, g-n*step, g) {
			xsync.Cede()
		}
	}
	return ok
}

// accept takes n tickets back if more have been granted than there are permits, and reports false.
// It checks again, at a time when limit does not change and ticket does not fall. What releaseSlow
// has seen may be from before and after a Resize, or from before and after an acquire. It reads
// grant first, so it never sees more free than there were at that moment.
//
//go:noinline
func (s *tickets) accept(base, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := granted(base, s.grant.Load())
	if free := g - s.ticket.Load(); free <= (base+s.size())*step || free > glut {
		return true
	}
	s.markLocked(wary)     // before the tickets go: a goroutine that sees them gone sees this
	s.ticket.Add(n * step) // no request waits for these: they are held, for good
	return false
}

// lookAfter wakes the sleepers under the numbers after from up to to, which have just been granted,
// and grants the runs that begin there. It reports whether it has woken a goroutine, to which a
// release then cedes its processor: see [waiting.Waiter.HandOff].
//
//go:noinline
func (s *tickets) lookAfter(base, from, to int64) (woken bool) {
	for {
		woken = s.wake(base, from, to) || woken
		if s.runs.Load() == 0 {
			return woken
		}
		s.mu.Lock()
		s.removePaidLocked(base)
		n := s.removeRunsLocked(base, from, to)
		if n == 0 {
			s.mu.Unlock()
			return woken
		}
		to = granted(base, s.grant.Add(n))
		s.mu.Unlock()
		from = to - n
	}
}

// wake wakes the sleepers under the numbers after from up to to, and reports whether a goroutine
// was among them.
func (s *tickets) wake(base, from, to int64) (woken bool) {
	if ahead := to - s.ticket.Load(); ahead > 0 && ahead <= glut {
		to -= ahead // no request can sleep there
	}
	if s.id.Load() == 0 {
		return false // no request has ever waited
	}
	if (to-from)/step <= int64(s.table().Buckets()) {
		for k := from + step; k-to <= 0; k += step {
			if w := s.claim(base, k); w != nil {
				woken = s.grantTo(base, w, k) || woken
			}
		}
		return woken
	}
	for _, c := range s.claimAll(func(_, end int64) bool {
		return end-from > 0 && end-to <= 0 && !s.inLine(base, s.grant.Load(), end)
	}) {
		woken = c.Node.OfGoroutine() || woken // read first: once delivered, the node is its owner's
		s.tell(base, c.Node, c.Key.Part*step)
	}
	return woken
}

// claim takes a sleeper under the number k, which has been granted, out of its line. It returns nil
// if there is none. A goroutine may come so late that the number is that of a ticket of the next
// round. It then finds the number in the line of tickets, and leaves the sleeper alone.
func (s *tickets) claim(base, k int64) *waiting.Waiter {
	id := s.id.Load()
	if id == 0 {
		return nil // no request has ever waited
	}
	l := s.table().Line(s.key(id, k))
	e := l.First()
	if e == nil || s.inLine(base, s.grant.Load(), k) {
		l.Unlock()
		return nil
	}
	return l.ClaimAndUnlock(e)
}

// grantTo delivers to a waiter, which claim has returned: its tickets before end have been granted.
// If it has been abandoned meanwhile they are passed on. While the semaphore is not closed the
// grant has come before a Close (invariant 5). grantTo reports whether it has woken a goroutine.
func (s *tickets) grantTo(base int64, w *waiting.Waiter, end int64) bool {
	n, goroutine := w.N, w.OfGoroutine() // read first: once delivered, the node is its owner's
	if s.isClosed() {
		s.tell(base, w, end)
		return goroutine
	}
	s.ledger.take(n)
	if !w.Deliver(waiting.Granted) {
		s.giveBack(base, n)
	}
	return goroutine
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// free returns how many granted tickets have not been taken.
func (s *tickets) free(base int64) int64 {
	for t := s.ticket.Load(); ; {
		g := s.grant.Load()
		again := s.ticket.Load()
		if t == again {
			return (granted(base, g) - t) / step
		}
		t = again
	}
}

// waiting returns how many requests wait.
func (s *tickets) waiting() int {
	return s.table().Count(func(k parking.Key) bool { return k.Object == s })
}
