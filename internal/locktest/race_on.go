//go:build race

package locktest

// RaceEnabled reports whether the race detector watches.
const RaceEnabled = true
