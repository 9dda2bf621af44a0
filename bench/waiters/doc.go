// Package waiters measures what waiting costs: the memory of futures, goroutines and tasks that
// wait, the cancellation of one in a long queue, and how quickly a million of them are served.
//
// It imports measure, peers and table. Read memory.go first, then cancel.go and wake.go.
package waiters
