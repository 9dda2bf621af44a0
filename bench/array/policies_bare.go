package array

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/papers/chains"
	"github.com/farad-go/farad/bench/peers"
)

// A bareSemaphore is Listing 2, of one permit, with whatever a thread may do while it waits: an
// instruction between two looks, or a system call. See bench/papers/phased for how it works.
type bareSemaphore struct {
	ticket, grant atomic.Int64
	bareConfig
	words []atomic.Uint32 // the array's sequences
	alone bool            // no other processor can make progress while this one spins
}

// A bareConfig configures how a bareSemaphore waits.
type bareConfig struct {
	threshold int64
	words     int // a power of two; with one, all wait on the same
	onThread  bool

	near func() // what a near waiter does between two polls of grant
	far  func() // and the others between two polls of their word; nil: they sleep

	// sleep sleeps until the word is not seq, or returns earlier.
	sleep func(word *atomic.Uint32, seq uint32, ticket int64)
	wake  func(word *atomic.Uint32, ticket int64)
}

func onBare(name string, c bareConfig) policy {
	return policy{name: name, polls: c.far != nil, onThread: c.onThread, create: func() peers.Locker {
		s := &bareSemaphore{bareConfig: c, words: make([]atomic.Uint32, c.words), alone: runtime.GOMAXPROCS(0) == 1}
		s.grant.Store(1)
		return s
	}}
}

// Acquire takes a permit: one, whatever is asked for. It does not look at the context.
func (s *bareSemaphore) Acquire(context.Context, int64) error {
	if tx := s.ticket.Add(1) - 1; s.grant.Load() <= tx {
		s.await(tx)
	}
	return nil
}

func (s *bareSemaphore) await(tx int64) {
	word := s.word(tx)
	for {
		seq := word.Load()
		if s.grant.Load() > tx-s.threshold {
			break
		}
		if s.far == nil {
			s.sleep(word, seq, tx)
			continue
		}
		for i := 1; word.Load() == seq; i++ {
			s.linger(i, s.far)
		}
	}
	for i := 1; s.grant.Load() <= tx; i++ {
		s.linger(i, s.near)
	}
}

// bareLooks is how often a spinning goroutine looks before it lets others run. Unlike a thread of
// the papers, a goroutine that spins on keeps others from running until it is preempted, after 10
// ms.
const bareLooks = 64

// linger spends the time until the i'th look.
func (s *bareSemaphore) linger(i int, instruction func()) {
	if s.alone || i%bareLooks == 0 {
		runtime.Gosched()
	} else {
		instruction()
	}
}

// Release gives it back, and pokes the one that has come near.
func (s *bareSemaphore) Release(int64) {
	tx := s.grant.Add(1) - 1 + s.threshold
	if s.ticket.Load() <= tx {
		return
	}
	word := s.word(tx)
	word.Add(1)
	if s.wake != nil {
		s.wake(word, tx)
	}
}

func (s *bareSemaphore) word(tx int64) *atomic.Uint32 {
	return &s.words[chains.Ticket(only, uint64(tx))&uint64(len(s.words)-1)]
}

// onThread has every goroutine locked to a thread while it works.
func onThread(im locks.Impl) locks.Impl {
	return locks.Impl{Name: im.Name, Make: func() locks.Loop {
		loop := im.Make()
		return func(ctx context.Context, g, n int, x uint64) (uint64, error) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return loop(ctx, g, n, x)
		}
	}}
}
