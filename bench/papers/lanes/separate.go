package lanes

import "context"

// A Separate is a gate for each lane, each with its own platoons. No arrival waits for the platoon
// of another lane, and nothing moves. That is the paper's proposal as it reads, and it does not
// keep the bound: while a goroutine of one lane waits for the inner lock, any number of platoons of
// another lane pass. (TestModelSeparateGatesBoundNothing)
//
// With a random lane for each arrival no goroutine stays in a slow lane. In the long run all have
// the same chances, if the inner lock starves no goroutine for long
// (TestRandomLanesAreFairInTheLongRun). Behind a LIFO lock one member of a platoon may starve,
// while the other lanes' platoons go by for ever.
type Separate []*Gate

// NewSeparate returns the given number of open gates, each with platoons of b. It panics if one of
// the two is not positive.
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

// Depart leaves the section behind the gate; key is the key of the arrival.
func (s Separate) Depart(key uint64) { s.gate(key).Depart(key) }
