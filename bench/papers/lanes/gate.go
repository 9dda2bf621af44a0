package lanes

import (
	"context"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A Gate lets arrivals through in platoons of B, as capacitor.Gate does, but they take their
// permits, and wait for them, in K lanes. A platoon has a share of b permits for each lane, B = K ·
// b.
//
//	arrive   take a permit of one's own lane, or else of another; or queue in one's own lane, and balance
//	depart   departed += 1;  if it is B now: departed = 0, return b permits to each lane, and balance
//	balance  while somebody waits in a lane and another lane has a permit: move it there, where it goes to the first in line
//
// Why permits have to move. Without that, a lane which nobody comes to keeps its share for ever,
// the platoon never ends, and all others wait for it. (TestModelWithoutBalanceNobodyPasses)
//
// Invariants:
//
//  1. Permits are taken one by one, by arrivals, and come back all at once: so when one is taken
//     that had been returned, all who were inside have departed. To move one is not to return it.
//     (TestModelGate, TestModelBypass)
//  2. departed is how many of the platoon have: fewer than have passed, or as many. Whoever makes
//     it B is the last one, and alone: all permits are taken, none is on its way to another lane.
//     (TestModelGate)
//  3. A permit that is returned, given back or moved to a lane goes to the first in its line, in
//     the same step; nobody takes one there while somebody waits. (TestModelBypass)
//  4. Whoever has queued, or may have left a permit where nobody waits – the last of a platoon, one
//     that gives up, one that has moved a permit – balances afterwards.
//     (TestModelNobodyWaitsBesideAPermit)
//
// Why nobody waits beside a permit. Let W wait in one lane, and a permit lie in another, and
// nothing else be under way. Both who has queued and who has left the permit have balanced since.
// Whichever began to do so last found W in its line and the permit free, and moved it. If it was on
// its way when W looked, from a lane that W had not looked at yet to one that it had, then whoever
// moved it has left it there, and looks again.
//
// Bound. Let W stand in its lane behind p others. Each share of the lane serves b of them or all.
// So W passes with the r'th share from then, r = ⌈(p+1)/b⌉, at the latest, and has the inner lock
// before that platoon ends. Those who come later get in before W
//
//   - in the platoon that was under way when W came to stand, by the permits of other lanes: B − b,
//     since W's lane had none left;
//   - in each of the r − 1 between that and its own, likewise: its lane's share goes to those in
//     front of it;
//   - in its own platoon: B − 1.
//
// That makes r · (B − b) + B − 1; with one lane B − 1, as without lanes. There are up to b more if
// a part of its lane's share had been moved away, before W came, in vain: to where somebody had
// waited and has given up since, or two came with a permit for the same one. (TestModelBypass
// asserts both, and that they are reached.) It says nothing of equal parts: each lane in which
// enough wait gets the same share, and so those of a lane that few come to pass more often than
// others; with a key at random they do not.
//
// A Gate must not be copied after first use. Memory model: what happened before a Depart happens
// before the return of every Arrive of later platoons.
//
// Source: Dice and Kogan, Capacitors: the multilane pattern, with one tally in place of one for
// each lane, and permits that move.
type Gate struct {
	lanes []lane
	share int64 // b

	_        [apart]byte
	departed xsync.Int64
	_        [apart - 8]byte
	moved    xsync.Int64 // how many permits have left a lane for another
}

// A lane is a line of its own. All permits of a platoon may come to be in one lane: so the engine
// counts as if it had B, and those that it has not were taken for ever.
type lane struct {
	engine.Engine
	_ [apart]byte
}

// apart is at what distance two words do not disturb each other: two cache lines, since some
// processors fetch them in pairs.
const apart = 128

const one = 1 // the permits of a lane count from one, as those of any gate

const badSize = "lanes: no lanes, or no share for each, or too many"

// New returns a gate with so many lanes, open, each with a share of b permits. It panics if one of
// them is not positive.
func New(lanes int, b int64) *Gate {
	if lanes <= 0 || b <= 0 || b > engine.MaxPermits/int64(lanes) {
		panic(badSize)
	}
	g := &Gate{lanes: make([]lane, lanes), share: b}
	for i := range len(g.lanes) {
		l := &g.lanes[i]
		l.Init(one, g.Size(), nil)
		if rest := g.Size() - b; rest > 0 {
			l.TryAcquire(one, rest)
		}
	}
	return g
}

// Size returns B.
func (g *Gate) Size() int64 { return g.share * int64(len(g.lanes)) }

// Arrive passes the gate, and waits for it to open if need be, in the lane of key, until ctx is
// done. It returns nil if and only if the caller is inside, and has to depart. An arrival that
// gives up leaves its place in the line to those behind it. A context that is done already never
// passes. Arrive panics if ctx is nil. It allocates nothing in the steady state.
func (g *Gate) Arrive(ctx context.Context, key uint64) error {
	if ctx == nil {
		panic("lanes: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	own := laneOf(key, len(g.lanes))
	for i := range len(g.lanes) {
		if g.lanes[(own+i)%len(g.lanes)].TryAcquire(one, 1) {
			return nil
		}
	}
	return g.wait(ctx, &g.lanes[own])
}

// wait waits for a permit of l.
func (g *Gate) wait(ctx context.Context, l *lane) error {
	until := waiter.UntilDone(ctx)
	p := waiter.GetParker(until)
	p.N = 1
	o := l.Enqueue(one, &p.Waiter, engine.AtBack)
	g.balance()
	err := l.Await(until, one, p, o)
	if err != nil {
		g.balance() // A permit that came too late has been given back.
	}
	return err
}

// Depart leaves what is behind the gate. The last of a platoon reopens the gate, for all of the
// next at once. To a Gate it makes no difference with which key. Depart panics if more depart than
// have passed; the gate is then as it was. One too many at the very moment when a permit is on its
// way, to another lane or from somebody who gives up, may go unnoticed.
func (g *Gate) Depart(uint64) {
	b := g.Size()
	for { // A turn is lost only to another departure.
		n := g.departed.Load() + 1
		if n > b-g.free() {
			panic("lanes: depart without arrive")
		}
		if !g.departed.CompareAndSwap(n-1, n) {
			continue
		}
		if n < b {
			return
		}
		break
	}
	g.departed.Store(0) // invariant 2: nobody else is inside
	for i := range len(g.lanes) {
		g.lanes[i].Release(one, g.share)
	}
	g.balance()
}

// balance moves permits from where they lie to where somebody waits, until there are no such two
// lanes.
func (g *Gate) balance() {
	for g.free() > 0 && g.move() { // A turn has served somebody, or somebody else has, or it has given up.
		continue
	}
}

// move moves one permit, and reports whether it did.
func (g *Gate) move() bool {
	for i := range len(g.lanes) {
		to := &g.lanes[i]
		if to.Available(one) > 0 ||
			to.Waiting() == 0 { // Where a permit lies nobody waits, and to see that takes no lock.
			continue
		}
		for j := range len(g.lanes) {
			if g.lanes[j].TryAcquire(one, 1) {
				g.moved.Add(1)
				to.Release(one, 1)
				return true
			}
		}
		return false
	}
	return false
}

// free returns how many permits lie in the lanes. It counts none twice: to be seen in two lanes a
// permit has to leave one of them meanwhile.
func (g *Gate) free() int64 {
	for { // A turn is lost only to one who moves a permit.
		n, moved := int64(0), g.moved.Load()
		for i := range len(g.lanes) {
			n += g.lanes[i].Available(one)
		}
		if g.moved.Load() == moved {
			return n
		}
	}
}

// Waiting returns how many wait for the gate to open. It is meant for tests and statistics.
func (g *Gate) Waiting() (n int) {
	for i := range len(g.lanes) {
		n += g.lanes[i].Waiting()
	}
	return n
}
