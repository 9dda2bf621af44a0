//go:build !interleave

package rt_test

import (
	"context"
	"math/bits"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// requireNoAllocations runs rounds of f in a straight-line task, and checks that they allocate
// nothing once they have begun. It counts all allocations of the process: a few belong to others.
func requireNoAllocations(t *testing.T, ex *rt.Executor, f func(cx *rt.Context) error) {
	t.Helper()
	locktest.SkipUnderRace(t)
	const rounds = 300
	require.NoError(t, run(t, ex, func(cx *rt.Context) error {
		for range 100 {
			if err := f(cx); err != nil {
				return err
			}
		}
		least := uint64(1 << 63)
		for range 5 { // what others allocate does not come each time
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range rounds {
				if err := f(cx); err != nil {
					return err
				}
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		require.Less(t, least, uint64(rounds/50), "in %d rounds", rounds)
		return nil
	}))
}

// atWorkers runs f with executors of one worker and of several: they have different queues.
func atWorkers(t *testing.T, f func(t *testing.T, ex *rt.Executor)) {
	t.Helper()
	for _, name := range []string{"solo", "two"} {
		t.Run(name, func(t *testing.T) {
			if name == "solo" {
				f(t, solo(t))
			} else {
				f(t, start(t, rt.WithWorkers(2)))
			}
		})
	}
}

// nothing is a poll task that ends at once.
type nothing struct{ rt.Task }

func (*nothing) Poll(*rt.Context) bool { return true }

func TestSpawnAllocatesNothing(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		for name, spawn := range map[string]func(cx *rt.Context, p *nothing) error{
			"from outside": func(_ *rt.Context, p *nothing) error { return ex.Spawn(p) },
			"from a task":  func(cx *rt.Context, p *nothing) error { return cx.Spawn(p) },
		} {
			t.Run(name, func(t *testing.T) {
				var p nothing
				var c rt.Completion
				requireNoAllocations(t, ex, func(cx *rt.Context) error {
					if err := spawn(cx, &p); err != nil {
						return err
					}
					c.Init(&p.Task)
					return rt.Await(cx, &c)
				})
			})
		}
	})
}

// A task that was never waited for has not even the few words that this takes, and that stay with
// the task.
func TestFirstSpawnAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ex := solo(t)
	tasks := make([]nothing, 1000)
	next := 0
	require.Zero(t, testing.AllocsPerRun(len(tasks)-1, func() {
		if ex.Spawn(&tasks[next]) != nil {
			panic("not spawned")
		}
		next++
	}))
}

// Its whole life, to its end, allocates nothing either.
func TestLifeOfATaskAllocatesNothing(t *testing.T) {
	ex := solo(t)
	tasks := make([]nothing, 2000)
	next := 0
	requireNoAllocations(t, ex, func(cx *rt.Context) error {
		if err := cx.Spawn(&tasks[next]); err != nil {
			return err
		}
		next++
		return rt.Yield(cx) // the task is polled, and ends
	})
}

// passer is a poll task that acquires, yields, and releases, again and again.
type passer struct {
	rt.Task
	s      *semaphore.Semaphore
	f      waiter.Future
	rounds int
	holds  bool
}

func (p *passer) Poll(cx *rt.Context) bool {
	if p.holds {
		p.holds = false
		p.f.Release()
		if p.rounds--; p.rounds == 0 {
			return true
		}
		p.s.Bind(&p.f, 1)
	}
	if !cx.Poll(&p.f) {
		return false
	}
	if p.f.Err() != nil {
		panic("not acquired")
	}
	p.holds = true
	return cx.Yield() // so that the others have to wait
}

