package capacitor

import (
	"context"
	"strconv"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/twa"
)

// A Gate is a capacitor: it lets arrivals through in platoons of B. The first B pass. Then the gate
// is closed, and arrivals wait until all of the platoon have departed. Then the next B pass, in the
// order of their arrival.
//
// So at most B − 1 others are behind the gate with a goroutine that has passed. However unfair a
// lock behind the gate is, all of a platoon get it before the next platoon may try. [Wrap] makes
// fair locks that way.
//
// If fewer than B arrive at a time, the gate does not close before B have passed in all. One
// goroutine may pass several times while another is inside: at most B − 1 times.
//
// The zero Gate has B = 1. A Gate must not be copied after first use.
//
// Memory model: what happened before a Depart happens before the return of every Arrive of later
// platoons.
//
// Source: Dice and Kogan, Capacitors, Listings 1 and 2.
type Gate struct {
	_ noCopy

	// Invariants:
	//
	//  1. Arrivals take permits one by one, and permits come back all at once. So when an arrival
	//     takes a returned permit, all that were inside have departed. (TestModelGate)
	//  2. departed counts the departures of the platoon: at most as many as have passed. The
	//     departure that makes it B is the last, and alone, because the gate is closed: it begins a
	//     new platoon. (TestModelGate/misuse)
	e        engine.Engine  // B permits, counted from 1; none if there is an array
	array    *twa.Semaphore // which has the permits then; nil otherwise
	departed xsync.Int64
	platoons xsync.Int64 // that have ended

	// The express lane past the gate, for Wrapped: it has so many places for each platoon, so many
	// of which are left. They are taken by holders of the inner lock only; so there are never fewer
	// than none.
	express int64
	places  xsync.Int64
}

// permits counts from one, so that the zero Gate has one.
func (g *Gate) permits() engine.Permits { return g.e.From(1) }

// NewGate returns a gate with platoons of b, open. [WithWaitingArray] says where the goroutines
// sleep that wait for it. NewGate panics if b is not positive or larger than semaphore.MaxPermits,
// with a waiting array [twa.MaxPermits]; or if another option is among opts.
func NewGate(b int64, opts ...Option) *Gate {
	o := chosen(opts)
	if o.lane || o.contended || o.bypass > 0 {
		panic("capacitor: NewGate takes no option but WithWaitingArray")
	}
	g := new(Gate)
	g.init(b, &o)
	return g
}

func (g *Gate) init(b int64, o *options) {
	switch {
	case b <= 0 || b > engine.MaxPermits:
		refuse(b, "", engine.MaxPermits)
	case o.waitingArray && b > twa.MaxPermits:
		refuse(b, "in a waiting array ", twa.MaxPermits)
	}
	g.permits().Init(b, nil)
	if o.waitingArray {
		g.array = twa.New(b, twa.WithWaitingArray(o.array))
	}
	g.express = o.express
	g.places.Store(o.express)
}

func refuse(b int64, where string, most int64) {
	panic("capacitor: platoons of " + itoa(b) + ": " +
		where + "the number must be from 1 to " + itoa(most))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Size returns B.
func (g *Gate) Size() int64 { return g.permits().Size() }

// Arrive passes the gate, and waits for it to open if need be, until ctx is done. It returns nil if
// and only if the caller is inside, and has to depart. An arrival that gives up leaves its place in
// the queue to those behind it.
func (g *Gate) Arrive(ctx context.Context) error {
	if ctx == nil {
		panic("capacitor: nil context")
	}
	if g.array != nil {
		return g.array.Acquire(ctx, 1)
	}
	mayEnd := xsync.MayEnd(ctx)
	if mayEnd {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if g.permits().TryAcquire(1) {
		if mayEnd {
			return g.permits().Keep(ctx, 1)
		}
		return nil
	}
	return g.permits().Acquire(waiting.UntilDone(ctx), 1, engine.AtBack)
}

// ArriveTimeout is Arrive with a context that ends d from now, whose error is
// [context.DeadlineExceeded]; but it makes none.
func (g *Gate) ArriveTimeout(d time.Duration) error {
	switch {
	case d <= 0:
		return context.DeadlineExceeded
	case g.array != nil:
		return g.array.AcquireTimeout(d, 1)
	case g.permits().TryAcquire(1):
		return nil
	}
	return g.permits().Acquire(waiting.After(d), 1, engine.AtBack)
}

// TryArrive passes the gate if it is open, and reports whether it did.
func (g *Gate) TryArrive() bool {
	if g.array != nil {
		return g.array.TryAcquire(1)
	}
	return g.permits().TryAcquire(1)
}

// Depart leaves what is behind the gate. The last of a platoon reopens the gate, for all of the
// next at once. Depart panics if more depart than have arrived; the gate is then as it was. One too
// many at the very moment when the gate is reopened may go unnoticed, unless B is 1 and there is no
// waiting array.
func (g *Gate) Depart() {
	b := g.Size()
	for { // A retry follows only another departure.
		n := g.departed.Load() + 1
		if arrived := b - g.free(); n > arrived {
			panicOfDepart(arrived, n-1, b)
		}
		if !g.departed.CompareAndSwap(n-1, n) {
			continue
		}
		if n < b {
			return
		}
		break
	}
	// The gate is closed, and all others have departed: a store will do.
	g.departed.Store(0)
	g.platoons.Add(1)
	if g.express > 0 {
		g.places.Store(g.express)
	}
	if g.array != nil {
		g.array.Release(b)
	} else if !g.permits().Release(b) { // of two departures at once, for one arrival
		g.platoons.Add(-1)
		panicOfDepart(b-g.free(), b, b)
	}
}

// panicOfDepart panics for a departure that is one too many.
func panicOfDepart(arrived, departed, of int64) {
	panic("capacitor: depart without arrive (arrived " + itoa(arrived) + ", departed " + itoa(departed) +
		", platoons of " + itoa(of) + ")")
}

// free returns how many may still pass.
func (g *Gate) free() int64 {
	if g.array != nil {
		return g.array.Available()
	}
	return g.permits().Available()
}

// isIdle reports whether no goroutine is inside and none waits.
func (g *Gate) isIdle() bool {
	free := g.free()
	return free > 0 && g.Size()-free <= g.departed.Load()
}

// Platoon returns how many platoons have ended, and Population how many of the present one are
// inside: of a platoon under pressure it rises to B at once, and falls to nothing as they depart,
// the sawtooth. Both may be out of date.
func (g *Gate) Platoon() int64 { return g.platoons.Load() }

// Population is described at Platoon.
func (g *Gate) Population() int64 {
	free := g.free()
	return max(g.Size()-free-g.departed.Load(), 0)
}

// Waiting returns how many arrivals wait for the gate to open. It is meant for tests and
// statistics.
func (g *Gate) Waiting() int {
	if g.array != nil {
		return g.array.Waiting()
	}
	return g.e.Waiting()
}

// noCopy has vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
