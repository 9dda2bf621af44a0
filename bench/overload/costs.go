package overload

import (
	"context"
	"fmt"
	"runtime"

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
	trees(1000),
}

// nameAccounts is a semaphore whose tenants are flat, and have accounts as those of a tree do.
const nameAccounts = "farad, flat accounts"

// A node is a tenant of a tree of three levels: ten organisations of ten teams, each of which has
// leaves. It is found by its address, so its parent costs no look-up.
type node struct{ parent any }

func parent(tenant any) any { return tenant.(*node).parent }

// trees has each goroutine be a leaf of a tree, which takes the only permit, yields and releases
// it.
func trees(goroutines int) locks.Bench {
	var teams, leaves []any
	for range 10 {
		organisation := &node{}
		for range 10 {
			teams = append(teams, &node{organisation})
		}
	}
	for i := range goroutines {
		leaves = append(leaves, &node{teams[i%len(teams)]})
	}
	with := func(opts ...semaphore.Option) func() locks.Loop {
		opts = append(opts, semaphore.WithShares(nil))
		return func() locks.Loop { return asLeaf(semaphore.New(1, opts...), leaves) }
	}
	return locks.Bench{Name: fmt.Sprintf("tree-yield-%d", goroutines), Goroutines: goroutines, Impls: []locks.Impl{
		{Name: measure.NameFarad, Make: with(semaphore.WithParent(parent))},
		{Name: locks.NameFlatShares, Make: with()},
		{Name: nameAccounts, Make: with(semaphore.WithMaxInUse(func(any) int64 { return -1 }))},
	}}
}

func asLeaf(s *semaphore.Semaphore, leaves []any) locks.Loop {
	return func(_ context.Context, g, n int, x uint64) (uint64, error) {
		tenant := s.As(leaves[g])
		for range n {
			if err := tenant.Acquire(context.Background(), 1); err != nil {
				return x, err
			}
			x = measure.Xorshift(x)
			runtime.Gosched() // so that all others wait
			tenant.Release(1)
		}
		return x, nil
	}
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
