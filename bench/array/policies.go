package array

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/papers/chains"
	"github.com/farad-go/farad/bench/papers/phased"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/twa"
)

// The papers' ways to wait, compared with ours: policies-N is semabench-N with semaphores that wait
// in each of them. bench/papers/phased has near and far phases. Instructions and system calls,
// which the explorer could not see through, are in the files policies_*.go. Lanes are below.

// A policy is a way to wait for a semaphore of one permit.
type policy struct {
	name     string
	create   func() peers.Locker
	polls    bool // no goroutine sleeps
	onThread bool // its goroutines are each locked to an operating system's thread
}

// fewPoll is how many goroutines may poll. With more, on few processors, an operation takes up to
// 10 ms: the holder of the permit, and the next in line, wait until all others have looked.
// bench/papers/ticket, which is measured with the policies, shows as much.
const fewPoll = 8

// arrayBuckets is how many buckets an array has: the papers' number.
const arrayBuckets = 2048

// policies are those that hold their order. Of the phased ones the name says how many are near, how
// these wait, and how the others do.
func policies() []policy {
	const spin, yield, parkLate, park = phased.Spin, phased.Yield, phased.SpinThenPark, phased.Park
	ps := []policy{
		onPhases("1: spin, spin", phased.Config{Threshold: 1, Near: spin, Far: spin}), // Listing 2
		onPhases("1: yield, yield", phased.Config{Threshold: 1, Near: yield, Far: yield}),
		onPhases("1: spin, park", phased.Config{Threshold: 1, Near: spin, Far: park}),
		onPhases("1: yield, park", phased.Config{Threshold: 1, Near: yield, Far: park}),
		onPhases("1: spin then park, park", phased.Config{Threshold: 1, Near: parkLate, Far: park}),
		onPhases("1: park, park", phased.Config{Threshold: 1, Near: park, Far: park}),
		onPhases("4: yield, park", phased.Config{Threshold: 4, Near: yield, Far: park}),
		onPhases("0: yield", phased.Config{Far: yield}),
		onPhases("0: spin then park", phased.Config{Far: parkLate}),
		onPhases("0: park", phased.Config{Far: park}),
		onPhases("0: park, conservative", phased.Config{Far: park, Conservative: true}),
		onPhases(
			"1: spin, park, conservative",
			phased.Config{Threshold: 1, Near: spin, Far: park, Conservative: true},
		),

		{name: "16 chains, walked", create: func() peers.Locker {
			return newChainSemaphore(chains.Config{Chains: 16, Wake: chains.Walked}, false)
		}},
		{name: "16 chains, delegated", create: newDelegatedSemaphore},
		{name: "4 lanes by turns", create: newTurns},
	}
	ps = append(ps, instructionPolicies...)
	return append(ps, futexPolicies...)
}

// policiesbench is semabench with all policies added.
func policiesbench(goroutines int) locks.Bench {
	impls := semabench(goroutines).Impls
	for _, p := range policies() {
		if p.polls && goroutines > fewPoll {
			continue
		}
		im := sharedStep(p.name, p.create)
		if p.onThread {
			im = onThread(im)
		}
		impls = append(impls, im)
	}
	return locks.Bench{Name: fmt.Sprintf("policies-%d", goroutines), Goroutines: goroutines, Impls: append(impls,
		laneSteps("4 permits, sync.Mutex", 1, laneCount, byNumber),
		laneSteps("4 lanes hashed, sync.Mutex", laneCount, 1, byNumber),
		laneSteps("4 lanes random, sync.Mutex", laneCount, 1, atRandom),
	)}
}

// A phasedSemaphore is one of bench/papers/phased, as a locker.
type phasedSemaphore struct{ *phased.Semaphore }

// Acquire takes a permit: one, whatever is asked for. It does not look at the context.
func (s phasedSemaphore) Acquire(context.Context, int64) error {
	s.Take()
	return nil
}

// Release gives it back.
func (s phasedSemaphore) Release(int64) { s.Post() }

func onPhases(name string, c phased.Config) policy {
	return policy{name: name, polls: c.Far == phased.Spin || c.Far == phased.Yield, create: func() peers.Locker {
		return phasedSemaphore{phased.New(phased.NewArray(arrayBuckets), 1, c)}
	}}
}

