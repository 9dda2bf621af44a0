package lanes

import "context"

// A Separate is a gate for each lane, each with platoons of its own: nobody waits for the platoon
// of another lane, and nothing moves. That is the paper's proposal as it reads, and it does not
// keep the bound: while somebody of one lane is held up at the inner lock, the platoons of another
// come and go, any number of them. (TestModelSeparateGatesBoundNothing)
//
// With a lane at random, the next time anew, nobody is in a bad one for ever: in the long run all
// have the same chances, if the inner lock leaves nobody behind for long
// (TestRandomLanesAreFairInTheLongRun). With a lock that serves the last first it may be that one
// of a platoon stays where it is, and the other lanes' platoons go by for ever.
type Separate []*Gate

// NewSeparate returns so many gates, open, with platoons of b each. It panics if one of them is not
// positive.
func NewSeparate(lanes int, b int64) Separate {
	if lanes <= 0 {
		panic(badSize)
	}
	s := make(Separate, lanes)
	for i := range len(s) {
		s[i] = New(1, b)
	}
	return s
}

func (s Separate) gate(key uint64) *Gate { return s[laneOf(key, len(s))] }

// Arrive passes the gate of key's lane, as Gate.Arrive does.
func (s Separate) Arrive(ctx context.Context, key uint64) error { return s.gate(key).Arrive(ctx, key) }

// Depart leaves what is behind the gate; key is that of the arrival.
func (s Separate) Depart(key uint64) { s.gate(key).Depart(key) }