func TestWaitOfAPollTaskAllocatesNothing(t *testing.T) {
	atWorkers(t, func(t *testing.T, ex *rt.Executor) {
		s := semaphore.New(1)
		var ps [3]passer
		var cs [3]rt.Completion
		requireNoAllocations(t, ex, func(cx *rt.Context) error {
			for i := range ps {
				p := &ps[i]
				p.s, p.rounds = s, 10
				s.Bind(&p.f, 1)
				if err := cx.Spawn(p); err != nil {
					return err
				}
				cs[i].Init(&p.Task)
			}
			for i := range cs {
				if err := rt.Await(cx, &cs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func TestWaitsOfAStraightLineTaskAllocateNothing(t *testing.T) {
	s, never := held(t, 1), held(t, 1)
	var f, g waiter.Future
	var timer rt.Timer
	for name, wait := range map[string]func(cx *rt.Context) error{
		"Await": func(cx *rt.Context) error {
			s.Bind(&f, 1)
			if err := rt.Await(cx, &f); err != nil {
				return err
			}
			return f.Take() // the giver gives it back
		},
		"Select": func(cx *rt.Context) error {
			never.Bind(&g, 1)
			s.Bind(&f, 1)
			if _, err := rt.Select(cx, &g, &f); err != nil {
				return err
			}
			return f.Take()
		},
		"Select with a Timer": func(cx *rt.Context) error {
			never.Bind(&g, 1)
			timer.Init(time.Nanosecond)
			_, err := rt.Select(cx, &g, &timer)
			return err
		},
		"Sleep": func(cx *rt.Context) error { return rt.Sleep(cx, time.Nanosecond) },
		"Yield": rt.Yield,
	} {
		t.Run(name, func(t *testing.T) {
			atWorkers(t, func(t *testing.T, ex *rt.Executor) {
				var stop atomic.Bool
				defer stop.Store(true)
				giver := newPoll(func(cx *rt.Context) bool {
					if s.Waiting() > 0 {
						s.Release(1)
					}
					return stop.Load() || cx.Err() != nil || cx.Yield()
				})
				if name == "Await" || name == "Select" {
					require.NoError(t, ex.Spawn(giver))
				}
				requireNoAllocations(t, ex, wait)
			})
		})
	}
}

// A task's context costs something when it is first asked for, and nothing to a task that never
// asks.
func TestContextOfATaskAllocatesOnce(t *testing.T) {
	ex := solo(t)
	requireNoAllocations(t, ex, func(cx *rt.Context) error { return cx.Context().Err() })
}

// The words that stand for a task's end are there after the first wait.
func TestFurtherWaitsForAHandleAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ex := solo(t)
	s := held(t, 1)
	waits := rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, rt.Await(cx, request(s, 1)) })
	ended := rt.Go(ex, func(*rt.Context) (int, error) { return 0, nil })
	ctx := &endsInTheWait{Context: context.Background(), done: make(chan struct{})}
	close(ctx.done)
	for name, wait := range map[string]func(cx *rt.Context) error{
		"Await":        func(cx *rt.Context) error { _, err := ended.Await(cx); return err },
		"Wait":         func(*rt.Context) error { _, err := ended.Wait(context.Background()); return err },
		"Done":         func(*rt.Context) error { <-ended.Done(); return nil },
		"Wait, queued": func(*rt.Context) error { _, _ = waits.Wait(ctx); return nil },
	} {
		t.Run(name, func(t *testing.T) { requireNoAllocations(t, ex, wait) })
	}
	require.Positive(t, ctx.asked.Load())
	s.Release(1)
}

// endsInTheWait is a context that ends when a wait has begun.
type endsInTheWait struct {
	context.Context
	done  chan struct{}
	asked atomic.Int64
}

func (c *endsInTheWait) Done() <-chan struct{} { return c.done }

// Err returns nil before a wait, and then an error.
func (c *endsInTheWait) Err() error {
	if c.asked.Add(1)%2 == 1 {
		return nil
	}
	return context.Canceled
}

func TestTasksAreSmall(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("a promise for 64 bits")
	}
	require.LessOrEqual(t, unsafe.Sizeof(rt.Task{}), uintptr(96))
	require.LessOrEqual(t, unsafe.Sizeof(rt.Timer{}), uintptr(144))
	require.LessOrEqual(t, unsafe.Sizeof(rt.Completion{}), uintptr(96))
}
