package sync

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A gate is in front of a lock, and admits one at a time, in the order of arrival. What it needs to
// queue is in the table of sleepers, so it is four bytes. The zero gate is open.
//
//	state        means
//	gateOpen     none is admitted
//	gateClosed   one is admitted, and none is in line
//	gateWaiting  one is admitted, and others are in line
//
// The admitted one sleeps in the table, too, when the lock is taken: in a line of its own, that of
// the lock. Both lines are in one bucket, whose lock guards both.
//
// Invariants:
//
//  1. At most one is admitted. It came from the step that closed the open gate, or the one admitted
//     before has handed the admission over. (TestModelGate)
//  2. While the bucket's lock is free, the state is gateWaiting if and only if one is in line. Only
//     under that lock does the state become gateWaiting, or cease to be. So one that finds the gate
//     in another state passes none by. (TestModelGate)
//  3. The line grows at its end, and the first of it is admitted. (TestModelGateOrder)
//  4. A waiter that is taken out of the line for an admission is woken, and no other: one that has
//     given up meanwhile passes the admission on. (TestModelGate/cancel)
//
// No wake-up is lost: an arrival that finds the gate closed says gateWaiting before it sleeps,
// under the lock. If the gate opens before, that step fails, and the arrival looks again. If it is
// to be opened afterwards, the step from gateClosed to gateOpen fails, and the first of the line is
// found.
type gate struct{ state xsync.Uint32 }

const (
	gateOpen uint32 = iota
	gateClosed
	gateWaiting
)

// key names the line in front of the gate. The lock's own key has the same hash.
func (g *gate) key() parking.Key { return parking.Key{Object: g, Hash: xsync.Address(g)} }

// tryPass passes the gate if it is open.
func (g *gate) tryPass() bool { return g.state.CompareAndSwap(gateOpen, gateClosed) }

// isOpen reports whether none is admitted.
func (g *gate) isOpen() bool { return g.state.Load() == gateOpen }

// isIn takes the place of the hold that a node in line is for, when open has let it in.
const isIn int64 = -1

// pass waits until the caller, who wants hold, is admitted to lock, or until ends the wait. It
// reports whether it has waited, and whether it has been let in.
func (g *gate) pass(lock admitting, hold int64, until waiting.Limit) (waited, in bool, err error) {
	if g.tryPass() {
		return false, false, nil
	}
	s := parking.GetSleeper()
	p := s.Parker(until)
	p.N = hold
	if !g.enqueue(lock, s, &p.Waiter) {
		s.Put(p)
		return false, false, nil
	}
	p.Start(until)
	p.Sleeper().SleepInline()
	if _, err = waiting.EndWait(p, until, atGate{lock, s}); err != nil {
		s.Put(nil)
		return true, false, err
	}
	in = p.N == isIn
	s.Put(p)
	return true, in, nil
}

// enqueue puts s in line for node, which is armed. If the gate has opened meanwhile it does not: it
// admits the caller, and returns false.
func (g *gate) enqueue(lock admitting, s *parking.Sleeper, node *waiting.Waiter) bool {
	l := parking.Default().Line(g.key())
	defer l.Unlock()
	// A retry follows one that has passed, or that has opened the gate.
	for g.state.Load() != gateWaiting && !g.state.CompareAndSwap(gateClosed, gateWaiting) {
		if g.tryPass() {
			return false
		}
	}
	lock.setCrowded(true)
	l.Insert(s, node, false)
	return true
}

// open ends the caller's admission to lock: it admits the first of the line, or opens the gate.
// First it lets the readers at the front of the line in, if there is room for them: all at one
// instant.
func (g *gate) open(lock admitting) {
	for !lock.isCrowded() && g.state.CompareAndSwap(gateClosed, gateOpen) {
		if !lock.isCrowded() || !g.tryPass() {
			return
		}
		// One has joined the line meanwhile, and given up. The lock is crowded by nobody.
	}
	var wake waiting.WakeList
	l := parking.Default().Line(g.key())
	s := l.First()
	if s == nil && g.isOpen() {
		l.Unlock()
		panic("sync: permit lost")
	}
	cedes := lock.cedes() // the lane is the caller's only until the gate opens
	for s != nil && s.Node().OfGoroutine() && s.Node().N == rwReader && lock.letIn() {
		next := l.Next(s)
		l.Remove(s)
		s.Node().N = isIn
		wake.Add(s.Node(), waiting.Granted)
		s = next
	}
	switch {
	case s == nil:
		lock.setCrowded(false)
		g.state.Store(gateOpen)
	case l.Next(s) == nil:
		g.state.Store(gateClosed)
		fallthrough
	default:
		l.Remove(s)
		wake.Add(s.Node(), waiting.Granted)
	}
	l.Unlock()
	if cedes {
		wake.HandOff()
	} else {
		wake.Wake()
	}
}

// leaveLocked takes s out of the line, whose bucket the caller has locked by l, and reports whether
// it was there. If not, it has been admitted.
func (g *gate) leaveLocked(l parking.Line, s *parking.Sleeper) bool {
	if !l.Holds(s) {
		return false
	}
	l.Remove(s)
	if l.First() == nil {
		g.state.Store(gateClosed)
	}
	return true
}

// waiting returns how many are in line.
func (g *gate) waiting() int { return parking.Sleeping(g.key()) }

// atGate is a goroutine's place in the line as a [waiting.Line].
type atGate struct {
	lock admitting
	s    *parking.Sleeper
}

// Unlink implements [waiting.Line].
func (p atGate) Unlink(*waiting.Waiter) bool {
	g := p.lock.gateOf()
	l := parking.Default().Line(g.key())
	defer l.Unlock()
	return g.leaveLocked(l, p.s)
}

// GiveBack implements [waiting.Line]: invariant 4.
func (p atGate) GiveBack(n int64) bool {
	if n == isIn {
		return p.lock.giveBack(rwReader)
	}
	p.lock.gateOf().open(p.lock)
	return true
}

// sleepAdmitted waits until an unlock wakes the admitted one, or until ends the wait. It reports
// whether until did, and does not ask its context, which might panic: the caller is still admitted.
// It does not wait if the word says no more that it sleeps: then that has already been.
func sleepAdmitted(until waiting.Limit, lock admitting) (ended bool) {
	s := parking.GetSleeper()
	p := s.Parker(until)
	l := parking.Default().Line(lock.key())
	if !lock.isSleeping() {
		l.Unlock()
		s.Put(p)
		return false
	}
	l.Insert(s, &p.Waiter, true) // in front of all that are in line, where it is found at once
	l.Unlock()
	p.Start(until)
	p.Sleeper().SleepInline()
	ended = !p.Notified(until)
	if ended {
		waiting.Leave(p, asleep{lock.key(), s})
		p = nil
	}
	s.Put(p)
	return ended
}

// asleep is an admitted goroutine's place in the table as a [waiting.Line].
type asleep struct {
	k parking.Key
	s *parking.Sleeper
}

// Unlink implements [waiting.Line].
func (p asleep) Unlink(*waiting.Waiter) bool {
	l := parking.Default().Line(p.k)
	defer l.Unlock()
	return l.Remove(p.s)
}

// GiveBack implements [waiting.Line]. A wake is not passed on: the next to be admitted looks at the
// lock itself.
func (p asleep) GiveBack(int64) bool { return true }
