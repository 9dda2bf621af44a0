package spec

import (
	"fmt"
	"math"
)

// A Kind is what an operation does.
type Kind uint8

// The kinds.
const (
	Acquire Kind = iota
	TryAcquire
	Release
	Resize
	Close
	Cancel
)

// A Result is how an operation ended.
type Result uint8

// The results.
const (
	// None is the result of an Acquire that has not returned.
	None Result = iota
	// Granted is that of an Acquire or a TryAcquire that holds its permits.
	Granted
	// Refused is that of a TryAcquire.
	Refused
	// Cancelled is that of an Acquire that was given up, by its context or its timeout.
	Cancelled
	// Abandoned is that of an Acquire given up by the Cancel of a future, which does not wait for
	// the operation that grants it.
	Abandoned
	// Closed and TooLarge are the results of an Acquire that got nothing.
	Closed
	TooLarge
	// Done is that of a Release, Resize, Close or Cancel.
	Done
	// Panicked is that of a Release of more than was held.
	Panicked
)

// Never is the Return of an operation that has not returned.
const Never int64 = math.MaxInt64

// An Op is an operation in a history.
type Op struct {
	Client       int // for descriptions only
	Kind         Kind
	N            int64 // permits, or the new size; not negative
	Context      bool  // of an Acquire: Cancel ends it
	Call, Return int64 // event numbers, each used once
	Result       Result
}

// String returns the operation as one would write it.
func (o Op) String() string {
	kind := [...]string{"Acquire", "TryAcquire", "Release", "Resize", "Close", "Cancel"}[o.Kind]
	result := [...]string{
		"None", "Granted", "Refused", "Cancelled", "Abandoned", "Closed", "TooLarge", "Done", "Panicked",
	}[o.Result]
	if o.Context {
		kind += "Context"
	}
	if o.Return == Never {
		return fmt.Sprintf("%d: %s(%d) [%d, …)", o.Client, kind, o.N, o.Call)
	}
	return fmt.Sprintf("%d: %s(%d) = %s [%d, %d]", o.Client, kind, o.N, result, o.Call, o.Return)
}

// MaxAcquires is how many Acquires a history may have.
const MaxAcquires = 32

// Check reports whether the history is linearizable with respect to a FIFO counting semaphore of
// the given size, all free: whether there is an order of steps, each of them within its operation's
// time, in which the sequential semaphore gives every result that is there.
//
// All operations are one step but Acquire, which may wait. Its first step is the request, which is
// granted, refused or queued. Its second is the outcome. A queued request is granted by the very
// step that makes its grant possible: that of a Release, a Resize, or another request's leaving.
// Nothing can come between.
//
//   - Granted, Closed, TooLarge: the outcome was there before the return.
//   - Cancelled: the request leaves by a step of its own. From the queue it goes without a trace,
//     wherever it stands, and those behind it are served. If it was granted, its permits are given
//     back like those of a Release. If it was ended otherwise, or was never more than a call,
//     nothing happens.
//   - Abandoned: the same, but what was granted may be given back later, by the operation that
//     granted it: before the latest return of the operations that can have done so.
//   - None: the history is over, and nothing moves any more. The request has been made, and is in
//     the queue in the final state. So an Acquire that sleeps although it could have its permits,
//     or although the semaphore is closed, is a lost wake-up, and the history is rejected.
//
// Cancel ends the context of the Acquires that have one. From that step on none of them is granted:
// what it would be granted it gives back, and its result is Cancelled. It is not Cancelled before
// that step, nor None after it.
//
// Other operations never wait. A history in which one has not returned is rejected.
//
// Check panics if the history is none: a result that the kind does not have, a negative number, a
// return before the call, more than MaxAcquires.
//
// What it does not know: a limit of waiters, the size's maximum, and the one liberty that the
// semaphore takes, to overlook an over-release that races with a Resize.
func Check(size int64, history []Op) bool {
	var last int64
	for i := range history {
		o := &history[i]
		o.validate()
		last = max(last, o.Call)
		if o.Return != Never {
			last = max(last, o.Return)
		} else if o.Kind != Acquire {
			return false
		}
	}

	var asks []*step                         // by seat
	steps := make([]step, 0, 3*len(history)) // never grown: there are pointers to its elements
	ops := make([]operation, 0, 3*len(history))
	add := func(o *Op, a action, seat int, call, ret int64) {
		steps = append(steps, step{a, o.Result, uint8(seat), o.N, o.Context})
		t := &steps[len(steps)-1]
		ops = append(ops, operation{call, ret, func(from any) (any, bool) {
			s := from.(state)
			to := s.after(t, asks)
			if to == nil {
				return nil, false
			}
			return *to, true
		}})
	}
	seats := 0
	for i := range history {
		o := &history[i]
		if o.Kind != Acquire {
			add(o, actions[o.Kind], 0, o.Call, o.Return)
			continue
		}
		if seats == MaxAcquires {
			panic("spec: too many Acquires")
		}
		switch o.Result {
		case None:
			add(o, request, seats, o.Call, last+1)
			add(o, stay, seats, last+2, last+2)
		case Cancelled:
			add(o, request, seats, o.Call, o.Return)
			add(o, leave, seats, o.Call, o.Return)
		case Abandoned:
			add(o, request, seats, o.Call, o.Return)
			add(o, leave, seats, o.Call, o.Return)
			add(o, giveBack, seats, o.Call, latestGranter(history, o))
		default:
			add(o, request, seats, o.Call, o.Return)
			// An outcome stays, so it is enough to look for it at the end. That spares the search
			// many orders.
			add(o, outcome, seats, o.Return, o.Return)
		}
		seats++
	}
	asks = make([]*step, seats)
	for i := range steps {
		if steps[i].action == request {
			asks[steps[i].seat] = &steps[i]
		}
	}
	return orderExists(state{size: size, avail: size}, ops)
}

// latestGranter returns when the last of the operations returned that may have granted o, or o
// itself.
func latestGranter(history []Op, o *Op) int64 {
	latest := o.Return
	for i := range history {
		g := &history[i]
		grants := g.Kind == Release || g.Kind == Resize || g.Result == Cancelled || g.Result == Abandoned
		if grants && g.Call < o.Return {
			latest = max(latest, g.Return)
		}
	}
	return latest
}

func (o *Op) validate() {
	ok := o.N >= 0 && o.Call < o.Return
	switch {
	case o.Return == Never:
		ok = ok && o.Result == None
	case o.Kind == Acquire:
		ok = ok && o.Result != None && o.Result != Refused && o.Result < Done
	case o.Kind == TryAcquire:
		ok = ok && (o.Result == Granted || o.Result == Refused)
	case o.Kind == Release:
		ok = ok && (o.Result == Done || o.Result == Panicked)
	default:
		ok = ok && o.Result == Done
	}
	if !ok || o.Context && (o.Kind != Acquire || o.Result == Abandoned) {
		panic("spec: no operation of a history: " + o.String())
	}
}
