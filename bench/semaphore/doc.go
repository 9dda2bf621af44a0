// Package semaphore measures semaphores: goroutines that acquire and release permits, under several
// forms of contexts. Each pair of a workload and a form is a cell.
//
// It imports measure, peers and table. Read workloads.go first (what is measured), then impls.go
// (the implementations), rounds.go (how the cells are measured) and targets.go.
package semaphore
