package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/sync/capacitor"
)

// A contest is that of some goroutines for a lock.
type contest struct {
	options
	kind kind
	lock sync.Locker

	// Guarded by lock.
	shared int64  // all turns
	random uint64 // state of a PRNG

	begun   time.Time // written while the lock keeps all of them out
	stop    atomic.Bool
	runners []runner
}

// A runner is one of the goroutines. It has a cache line of its own, or two.
type runner struct {
	turns   atomic.Int64
	longest time.Duration // between two of its turns
	_       [112]byte
}

func newContest(k kind, o options) *contest {
	return &contest{options: o, kind: k, lock: k.create(), random: 1, runners: make([]runner, o.goroutines)}
}

// run has the goroutines contend until the time is over, or ctx is done.
func (c *contest) run(ctx context.Context) result {
	var ready, end sync.WaitGroup
	ready.Add(len(c.runners))
	c.lock.Lock() // until all are there
	for i := range c.runners {
		end.Go(func() {
			ready.Done()
			c.compete(&c.runners[i])
		})
	}
	ready.Wait()
	c.begun = time.Now()
	c.lock.Unlock()

	ctx, cancel := context.WithTimeout(ctx, c.time)
	defer cancel()
	<-ctx.Done()
	c.stop.Store(true)
	end.Wait()
	return c.result(time.Since(c.begun))
}

// compete is the life of a goroutine. It reads the clock between its turns, not while it has the
// lock.
func (c *contest) compete(r *runner) {
	var last time.Duration // when its last turn ended
	for n := int64(1); !c.stop.Load(); n++ {
		c.lock.Lock()
		c.shared++
		for range c.inside {
			c.random ^= c.random << 13
			c.random ^= c.random >> 7
			c.random ^= c.random << 17
		}
		c.lock.Unlock()
		r.turns.Store(n)
		now := time.Since(c.begun)
		r.longest = max(r.longest, now-last)
		last = now
	}
}

// scale returns how many turns a bar is long that goes all the way: as many as the first will have
// had in the end, if so much time has passed.
func (c *contest) scale(passed time.Duration) int64 {
	var most int64
	for i := range c.runners {
		most = max(most, c.runners[i].turns.Load())
	}
	part := min(max(float64(passed)/float64(c.time), 0.01), 1)
	return int64(float64(most) / part)
}

// A result is what came of a contest.
type result struct {
	kind        kind
	elapsed     time.Duration
	shared      int64
	turns       []int64 // of each goroutine
	longestWait time.Duration
	stats       *capacitor.Stats // nil: the lock has none
}

// result is called when all have ended.
func (c *contest) result(elapsed time.Duration) result {
	r := result{kind: c.kind, elapsed: elapsed, shared: c.shared}
	for i := range c.runners {
		r.turns = append(r.turns, c.runners[i].turns.Load())
		r.longestWait = max(r.longestWait, c.runners[i].longest)
	}
	if l, ok := c.lock.(observedLock); ok {
		s := l.Stats()
		r.stats = &s
	}
	return r
}

func (r result) perSecond() float64 { return float64(r.shared) / r.elapsed.Seconds() }

// nanoseconds returns the time of a turn.
func (r result) nanoseconds() float64 { return float64(r.elapsed) / float64(max(r.shared, 1)) }

// fairness returns how many turns the last has had for each of the first.
func (r result) fairness() float64 {
	return float64(slices.Min(r.turns)) / float64(max(slices.Max(r.turns), 1))
}

// bound returns by how many one can be overtaken: those of the express lane, for itself and for
// each that can be in the queue before it.
func (r result) bound() int64 { return int64(len(r.turns)) * capacitor.Express }

// check says what cannot be if the lock is one.
func (r result) check() error {
	var sum int64
	for _, n := range r.turns {
		sum += n
	}
	if sum != r.shared {
		return fmt.Errorf("the goroutines have had %d turns, and the counter they share says %d", sum, r.shared)
	}
	if s := r.stats; s != nil {
		if n := s.Platoons + s.Express - 1; n != sum { // without the one before the beginning
			return fmt.Errorf("the goroutines have had %d turns, and the lock says %d", sum, n)
		}
		if s.MaxOvertaken > r.bound() {
			return fmt.Errorf("one was overtaken by %d, where %d is the most", s.MaxOvertaken, r.bound())
		}
	}
	return nil
}
