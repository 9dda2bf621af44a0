// Package ticket has the ticket semaphore of Dice and Kogan, Semaphores Augmented with a Waiting
// Array, Listing 1: the algorithm that the array improves on. It is for comparison only: a waiting
// goroutine never sleeps, and nothing ends its wait. To limit something take sync/semaphore.
//
// The package imports internal/xsync and nothing else. Read ticket.go.
package ticket
