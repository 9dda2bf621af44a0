package twa

import (
	"cmp"
	"slices"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// cold is the state of abandoned tickets, debts and Close.
type cold struct {
	begin map[int64]int64 // runs: from the first ticket to the one behind the last
	end   map[int64]int64 // and back
	last  int64           // once the semaphore is closed: what had been granted at that time
	reach uint64          // and how far behind last a number is certainly one that was not
	debts []debt          // what Resize is to take away and has not got yet, in order
}

// coldLocked returns s.cold, and allocates it if necessary.
func (s *tickets) coldLocked() *cold {
	if s.cold == nil {
		s.cold = &cold{begin: map[int64]int64{}, end: map[int64]int64{}}
	}
	return s.cold
}

// A debt is n tickets before end without an owner: permits that a Resize removes.
type debt struct{ n, end int64 }

func (s *tickets) outcomeClosed(base, n, end int64) waiting.Outcome {
	s.mu.Lock()
	last, reach := s.cold.last, s.cold.reach // Close has made them
	s.mu.Unlock()
	// By reach, too: after the Close a Resize still moves ticket, and many of them half round.
	if !s.inLine(zero, last, end) && uint64(end-last)-1 >= reach {
		s.ledger.take(n)
		return waiting.Granted
	}
	s.abandon(base, n, end)
	return waiting.Closed
}

// claimAll claims all waiters with matching permits and end, and returns them in the order of their
// tickets.
func (s *tickets) claimAll(of func(n, end int64) bool) []parking.Claimed {
	claimed := s.table().ClaimAll(func(k parking.Key, w *waiting.Waiter) bool {
		return k.Object == s && of(w.N, k.Part*step)
	})
	slices.SortFunc(claimed, func(x, y parking.Claimed) int { return cmp.Compare(x.Key.Part*step-y.Key.Part*step, 0) })
	return claimed
}

// tell delivers to a claimed waiter how its request has ended: its tickets have been granted, or
// are too many. If it has been abandoned meanwhile they are passed on.
func (s *tickets) tell(base int64, w *waiting.Waiter, end int64) {
	n := w.N // read first: once delivered, the node is its owner's
	o := s.outcome(base, n, end)
	if o == waiting.Pending { // It was too large, and no longer is.
		s.abandon(base, n, end)
		o = waiting.TooLarge
	}
	if !w.Deliver(o) && o == waiting.Granted {
		s.giveBack(base, n)
	}
}

// removeRunsLocked removes the runs that begin at a number after from up to to, which have been
// granted, and returns their total length.
func (s *tickets) removeRunsLocked(base, from, to int64) (n int64) {
	r := s.coldLocked()
	g := s.grant.Load()
	if (to-from)/step <= int64(len(r.begin)) {
		for k := from + step; k-to <= 0; k += step {
			if _, ok := r.begin[k]; ok && !s.inLine(base, g, k) {
				n += s.removeRunLocked(k)
			}
		}
		return n
	}
	for k, e := range r.begin {
		if k-from > 0 && k-to <= 0 && !s.inLine(base, g, k) {
			n += e - k
			s.removeRunLocked(k)
		}
	}
	return n
}

// removePaidLocked removes the debts that have been granted: to give back what they have got is to
// grant something new (invariant 7).
func (s *tickets) removePaidLocked(base int64) {
	r := s.coldLocked()
	g, paid := s.grant.Load(), 0
	for paid < len(r.debts) && !s.inLine(base, g, r.debts[paid].end) {
		paid++
	}
	if paid > 0 {
		r.debts = slices.Delete(r.debts, 0, paid)
		s.countLocked()
	}
}

// countLocked sets runs.
func (s *tickets) countLocked() { s.runs.Store(int64(len(s.cold.begin) + len(s.cold.debts))) }

// removeRunLocked removes the run that begins at k, if there is one, and returns its length.
func (s *tickets) removeRunLocked(k int64) int64 {
	r := s.coldLocked()
	e, ok := r.begin[k]
	if !ok {
		return 0
	}
	delete(r.begin, k)
	delete(r.end, e)
	s.countLocked()
	return e - k
}

// abandon ends a request for n tickets before end, whose owner does not sleep. It passes on what
// has been granted of it, and what will be.
func (s *tickets) abandon(base, n, end int64) {
	first := end - n*step
	s.mu.Lock()
	r := s.coldLocked()
	if s.ticket.CompareAndSwap(end, first) { // the newest: as if they had not been taken
		if b, ok := r.end[first]; ok && s.ticket.CompareAndSwap(first, b) { // and the run before it
			s.removeRunLocked(b)
		}
		s.mu.Unlock()
		return
	}
	if b, ok := r.end[first]; ok {
		first -= s.removeRunLocked(b)
	}
	end += s.removeRunLocked(end)
	r.begin[first], r.end[end] = end, first
	s.countLocked()
	if s.inLine(base, s.grant.Load(), first) {
		s.mu.Unlock()
		return // the goroutine that grants the first looks after it
	}
	length := s.removeRunLocked(first)
	to := granted(base, s.grant.Add(length))
	s.mu.Unlock()
	s.lookAfter(base, to-length, to)
}

// giveBack passes on n permits that have been granted to an owner that does not want them. It does
// not matter which tickets they were granted for: that may be long ago (invariant 7).
func (s *tickets) giveBack(base, n int64) {
	s.ledger.give(n)
	g := granted(base, s.give(n))
	s.lookAfter(base, g-n*step, g)
}

// resize sets the size. A reduction queues, as a debt, behind the current waiters. An increase
// first ends such debts, the newest first, as if their owner gave up. The rest is granted to
// waiters. Requests that are now too large end.
func (s *tickets) resize(size int64) {
	s.mu.Lock()
	r := s.coldLocked()
	d := size - s.size()
	if d < 0 { // The limit falls last and rises first: see accept.
		s.oweLocked(-d)
	}
	s.limit.Add(d)
	// Under mu: a request that comes after a later Resize is judged by that one.
	claimed := s.claimAll(func(n, _ int64) bool { return n > size })
	var ended []debt
	for i := len(r.debts) - 1; i >= 0 && d > 0; i-- {
		last := &r.debts[i]
		n := min(d, last.n)
		ended = append(ended, debt{n, last.end})
		last.n, last.end, d = last.n-n, last.end-n*step, d-n
		if last.n == 0 {
			r.debts = r.debts[:i]
		}
	}
	s.countLocked()
	s.removePaidLocked(zero) // the new one may have been, and what is left of the last
	s.mu.Unlock()
	for _, e := range ended {
		s.abandon(zero, e.n, e.end)
	}
	if d > 0 {
		g := granted(zero, s.grant.Add(d*step))
		s.lookAfter(zero, g-d*step, g)
	}
	// The newest first: what is passed on when one of them ends must not reach another that is to
	// end.
	for _, c := range slices.Backward(claimed) {
		s.tell(zero, c.Node, c.Key.Part*step)
	}
}

// oweLocked queues n permits for a Resize. The caller checks afterwards whether they are paid
// already: so the debt is published before it reads grant, as in abandon. oweLocked panics, without
// mu, if the line is too long for it (invariant 6).
func (s *tickets) oweLocked(n int64) {
	if line := -s.free(zero); line+n > window {
		s.mu.Unlock()
		panic("twa: Resize to take away " + itoa(n) + " permits behind a line for " + itoa(line))
	}
	s.cold.debts = append(s.cold.debts, debt{n, s.ticket.Add(n * step)})
	if r := s.cold; s.isClosed() {
		r.reach = max(r.reach, r.reach+uint64(n*step)) // it stops short of going round
	}
	s.countLocked()
}

// close ends all requests that wait, and all later ones.
func (s *tickets) close() {
	s.mu.Lock()
	s.markLocked(closing)
	if g := s.grant.Or(closed); g&closed == 0 {
		r := s.coldLocked()
		r.last = granted(zero, g)
		r.reach = glut + uint64(max(s.ticket.Load()-r.last, 0)) // glut for those on their way
	}
	s.mu.Unlock()
	for _, c := range s.claimAll(func(_, _ int64) bool { return true }) {
		s.tell(zero, c.Node, c.Key.Part*step)
	}
}
