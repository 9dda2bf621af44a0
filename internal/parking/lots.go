//go:build !interleave

package parking

// lots is where all locks of the process have their sleepers: 16 kB.
var lots = New(256)
