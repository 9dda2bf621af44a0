// Package tasks measures the executor. Each workload has a peer that does the same with goroutines,
// coroutines or timers of the standard library.
//
// It imports measure, peers and table. Read tasks.go first, then workloads.go.
package tasks
