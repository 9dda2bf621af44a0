// Package agents knows who holds and who waits: goroutines, the tasks that they run, and the
// executors of these.
package agents
