package lanes

import (
	"context"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A Gate lets arrivals through in platoons of B, as capacitor.Gate does, but they take their
// permits, and wait for them, in K lanes. A platoon has a share of b permits for each lane: B = K ·
// b.
//
//	arrive   take a permit of the own lane or of another; or queue in the own lane and balance
//	depart   departed += 1; if it is now B: departed = 0, return b permits to each lane, balance
//	balance  while a lane has waiters and another a permit: move the permit to the first waiter
//
// Why permits move: otherwise a lane without arrivals would keep its share for ever, the platoon
// would never end, and all others would wait for it. (TestModelWithoutBalanceNonePasses)
//
// Invariants:
//
//  1. Arrivals take permits one by one, and permits come back all at once. So when an arrival takes
//     a returned permit, all that were inside have departed. A move is not a return.
//     (TestModelGate, TestModelBypass)
//  2. departed counts the departures of the platoon: at most as many as have passed. The departure
//     that makes it B is the last, and alone: all permits are taken, and none is on its way to
//     another lane. (TestModelGate)
//  3. A permit that is returned, given back or moved to a lane goes to the first waiter of its line
//     in the same step. While the lane has waiters, no arrival takes a permit there.
//     (TestModelBypass)
//  4. A goroutine balances after it has queued, or may have left a permit in a lane without
//     waiters: as the last of a platoon, after it has given up, or after it has moved a permit.
//     (TestModelNoneWaitsBesideAPermit)
//
// Why no goroutine waits while a permit is free: let W wait in one lane, a permit lie in another,
// and no other operation be in progress. Both the goroutine that queued and the one that left the
// permit have balanced since. The one whose balance began last found W in its line and the permit
// free, and moved it. The permit may have been on its way when W looked, from a lane that W had not
// checked yet to one that it had. Then the goroutine that moved it has left it there, and checks
// again.
//
// Bound: let W queue in its lane behind p others. Each share of the lane serves b of them, or all.
// So W passes with the r'th share from then at the latest, r = ⌈(p+1)/b⌉, and has the inner lock
// before that platoon ends. Later arrivals get in before W:
//
//   - in the platoon that was in progress when W queued, by the permits of other lanes: B − b,
//     because W's lane had none left;
//   - in each of the r − 1 platoons between that and W's own, likewise: the share of W's lane goes
//     to those in front of W;
//   - in W's own platoon: B − 1.
//
// That makes r · (B − b) + B − 1. With one lane it is B − 1, as without lanes. There are up to b
// more if a part of the lane's share had been moved away before W came, without need: its waiter
// has given up since, or two goroutines moved a permit for the same waiter. (TestModelBypass
// asserts both bounds, and that they are reached.) The bound does not promise equal parts. Each
// lane with enough waiters gets the same share, so a goroutine in a lane with few arrivals passes
// more often. With a random key it does not.
//
// A Gate must not be copied after first use. Memory model: what happened before a Depart happens
// before the return of every Arrive of later platoons.
//
// Source: Dice and Kogan, Capacitors: the multilane pattern, with one tally instead of one per
// lane, and permits that move.
type Gate struct {
	lanes []lane
	share int64 // b

	_        [apart]byte
	departed xsync.Int64
	_        [apart - 8]byte
	moved    xsync.Int64 // how many permits have moved to another lane
}

// A lane is one line of a gate. All permits of a platoon may end up in one lane. So the engine of
// each lane counts B permits, and those that are elsewhere count as taken.
type lane struct {
	engine.Engine
	_ [apart]byte
}

func (l *lane) permits() engine.Permits { return l.From(one) }

// apart is the distance at which two words do not share lines: two cache lines, because some
// processors fetch them in pairs.
const apart = 128

const one = 1 // the permits of a lane count from one, as in every gate

const badSize = "lanes: no lanes, or no share for each, or too many"

// New returns an open gate with the given number of lanes, each with a share of b permits. It
// panics if one of them is not positive.
func New(lanes int, b int64) *Gate {
	if lanes <= 0 || b <= 0 || b > engine.MaxPermits/int64(lanes) {
		panic(badSize)
	}
	g := &Gate{lanes: make([]lane, lanes), share: b}
	for i := range len(g.lanes) {
		l := &g.lanes[i]
		l.permits().Init(g.Size(), nil)
		if rest := g.Size() - b; rest > 0 {
			l.permits().TryAcquire(rest)
		}
	}
	return g
}

// Size returns B.
func (g *Gate) Size() int64 { return g.share * int64(len(g.lanes)) }

// Arrive passes the gate. It waits in the lane of key until the gate opens or ctx is done. It
// returns nil if and only if the caller is inside, and must depart. An arrival that gives up leaves
// its place to those behind it. With a context that is already done it never passes. Arrive panics
// if ctx is nil. It allocates nothing in the steady state.
func (g *Gate) Arrive(ctx context.Context, key uint64) error {
	if ctx == nil {
		panic("lanes: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	own := laneOf(key, len(g.lanes))
	for i := range len(g.lanes) {
		if g.lanes[(own+i)%len(g.lanes)].permits().TryAcquire(1) {
			return nil
		}
	}
	return g.wait(ctx, &g.lanes[own])
}

// wait waits for a permit of l.
func (g *Gate) wait(ctx context.Context, l *lane) error {
	until := waiting.UntilDone(ctx)
	p := waiting.GetParker(until)
	p.N = 1
	o := l.permits().Enqueue(&p.Waiter, engine.AtBack)
	g.balance()
	err := l.permits().Await(until, p, o)
	if err != nil {
		g.balance() // A permit that came too late has been given back.
	}
	return err
}

// Depart leaves the section behind the gate. The last of a platoon opens the gate for all of the
// next platoon at once. A Gate ignores the key. Depart panics if more depart than have passed, and
// leaves the gate unchanged. One departure too many may go unnoticed while a permit is on its way,
// to another lane or from an arrival that gives up.
func (g *Gate) Depart(uint64) {
	b := g.Size()
	for { // A retry follows another departure.
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
	g.departed.Store(0) // invariant 2: no other goroutine is inside
	for i := range len(g.lanes) {
		g.lanes[i].permits().Release(g.share)
	}
	g.balance()
}

// balance moves permits to lanes with waiters, until there are no waiters or no permits.
func (g *Gate) balance() {
	for g.free() > 0 && g.move() { // A turn follows a move, or a waiter that left.
		continue
	}
}

// move moves one permit, and reports whether it did.
func (g *Gate) move() bool {
	for i := range len(g.lanes) {
		to := &g.lanes[i]
		if to.permits().Available() > 0 ||
			to.Waiting() == 0 { // A lane with a permit has no waiters; this check takes no lock.
			continue
		}
		for j := range len(g.lanes) {
			if g.lanes[j].permits().TryAcquire(1) {
				g.moved.Add(1)
				to.permits().Release(1)
				return true
			}
		}
		return false
	}
	return false
}

// free returns how many permits lie in the lanes. It counts none twice: a permit seen in two lanes
// has moved in between, and then free counts again.
func (g *Gate) free() int64 {
	for { // A retry follows a move.
		n, moved := int64(0), g.moved.Load()
		for i := range len(g.lanes) {
			n += g.lanes[i].permits().Available()
		}
		if g.moved.Load() == moved {
			return n
		}
	}
}

// Waiting returns how many arrivals wait for the gate to open. It is meant for tests and
// statistics.
func (g *Gate) Waiting() (n int) {
	for i := range len(g.lanes) {
		n += g.lanes[i].Waiting()
	}
	return n
}
