//go:build !interleave

package parking

// lots is where all locks of the process have their sleepers: 16 kB.
var lots = New(256)

// patience is how many vain wakes it takes to be handed the lock. A hand-over costs a switch for each acquisition, so it must be
// rare where many contend; and even so no wait should become long: this is some 10 µs there, and the time of as many critical
// sections where they are long.
const patience = 8
