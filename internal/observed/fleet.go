package observed

import "time"

// A Shared is a lock that processes share.
type Shared interface {
	// About returns the type, and the name unless Watch gives another.
	About() (about *About, name string)
	// Elsewhere returns what other processes have of it.
	Elsewhere() *Fleet
}

// A Fleet is what a process knows of a lock that it shares with others: of the fleet, not of its
// own goroutines.
type Fleet struct {
	Losses  uint64 // how often this process has lost what it had
	Refused string // why it is refused permits, empty if it is not
	Back    int64  // by how many revisions the servers are behind what they were
	Blocks  []Block
	More    int // blocks behind those
}

// A Block is what a process has of such a lock, or waits for, in the order of the line.
type Block struct {
	Process string // empty: not known
	Lease   int64
	Own     bool
	Permits int64
	Holds   bool
	Since   time.Time
	Tenure  time.Duration // what is left of it, of an own block that others wait for
}
