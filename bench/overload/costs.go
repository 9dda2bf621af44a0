package overload

import (
	"context"
	"fmt"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/sync/semaphore"
)

// A call is a way to acquire a permit, in a loop of its own: through an interface or a function
// value it would cost as much again.
type call func(*semaphore.Semaphore) locks.Loop

// Costs compare a semaphore with shares with one in strict order, whose loop is Acquire.
var Costs = []locks.Bench{
	cost("shares", 1, acquire, acquire),
	cost("shares-context", 1, acquireContext, acquireContext),
	cost("shares-as", 1, acquireAs, acquire),
	cost("shares-as-context", 1, acquireAsContext, acquireContext),
	cost("shares-as", 8, acquireAs, acquire),
	cost("shares-as", 64, acquireAs, acquire),
	cost("shares-as-context", 8, acquireAsContext, acquireContext),
	cost("shares-as-context", 64, acquireAsContext, acquireContext),
}

// tenantKeys are the tenants of the goroutines. They are made once, because the conversion of a
// string to any at the call would allocate.
var tenantKeys = [...]any{"anna", "ben", "clara", "david"}

// cost makes each goroutine take the only permit, do a step of a PRNG and release it.
func cost(name string, goroutines int, shared, strict call) locks.Bench {
	return locks.Bench{Name: fmt.Sprintf("%s-%d", name, goroutines), Goroutines: goroutines, Impls: []locks.Impl{
		{Name: measure.NameFarad, Make: func() locks.Loop {
			return shared(semaphore.New(1, semaphore.WithShares(nil)))
		}},
		{Name: locks.NameSem, Make: func() locks.Loop { return strict(semaphore.New(1)) }},
	}}
}

func acquire(s *semaphore.Semaphore) locks.Loop {
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			if err := s.Acquire(context.Background(), 1); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			s.Release(1)
		}
		return x, nil
	}
}

func acquireContext(s *semaphore.Semaphore) locks.Loop {
	return func(ctx context.Context, _, n int, x uint64) (uint64, error) {
		for range n {
			if err := s.Acquire(ctx, 1); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			s.Release(1)
		}
		return x, nil
	}
}

func acquireAs(s *semaphore.Semaphore) locks.Loop {
	return func(_ context.Context, g, n int, x uint64) (uint64, error) {
		tenant := tenantKeys[g%len(tenantKeys)]
		for range n {
			if err := s.As(tenant).Acquire(context.Background(), 1); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			s.Release(1)
		}
		return x, nil
	}
}

func acquireAsContext(s *semaphore.Semaphore) locks.Loop {
	return func(ctx context.Context, g, n int, x uint64) (uint64, error) {
		tenant := tenantKeys[g%len(tenantKeys)]
		for range n {
			if err := s.As(tenant).Acquire(ctx, 1); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			s.Release(1)
		}
		return x, nil
	}
}
