package capacitor

import (
	"strconv"

	"github.com/farad-go/farad/twa"
)

// An Option changes how a constructor makes a lock. Each option names the constructors that take
// it; the others panic.
type Option func(*options)

// options are what the options have chosen. The zero value is no choice at all.
type options struct {
	express      int64 // places of the lane
	lane         bool  // they have been chosen
	waitingArray bool
	array        *twa.Array // with waitingArray; nil: that of the process
	bypass       float64    // 0: none
	contended    bool
}

// chosen returns what opts choose, and panics if one of them is nil.
func chosen(opts []Option) (o options) {
	for _, opt := range opts {
		if opt == nil {
			panic("capacitor: nil option")
		}
		opt(&o)
	}
	return o
}

// WithExpress gives the express lane q places. Goroutines that run may then take a free lock
// without queueing, q times before the next platoon is let in: a switch of goroutines is paid for
// once per platoon and not for each acquisition. With q = 0 there is no lane.
//
// It is for [Wrap], and the lock must have a TryLock. WithExpress panics if q is negative.
func WithExpress(q int) Option {
	if q < 0 {
		panic("capacitor: WithExpress(" + strconv.Itoa(q) + "): a negative number of places")
	}
	return func(o *options) { o.express, o.lane = int64(q), true }
}

// WithWaitingArray lets the goroutines that wait at the gate sleep in the waiting array a, or in
// that of the process if a is nil. Arriving and reopening are one addition each then, as in the
// paper's Listing 2. Platoons are of at most [twa.MaxPermits] then: the constructors panic if
// theirs are larger. It is for [NewGate] and [Wrap].
func WithWaitingArray(a *twa.Array) Option {
	return func(o *options) { o.waitingArray, o.array = true, a }
}

// WhenContended leaves the gate out where it has no effect: an arrival that finds none behind the
// gate, and the lock free, takes the lock. The lock must have a TryLock. It is for [Wrap].
func WhenContended() Option {
	return func(o *options) { o.contended = true }
}

// WithBypass sends arrivals past the gate with probability p, 0 < p < 1: fractional bypass. It
// costs less and leaves no bound: a goroutine that went past the gate depends on the inner lock
// until one that came through the gate does so, too. It does not help locks that spin. It panics if
// p is not between 0 and 1. It is for [Wrap].
func WithBypass(p float64) Option {
	if !(0 < p && p < 1) {
		panic("capacitor: WithBypass(" + strconv.FormatFloat(p, 'g', -1, 64) +
			"): not a probability between 0 and 1")
	}
	return func(o *options) { o.bypass = p }
}
