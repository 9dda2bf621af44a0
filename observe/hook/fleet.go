package hook

import "time"

// A Fleet is what this process knows of a lock that it shares with others, by package fleet. A
// snapshot asks no server: it has what the process learned last.
type Fleet struct {
	Blocks  []Block // blocks that hold permits or wait for them, in the order of the line
	More    int     // blocks behind those
	Losses  uint64  // how often this process has lost what it had
	Refused string  // the error by which the servers refuse this process permits; empty: they do not
	Back    int64   // by how many revisions the servers, and so new tokens, are behind what they were
}

// A Block is the permits that a process has, for what its goroutines need, or waits for.
type Block struct {
	Process string        // host and process number, as far as known: names come a moment later
	Lease   int64         // of etcd, on which the block hangs
	Own     bool          // of this process
	Permits int64         // of a read-write lock 1 for readers, and all for a writer
	Holds   bool          // otherwise it waits
	Since   time.Time     // when this process first saw it in this state
	Tenure  time.Duration // what is left of it: of an own block that others wait for
}
