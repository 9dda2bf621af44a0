package main

import (
	"context"
	"fmt"
	"sync/atomic"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

var (
	twaSemaphore = lockImpl{nameFarad, func() lockLoop {
		s := twa.New(1)
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
	twaMutex = lockImpl{nameFarad, func() lockLoop {
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
	faradSemaphore = lockImpl{nameFarad, func() lockLoop {
		s := semaphore.New(1)
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
	// additions is what a ticket semaphore cannot beat: one addition each way. It does not wait.
	additions = lockImpl{nameAdditions, func() lockLoop {
		var ticket, grant atomic.Int64
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				ticket.Add(1)
				x = xorshift(x)
				grant.Add(1)
			}
			return x, nil
		}
	}}
)

// semabench is the paper's benchmark: goroutines take a semaphore of one permit, advance a PRNG that all share by one step, post, and
// advance one of their own.
func semabench(goroutines int) lockWorkload {
	return lockWorkload{fmt.Sprintf("semabench-%d", goroutines), goroutines, []lockImpl{
		{nameFarad, func() lockLoop {
			s, shared := twa.New(1), uint64(1)
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
		}},
		{nameTicket, func() lockLoop {
			s, shared := twa.NewTicket(1), uint64(1)
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
		}},
		{nameSem, func() lockLoop {
			s, shared := semaphore.New(1), uint64(1)
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
		}},
		{nameXSync, func() lockLoop {
			s, shared := xsemaphore.NewWeighted(1), uint64(1)
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
		}},
	}}
}