// A delegatedSemaphore is a ticket semaphore. Its post checks for each waiter on a chain whether it
// has been granted, and wakes no others. There are so few chains that 64 goroutines share them.
type delegatedSemaphore struct {
	ticket, grant atomic.Int64
	table         *chains.Table
}

func newDelegatedSemaphore() peers.Locker {
	s := &delegatedSemaphore{table: chains.New(chains.Config{Chains: 16, Wake: chains.Delegated})}
	s.grant.Store(1)
	return s
}

// Acquire takes a permit: one, whatever is asked for.
func (s *delegatedSemaphore) Acquire(ctx context.Context, _ int64) error {
	tx := s.ticket.Add(1) - 1
	if s.grant.Load() > tx {
		return nil
	}
	return s.await(ctx, tx)
}

func (s *delegatedSemaphore) await(ctx context.Context, tx int64) error {
	return s.table.WaitDelegated(ctx, chains.Ticket(only, uint64(tx)), func() bool { return s.grant.Load() > tx })
}

// Release gives it back, and wakes the next, if there is one.
func (s *delegatedSemaphore) Release(int64) {
	if g := s.grant.Add(1); s.ticket.Load() >= g {
		s.table.SignalPolite(chains.Ticket(only, uint64(g-1)))
	}
}

// laneCount is how many lanes there are.
const laneCount = 4

// turns is a semaphore of several lanes, each an inner semaphore, that are used by turns: the i'th
// take and the i'th post are for lane i modulo their number. So permits go from lane to lane, and
// as long as the lanes keep their order, so does the whole. What is gained is that the inner
// semaphores are not contended; the two counters are.
type turns struct {
	takes atomic.Int64
	_     [measure.FalseSharing - 8]byte
	posts atomic.Int64
	_     [measure.FalseSharing - 8]byte
	lanes [laneCount]*phased.Semaphore
}

func newTurns() peers.Locker {
	t := new(turns)
	for i := range t.lanes {
		t.lanes[i] = phased.New(phased.NewArray(arrayBuckets/laneCount), 0, phased.Config{Far: phased.Park})
	}
	t.Release(1)
	return t
}

// Acquire takes a permit: one, whatever is asked for.
func (t *turns) Acquire(context.Context, int64) error {
	t.lanes[(t.takes.Add(1)-1)%laneCount].Take()
	return nil
}

// Release gives it back.
func (t *turns) Release(int64) { t.lanes[(t.posts.Add(1)-1)%laneCount].Post() }

// lanes are inner semaphores, of which every user picks one, and returns to it what it has taken
// from it. Each needs permits of its own: in a lane that has none left a goroutine may wait while
// another lane has some. Each keeps its order, but nothing orders the lanes: while a goroutine
// waits in one those of the others may pass without bound.
type lanes []*twa.Semaphore

func newLanes(n int, permits int64) lanes {
	ls := make(lanes, n)
	for i := range ls {
		ls[i] = twa.New(permits)
	}
	return ls
}

// byNumber has each goroutine keep its lane; atRandom picks one for each take, by the goroutine's
// own PRNG.
func byNumber(g int, _ uint64) uint64 { return uint64(g) }

func atRandom(_ int, x uint64) uint64 { return x >> 32 }

// laneSteps is semabench with lanes, which let several in, in front of a lock that lets in one: as
// in a capacitor, which is what the papers have them for.
func laneSteps(name string, n int, permits int64, pick func(g int, x uint64) uint64) locks.Impl {
	return locks.Impl{Name: name, Make: func() locks.Loop {
		ls, shared := newLanes(n, permits), uint64(1)
		var mu sync.Mutex
		return func(_ context.Context, g, n int, x uint64) (uint64, error) {
			for range n {
				lane := ls[pick(g, x)%uint64(len(ls))]
				if err := lane.Acquire(context.Background(), 1); err != nil {
					return x, err
				}
				mu.Lock()
				shared = measure.Xorshift(shared)
				mu.Unlock()
				lane.Release(1)
				x = measure.Xorshift(x)
			}
			return x, nil
		}
	}}
}
