// Package jobs measures work that is bounded: bursts of goroutines that want few permits, and
// worker pools.
//
// It imports measure, peers and table. Read jobs.go first.
package jobs
