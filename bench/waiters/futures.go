package waiters

import (
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// deafWaker is the waker of futures that wait but are never polled again.
type deafWaker struct{}

// Wake does nothing.
func (deafWaker) Wake() {}

// waitingFutures returns a semaphore whose only permit is taken and n futures that wait for it,
// oldest first.
func waitingFutures(n int) (*semaphore.Semaphore, []waiter.Future) {
	s := semaphore.New(1)
	if !s.TryAcquire(1) {
		panic("bench: a new semaphore has no permit")
	}
	futures := make([]waiter.Future, n)
	for i := range futures {
		s.Bind(&futures[i], 1)
		if futures[i].Poll(deafWaker{}) {
			panic("bench: a future got a permit that is taken")
		}
	}
	return s, futures
}
