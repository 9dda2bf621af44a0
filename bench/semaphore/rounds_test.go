package semaphore

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

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

var short = measure.Timing{Warmup: time.Millisecond, Window: 20 * time.Millisecond, Limit: 5 * time.Second}

// counting counts the goroutines in the critical section of the real loop.
type counting struct {
	peers.Locker
	inside, most atomic.Int64
}

func (c *counting) Acquire(ctx context.Context, n int64) error {
	if err := c.Locker.Acquire(ctx, n); err != nil {
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
	c.Locker.Release(n)
}

func TestLockersKeepToTheirPermits(t *testing.T) {
	for _, im := range peers.Lockers() {
		for _, w := range []Workload{contended(8, 1), yieldHeld(8, 2), yieldHeld(64, 3)} {
			for _, f := range measure.AllForms {
				c := Cell{w, f}
				var counted *counting
				_, err := measureCell(c, Implementation{Name: im.Name, make: func(permits int64) peers.Locker {
					counted = &counting{Locker: im.Make(permits)}
					return counted
				}}, short)
				if err != nil {
					t.Fatal(err)
				}
				if most := counted.most.Load(); most > int64(w.permits) || w.yield && most != int64(w.permits) {
					t.Errorf("%s/%s: up to %d inside with %d permits", c, im.Name, most, w.permits)
				}
				if inside := counted.inside.Load(); inside != 0 {
					t.Errorf("%s/%s: %d inside at the end", c, im.Name, inside)
				}
			}
		}
	}
}

func TestRingPassesEveryTokenEverywhere(t *testing.T) {
	c := Cell{yieldHeld(64, 2), measure.Background}
	g := measure.NewGang(c.goroutines)
	startRing(g, c)
	close(g.Gate)
	time.Sleep(20 * time.Millisecond)
	g.Stop.Store(true)
	if err := g.Wait(short.Limit); err != nil {
		t.Fatal(err)
	}
	// Tokens do not overtake each other: no goroutine is ahead by more than the tokens there are.
	counts := make([]int64, c.goroutines)
	if g.Snapshot(counts) == 0 {
		t.Fatal("no hop")
	}
	for i, n := range counts {
		if d := n - counts[0]; d < -int64(c.permits) || d > int64(c.permits) {
			t.Fatalf("goroutine %d made %d hops, goroutine 0 %d", i, n, counts[0])
		}
	}
}

// unequal gives one of its two goroutines, which it knows by their contexts, three turns for each
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
		c := Cell{contended(2, 1), measure.Own}
		s, err := measureCell(
			c,
			Implementation{make: func(int64) peers.Locker { return new(unequal) }},
			measure.Timing{Warmup: time.Second, Window: 10 * time.Second, Limit: time.Minute},
		)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.Fairness-1.0/3) > 0.01 { // counts are published every 16 turns
			t.Errorf("fairness %.3f of %d operations, want about 1/3", s.Fairness, s.Ops)
		}
	})
}

// starving lets the first goroutine that comes acquire once, and then no more until rescue is
// closed.
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
		c := Cell{contended(2, 1), measure.Own}
		l := &starving{rescue: make(chan struct{})}
		time.AfterFunc(4*short.Window, func() { close(l.rescue) })
		s, err := measureCell(c, Implementation{make: func(int64) peers.Locker { return l }}, short)
		if err != nil {
			t.Fatal(err)
		}
		if s.Fairness != 0 || s.Ops == 0 {
			t.Errorf("fairness %v of %d operations, want 0 of some", s.Fairness, s.Ops)
		}
	})
}

func TestBrokenImplementationsAreReported(t *testing.T) {
	c := Cell{contended(2, 1), measure.Background}
	limits := measure.Timing{Window: time.Millisecond, Limit: 20 * time.Millisecond}
	boom := errors.New("boom")
	failing := Implementation{make: func(int64) peers.Locker { return &benchtest.Broken{Err: boom} }}
	if _, err := measureCell(c, failing, limits); !errors.Is(err, boom) {
		t.Errorf("failed acquires give %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	stuck := Implementation{make: func(int64) peers.Locker { return &benchtest.Broken{Err: boom, Hang: hang} }}
	if _, err := measureCell(c, stuck, limits); !errors.Is(err, measure.ErrStuck) {
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
	c := Cell{workloads[0], measure.Background}
	var s measure.Sample
	var err error
	// Work goes on between the reading of the statistics and the count of the operations. If the
	// machine stalls there, it is a large part of a short window, and a small one of a long window.
	for window := short.Window; window <= 64*short.Window; window *= 4 {
		limits := measure.Timing{Warmup: short.Warmup, Window: window, Limit: short.Limit}
		s, err = measureCell(c, Implementation{make: func(int64) peers.Locker { return new(garbage) }}, limits)
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
	if s, err = measureCell(c, Implementation{make: peers.NewFloor}, short); err != nil || s.AllocsPerOp > 0.01 {
		t.Errorf("the floor allocates %.2f times per operation (%v)", s.AllocsPerOp, err)
	}
}

func TestRoundsAreInterleavedAndComplete(t *testing.T) {
	var order []string
	make1 := func(name string) Implementation {
		return Implementation{Name: name, make: func(int64) peers.Locker {
			order = append(order, name)
			return peers.NewFloor(1)
		}}
	}
	impls := []Implementation{make1("a"), make1("b"), make1("c")}
	rs := Plan(impls, regexp.MustCompile("^uncontended/shared/[abc]$").MatchString)
	if len(rs) != 1 || len(rs[0].Impls) != 3 {
		t.Fatalf("plan of one cell and three implementations: %+v", rs)
	}
	const rounds = 8
	orders := map[string]bool{}
	for round := range rounds {
		order = nil
		timing := measure.Timing{Window: time.Millisecond, Limit: time.Second}
		if err := RunRound(round, rs, timing, func(string) {}); err != nil {
			t.Fatal(err)
		}
		orders[order[0]+order[1]+order[2]] = true
	}
	if len(orders) < 2 {
		t.Errorf("the same order in all rounds: %v", orders)
	}
	for _, im := range impls {
		if n := len(rs[0].Samples.Column(im.Name, measure.NsPerOp)); n != rounds {
			t.Errorf("%s has %d samples of %d rounds", im.Name, n, rounds)
		}
	}
}
