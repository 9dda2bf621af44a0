package main

import (
	"context"
	"fmt"
	"sync/atomic"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/papers/ticket"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// uncontendedTake is one goroutine that takes a permit and posts it, in the call form that the
// semaphore's tables use, too: nobody's acquire is inlined anyway.
func uncontendedTake(name string, create func() locker) lockImpl {
	return lockImpl{name: name, make: func() lockLoop {
		s := create()
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				x = xorshift(x)
				s.Release(1)
			}
			return x, nil
		}
	}}
}

// additions is what a ticket semaphore cannot beat: one addition each way. It does not wait.
type additions struct{ ticket, grant atomic.Int64 }

func (a *additions) Acquire(_ context.Context, n int64) error {
	a.ticket.Add(n)
	return nil
}

func (a *additions) Release(n int64) { a.grant.Add(n) }

// tickets is the ticket semaphore of the paper, which knows no contexts.
type tickets struct{ s *ticket.Semaphore }

func (t tickets) Acquire(_ context.Context, n int64) error {
	t.s.Acquire(n)
	return nil
}

func (t tickets) Release(n int64) { t.s.Release(n) }

// twaMutex is the ticket lock on the waiting array, with loops of its own like the other mutexes.
var twaMutex = lockImpl{name: nameTWAMutex, make: func() lockLoop {
	var m twa.Mutex
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			m.Lock()
			x = xorshift(x)
			m.Unlock()
		}
		return x, nil
	}
}}

var twaUncontended = lockWorkload{"twa-1", 1, []lockImpl{
	uncontendedTake(nameFarad, func() locker { return twa.New(1) }),
	uncontendedTake(nameAdditions, func() locker { return new(additions) }),
	uncontendedTake(nameSem, func() locker { return semaphore.New(1) }),
	uncontendedTake(nameXSync, func() locker { return xsemaphore.NewWeighted(1) }),
	twaMutex, stdMutex,
}}

// semabench is the paper's benchmark: goroutines take a semaphore of one permit, advance a PRNG
// that all share by one step, post, and advance one of their own.
func semabench(goroutines int) lockWorkload {
	return lockWorkload{fmt.Sprintf("semabench-%d", goroutines), goroutines, []lockImpl{
		sharedStep(nameFarad, func() locker { return twa.New(1) }),
		sharedStep(nameTicket, func() locker { return tickets{ticket.New(1)} }),
		sharedStep(nameSem, func() locker { return semaphore.New(1) }),
		sharedStep(nameXSync, func() locker { return xsemaphore.NewWeighted(1) }),
	}}
}

// sharedStep is semabench with somebody's semaphore.
func sharedStep(name string, create func() locker) lockImpl {
	return lockImpl{name: name, make: func() lockLoop {
		s, shared := create(), uint64(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				shared = xorshift(shared)
				s.Release(1)
				x = xorshift(x)
			}
			return x, nil
		}
	}}
}
