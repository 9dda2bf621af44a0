package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/twa"
)

// A ring is where runners wait for the baton. Pass number n, from 0, makes it the turn of runner
// (n+1) mod the number of runners.
type ring interface {
	// await waits until there have been n passes, and reports true; or until the race is over. It
	// counts how often it looks.
	await(ctx context.Context, runner int, n int64, looks *int64) bool
	// pass passes the baton to the next runner: it is pass number n.
	pass(next int, n int64)
	// end ends the race for the runners that wait.
	end()
}

// The ways to wait.
var ways = []struct {
	name string
	ring func(runners int) ring
}{
	{"sync.Cond", func(int) ring { return newShared() }},
	{"twa.Array", func(runners int) ring { return &keyed{array: twa.NewArray(runners), keys: make([]byte, runners)} }},
	{"twa.EventCount", func(int) ring { return new(counted) }},
}

// shared is a condition variable for all.
type shared struct {
	mu     sync.Mutex
	cond   *sync.Cond
	passed int64 // guarded by mu
	over   bool  // guarded by mu
}

func newShared() *shared {
	s := new(shared)
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *shared) await(_ context.Context, _ int, n int64, looks *int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		*looks++
		if s.passed >= n || s.over {
			return s.passed >= n && !s.over
		}
		s.cond.Wait()
	}
}

func (s *shared) pass(int, int64) {
	s.mu.Lock()
	s.passed++
	s.mu.Unlock()
	s.cond.Broadcast()
}

func (s *shared) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cond.Broadcast()
}

// keyed has a key for each runner.
type keyed struct {
	array  *twa.Array
	keys   []byte // only their addresses matter
	passed atomic.Int64
}

func (k *keyed) await(ctx context.Context, runner int, n int64, looks *int64) bool {
	return k.array.WaitUntil(ctx, &k.keys[runner], func() bool {
		*looks++
		return k.passed.Load() >= n
	}) == nil
}

func (k *keyed) pass(next int, _ int64) {
	k.passed.Add(1)
	k.array.Signal(&k.keys[next])
}

func (k *keyed) end() {} // the context does

// counted is an event count.
type counted struct{ passes twa.EventCount }

func (c *counted) await(ctx context.Context, _ int, n int64, looks *int64) bool {
	*looks++ // the woken runner need not look again
	return c.passes.Await(ctx, n) == nil
}

func (c *counted) pass(int, int64) { c.passes.Advance() }
func (c *counted) end()            {} // the context does

// A result is what became of a race.
type result struct {
	runs  []int64 // how often each runner has had the baton
	looks int64
	clash int64 // how often the baton was in two hands
	time  time.Duration
}

// race lets the runners run until their time is over, or ctx is done.
func race(ctx context.Context, o options, r ring) result {
	ctx, cancel := context.WithTimeout(ctx, o.time)
	defer cancel()
	start := time.Now()
	res := result{runs: make([]int64, o.runners)}
	var hands, clashes, looks atomic.Int64
	var wg sync.WaitGroup
	for i := range o.runners {
		wg.Go(func() {
			var mine int64
			for n := int64(i); r.await(ctx, i, n, &mine); n += int64(o.runners) {
				if hands.Add(1) != 1 {
					clashes.Add(1)
				}
				res.runs[i]++
				hands.Add(-1)
				r.pass((i+1)%o.runners, n)
			}
			looks.Add(mine)
		})
	}
	<-ctx.Done()
	res.time = time.Since(start)
	r.end()
	wg.Wait()
	res.looks, res.clash = looks.Load(), clashes.Load()
	return res
}

// passes is how often the baton was passed.
func (r result) passes() (n int64) {
	for _, m := range r.runs {
		n += m
	}
	return n
}

// perSecond is how often it was passed in a second.
func (r result) perSecond() int64 { return int64(float64(r.passes()) / max(r.time, 1).Seconds()) }

// laps is how often it has come round.
func (r result) laps() int64 { return slices.Min(r.runs) }

func (r result) looksPerPass() float64 { return float64(r.looks) / float64(max(r.passes(), 1)) }

// check returns what is wrong.
func (r result) check() error {
	if r.clash > 0 {
		return fmt.Errorf("the baton was in two hands, %d times", r.clash)
	}
	for i, n := range r.runs {
		if n != r.runs[0] && n != r.runs[0]-1 || i > 0 && n > r.runs[i-1] {
			return fmt.Errorf("runner %d has run %d times, and runner 0 %d times", i, n, r.runs[0])
		}
	}
	return nil
}
