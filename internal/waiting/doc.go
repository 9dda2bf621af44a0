// Package waiting is how everything in this module waits: goroutines, selects and polled tasks.
//
// A request stands in a queue as a node, a [Waiter]. A goroutine's node is part of a [Parker], in
// which the goroutine sleeps. A task's or a select's node is part of a [Future]. A release unlinks
// the node, and delivers the outcome after it has released its lock. So all kinds of waiters stand
// in one line, and waiting allocates nothing.
//
// Package waiter is its public part: its types convert to those of this package and back. Packages
// of this module name waiter in their public interface, and nowhere else.
//
// To understand the package, read waiter.go first (the node), then parker.go and wait.go (a
// goroutine's wait, and the one place where it ends early), then future.go and request.go. The
// files watch.go and context.go make many waits on one context share one registration.
package waiting
