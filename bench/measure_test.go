package main

import (
	"context"
	"errors"
	"math"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var short = timing{warmup: time.Millisecond, window: 20 * time.Millisecond, limit: 5 * time.Second}

// counting counts who is in the critical section of the real loop.
type counting struct {
	locker
	inside, most atomic.Int64
}

func (c *counting) Acquire(ctx context.Context, n int64) error {
	if err := c.locker.Acquire(ctx, n); err != nil {
		return err
	}
	for now := c.inside.Add(n); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			return nil
		}
	}
}

func (c *counting) Release(n int64) {
	c.inside.Add(-n)
	c.locker.Release(n)
}

func TestLockersKeepToTheirPermits(t *testing.T) {
	for _, im := range lockers() {
		for _, w := range []workload{contended(8, 1), yieldHeld(8, 2), yieldHeld(64, 3)} {
			for _, f := range allForms {
				c := cell{w, f}
				var counted *counting
				_, err := measure(c, implementation{name: im.name, make: func(permits int64) locker {
					counted = &counting{locker: im.make(permits)}
					return counted
				}}, short)
				if err != nil {
					t.Fatal(err)
				}
				if most := counted.most.Load(); most > int64(w.permits) || w.yield && most != int64(w.permits) {
					t.Errorf("%s/%s: up to %d inside with %d permits", c, im.name, most, w.permits)
				}
				if inside := counted.inside.Load(); inside != 0 {
					t.Errorf("%s/%s: %d inside at the end", c, im.name, inside)
				}
			}
		}
	}
}

func TestFloorServesOneGoroutine(t *testing.T) {
	f := newFloor(1).(*floor)
	if err := f.Acquire(t.Context(), 1); err != nil || f.permits.Load() != 0 {
		t.Fatalf("acquire: %v, %d permits left", err, f.permits.Load())
	}
	if f.Release(1); f.permits.Load() != 1 {
		t.Fatalf("release: %d permits", f.permits.Load())
	}
}

func TestRingPassesEveryTokenEverywhere(t *testing.T) {
	c := cell{yieldHeld(64, 2), background}
	g := newGang(c.goroutines)
	startRing(g, c)
	close(g.gate)
	time.Sleep(20 * time.Millisecond)
	g.stop.Store(true)
	if err := g.wait(short.limit); err != nil {
		t.Fatal(err)
	}
	// Tokens do not overtake each other: no goroutine is ahead by more than the tokens there are.
	counts := make([]int64, c.goroutines)
	if g.snapshot(counts) == 0 {
		t.Fatal("no hop")
	}
	for i, n := range counts {
		if d := n - counts[0]; d < -int64(c.permits) || d > int64(c.permits) {
			t.Fatalf("goroutine %d made %d hops, goroutine 0 %d", i, n, counts[0])
		}
	}
}

// unequal lets one of its two goroutines, told apart by their contexts, have three turns for each
// of the other. The time is that of a bubble: however busy the machine is, a turn takes as long as
// it says.
type unequal struct {
	once sync.Once
	slow context.Context // the first that came
}

func (u *unequal) Acquire(ctx context.Context, _ int64) error {
	u.once.Do(func() { u.slow = ctx })
	if ctx == u.slow {
		time.Sleep(3 * time.Millisecond)
	} else {
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (u *unequal) Release(int64) {}

func TestFairnessOfUnequalTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cell{contended(2, 1), own}
		s, err := measure(
			c,
			implementation{make: func(int64) locker { return new(unequal) }},
			timing{warmup: time.Second, window: 10 * time.Second, limit: time.Minute},
		)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.Fairness-1.0/3) > 0.01 { // counts are published every 16 turns
			t.Errorf("fairness %.3f of %d operations, want about 1/3", s.Fairness, s.Ops)
		}
	})
}

// starving lets the first goroutine that comes acquire once, and then no more until it is told.
type starving struct {
	mu     sync.Mutex
	victim context.Context
	rescue chan struct{}
}

func (s *starving) Acquire(ctx context.Context, _ int64) error {
	s.mu.Lock()
	first, again := s.victim == nil, s.victim == ctx
	if first {
		s.victim = ctx
	}
	s.mu.Unlock()
	if again {
		<-s.rescue
	} else {
		time.Sleep(time.Microsecond) // in a bubble: the time would stand still
	}
	return nil
}

func (s *starving) Release(int64) {}

