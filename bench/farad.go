package main

import "github.com/farad-go/farad/sync/semaphore"

// farad is this module's own entry in the list of implementations. What else knows the library:
// futures, in cancel.go and memory.go.
var farad = implementation{
	name: nameFarad,
	make: func(permits int64) locker { return semaphore.New(permits) },
}

// deafWaker is the waker of futures that wait but are never polled again.
type deafWaker struct{}

// Wake does nothing.
func (deafWaker) Wake() {}

// waitingFutures returns a semaphore whose only permit is taken and n futures that wait for it,
// oldest first.
func waitingFutures(n int) (*semaphore.Semaphore, []semaphore.AcquireFuture) {
	s := semaphore.New(1)
	if !s.TryAcquire(1) {
		panic("bench: a new semaphore has no permit")
	}
	futures := make([]semaphore.AcquireFuture, n)
	for i := range futures {
		futures[i].Init(s, 1)
		if futures[i].Poll(deafWaker{}) {
			panic("bench: a future got a permit that is taken")
		}
	}
	return s, futures
}
