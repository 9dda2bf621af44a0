package array

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// everyPolicy runs f for each policy at one processor and at several, and fails if it does not come
// to an end.
func everyPolicy(t *testing.T, f func(t *testing.T, p policy)) {
	for _, p := range policies() {
		for _, procs := range []int{1, 2, 4} {
			t.Run(p.name, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				f(t, p)
			})
		}
	}
}

// One permit excludes, and no goroutine waits for ever, however they wait.
func TestPoliciesExclude(t *testing.T) {
	const goroutines, rounds = 8, 100
	everyPolicy(t, func(t *testing.T, p policy) {
		s, count := p.create(), 0
		benchtest.Together(t, goroutines, p.onThread, func(int) {
			for range rounds {
				if err := s.Acquire(context.Background(), 1); err != nil {
					t.Error(err)
					return
				}
				count++
				s.Release(1)
			}
		})
		if count != goroutines*rounds {
			t.Errorf("%d, not %d", count, goroutines*rounds)
		}
	})
}

// Waiters get permits in the order of their arrival. (The order of the other semaphores is tested
// in their packages.)
func TestPoliciesKeepTheOrder(t *testing.T) {
	const goroutines = 6
	everyPolicy(t, func(t *testing.T, p policy) {
		s := p.create()
		waiting := waitingFor(s)
		if waiting == nil {
			t.Skip("elsewhere")
		}
		if err := s.Acquire(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
		var order, want []int
		var wg sync.WaitGroup
		for g := range goroutines {
			want = append(want, g)
			wg.Go(func() {
				if p.onThread {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
				if err := s.Acquire(context.Background(), 1); err != nil {
					t.Error(err)
				}
				order = append(order, g)
				s.Release(1)
			})
			for start := time.Now(); waiting() < int64(g+1); runtime.Gosched() {
				if time.Since(start) > 20*time.Second {
					t.Fatal("it does not come")
				}
			}
		}
		s.Release(1)
		if !measure.Within(20*time.Second, &wg) {
			t.Fatal("a goroutine waits for ever")
		}
		if !slices.Equal(order, want) {
			t.Errorf("served in the order %v", order)
		}
	})
}

// waitingFor returns a function that counts the waiters for s, whose permit is taken, or nil.
func waitingFor(s peers.Locker) func() int64 {
	switch s := s.(type) {
	case *bareSemaphore:
		return func() int64 { return s.ticket.Load() - s.grant.Load() }
	case *delegatedSemaphore:
		return func() int64 { return s.ticket.Load() - s.grant.Load() }
	case *turns:
		return func() int64 { return s.takes.Load() - s.posts.Load() }
	}
	return nil
}

// While a goroutine waits in one lane, others pass in another as often as they like. One semaphore
// of as many permits, and one permit that goes from lane to lane, let none pass.
func TestLanesDoNotBoundTheBypass(t *testing.T) {
	ctx := context.Background()
	ls := newLanes(2, 1)
	if err := ls[0].Acquire(ctx, 1); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := ls[0].Acquire(ctx, 1); err != nil {
			t.Error(err)
		}
	})
	for ls[0].Waiting() == 0 {
		runtime.Gosched()
	}
	for range 1000 {
		if !ls[1].TryAcquire(1) {
			t.Fatal("the other lane waits, too")
		}
		ls[1].Release(1)
	}
	if ls[0].Waiting() != 1 {
		t.Error("no goroutine has been passed")
	}
	ls[0].Release(1)
	if !measure.Within(20*time.Second, &wg) {
		t.Fatal("a goroutine waits for ever")
	}
}

// In the workload the mutex behind the lanes excludes, and every take is returned to its lane.
func TestLaneStepsReturnWhatTheyTake(t *testing.T) {
	for _, im := range policiesbench(8).Impls {
		loop := im.Make()
		benchtest.Together(t, 8, false, func(g int) {
			if _, err := loop(context.Background(), g, 50, uint64(g+1)); err != nil {
				t.Error(im.Name, err)
			}
		})
	}
}

func TestPoliciesRun(t *testing.T) {
	for _, n := range []int{2, 8} {
		w := policiesbench(n)
		for _, im := range w.Impls {
			s, err := locks.Measure(
				w.Goroutines,
				im,
				measure.Timing{Window: 3 * time.Millisecond, Warmup: time.Millisecond, Limit: 10 * time.Second},
			)
			if err != nil || s.NsPerOp <= 0 {
				t.Errorf("%s/%s: %v, %v ns/op", w.Name, im.Name, err, s.NsPerOp)
			}
		}
	}
}
