package array

import (
	"context"
	"fmt"
	"sync/atomic"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/papers/ticket"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

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
var twaMutex = locks.Impl{Name: locks.NameTWAMutex, Make: func() locks.Loop {
	var m twa.Mutex
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			m.Lock()
			x = measure.Xorshift(x)
			m.Unlock()
		}
		return x, nil
	}
}}

var twaUncontended = locks.Bench{Name: "twa-1", Goroutines: 1, Impls: []locks.Impl{
	locks.UncontendedTake(measure.NameFarad, func() peers.Locker { return twa.New(1) }),
	locks.UncontendedTake(locks.NameAdditions, func() peers.Locker { return new(additions) }),
	locks.UncontendedTake(locks.NameSem, func() peers.Locker { return semaphore.New(1) }),
	locks.UncontendedTake(peers.NameXSync, func() peers.Locker { return xsemaphore.NewWeighted(1) }),
	twaMutex, locks.StdMutex,
}}

// semabench is the paper's benchmark: goroutines take a semaphore of one permit, advance a PRNG
// that all share by one step, post, and advance one of their own.
func semabench(goroutines int) locks.Bench {
	return locks.Bench{Name: fmt.Sprintf("semabench-%d", goroutines), Goroutines: goroutines, Impls: []locks.Impl{
		sharedStep(measure.NameFarad, func() peers.Locker { return twa.New(1) }),
		sharedStep(locks.NameTicket, func() peers.Locker { return tickets{ticket.New(1)} }),
		sharedStep(locks.NameSem, func() peers.Locker { return semaphore.New(1) }),
		sharedStep(peers.NameXSync, func() peers.Locker { return xsemaphore.NewWeighted(1) }),
	}}
}

// sharedStep is semabench with the given semaphore.
func sharedStep(name string, create func() peers.Locker) locks.Impl {
	return locks.Impl{Name: name, Make: func() locks.Loop {
		s, shared := create(), uint64(1)
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				if err := s.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				shared = measure.Xorshift(shared)
				s.Release(1)
				x = measure.Xorshift(x)
			}
			return x, nil
		}
	}}
}

// Benches are the workloads of the waiting array.
var Benches = []locks.Bench{
	twaUncontended,
	semabench(1), semabench(2), semabench(8), semabench(64), semabench(256), semabench(1024),
	chainsbench(8), chainsbench(64), chainsbench(1024),
	policiesbench(2), policiesbench(8), policiesbench(64),
}