func TestFairnessOfStarvation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cell{contended(2, 1), own}
		l := &starving{rescue: make(chan struct{})}
		time.AfterFunc(4*short.window, func() { close(l.rescue) })
		s, err := measure(c, implementation{make: func(int64) locker { return l }}, short)
		if err != nil {
			t.Fatal(err)
		}
		if s.Fairness != 0 || s.Ops == 0 {
			t.Errorf("fairness %v of %d operations, want 0 of some", s.Fairness, s.Ops)
		}
	})
}

// broken fails, or lets nobody leave.
type broken struct {
	err  error
	hang chan struct{}
}

func (b *broken) Acquire(context.Context, int64) error {
	if b.hang != nil {
		<-b.hang
	}
	return b.err
}

func (b *broken) Release(int64) {}

func TestBrokenImplementationsAreReported(t *testing.T) {
	c := cell{contended(2, 1), background}
	limits := timing{window: time.Millisecond, limit: 20 * time.Millisecond}
	boom := errors.New("boom")
	failing := implementation{make: func(int64) locker { return &broken{err: boom} }}
	if _, err := measure(c, failing, limits); !errors.Is(err, boom) {
		t.Errorf("failed acquires give %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	stuck := implementation{make: func(int64) locker { return &broken{err: boom, hang: hang} }}
	if _, err := measure(c, stuck, limits); !errors.Is(err, errStuck) {
		t.Errorf("goroutines that never return give %v", err)
	}
}

// garbage allocates once an operation.
type garbage struct{ last atomic.Pointer[[64]byte] }

func (g *garbage) Acquire(context.Context, int64) error {
	g.last.Store(new([64]byte))
	return nil
}

func (g *garbage) Release(int64) {}

func TestAllocationsAreCounted(t *testing.T) {
	c := cell{workloads[0], background}
	var s sample
	var err error
	// Work goes on between the reading of the statistics and the count of the operations. If the
	// machine stalls there, it is a large part of a short window, and a small one of a long window.
	for window := short.window; window <= 64*short.window; window *= 4 {
		limits := timing{warmup: short.warmup, window: window, limit: short.limit}
		s, err = measure(c, implementation{make: func(int64) locker { return new(garbage) }}, limits)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.AllocsPerOp-1) <= 0.5 {
			break
		}
	}
	if math.Abs(s.AllocsPerOp-1) > 0.5 {
		t.Errorf("%.2f allocations per operation, want 1", s.AllocsPerOp)
	}
	if s, err = measure(c, implementation{make: newFloor}, short); err != nil || s.AllocsPerOp > 0.01 {
		t.Errorf("the floor allocates %.2f times per operation (%v)", s.AllocsPerOp, err)
	}
}

func TestRoundsAreInterleavedAndComplete(t *testing.T) {
	var order []string
	make1 := func(name string) implementation {
		return implementation{name: name, make: func(int64) locker {
			order = append(order, name)
			return newFloor(1)
		}}
	}
	impls := []implementation{make1("a"), make1("b"), make1("c")}
	rs := plan(impls, regexp.MustCompile("^uncontended/shared/[abc]$").MatchString)
	if len(rs) != 1 || len(rs[0].impls) != 3 {
		t.Fatalf("plan of one cell and three implementations: %+v", rs)
	}
	const rounds = 8
	orders := map[string]bool{}
	for round := range rounds {
		order = nil
		if err := runRound(round, rs, timing{window: time.Millisecond, limit: time.Second}, func(string) {}); err != nil {
			t.Fatal(err)
		}
		orders[order[0]+order[1]+order[2]] = true
	}
	if len(orders) < 2 {
		t.Errorf("the same order in all rounds: %v", orders)
	}
	for _, im := range impls {
		if n := len(rs[0].Samples.column(im.name, nsPerOp)); n != rounds {
			t.Errorf("%s has %d samples of %d rounds", im.name, n, rounds)
		}
	}
}

func TestContextForms(t *testing.T) {
	const n = 3
	for _, f := range allForms {
		ctxs, cancels := f.contexts(n)
		cancels[1]()
		for i, ctx := range ctxs {
			ended := ctx.Err() != nil
			if want := f == shared || f == own && i == 1; ended != want {
				t.Errorf("%s: context %d ended: %v, want %v", f, i, ended, want)
			}
		}
		for _, cancel := range cancels {
			cancel()
		}
	}
}
