package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
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
	most    int64         // turns of others between two of its own
	_       [104]byte
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
	var mine int64         // all turns after its last
	for n := int64(1); !c.stop.Load(); n++ {
		c.lock.Lock()
		if n > 1 {
			r.most = max(r.most, c.shared-mine)
		}
		c.shared++
		mine = c.shared
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
	most        int64 // turns of others between two of one goroutine
}

// result is called when all have ended.
func (c *contest) result(elapsed time.Duration) result {
	r := result{kind: c.kind, elapsed: elapsed, shared: c.shared}
	for i := range c.runners {
		r.turns = append(r.turns, c.runners[i].turns.Load())
		r.longestWait = max(r.longestWait, c.runners[i].longest)
		r.most = max(r.most, c.runners[i].most)
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

// check returns an error if the turns contradict what the lock promises.
func (r result) check() error {
	var sum int64
	for _, n := range r.turns {
		sum += n
	}
	if sum != r.shared {
		return fmt.Errorf("the goroutines have had %d turns, and the counter they share says %d", sum, r.shared)
	}
	if r.most >= max(r.shared, 1) {
		return fmt.Errorf("others have had %d turns between two of one goroutine, of %d in all", r.most, r.shared)
	}
	if r.kind.check != nil {
		return r.kind.check(r)
	}
	return nil
}
