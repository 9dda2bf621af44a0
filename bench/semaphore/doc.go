// Package semaphore measures semaphores: goroutines that acquire and release permits, under several
// forms of contexts. Each pair of a workload and a form is a cell.
//
// It imports measure, peers and table. Read workloads.go first: what is done. Then impls.go: by
// whom; rounds.go: how the cells are measured; targets.go: what farad is held to.
package semaphore
