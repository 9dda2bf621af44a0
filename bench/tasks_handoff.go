package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// handOff is the workload yieldHeld for poll tasks, beside x/sync's semaphore for goroutines.
func handOff(tasks, permits int) taskWorkload {
	return taskWorkload{
		name:    fmt.Sprintf("hand-off-%dx%d", tasks, permits),
		workers: []int{1, 2},
		farad:   func(l *lap) error { return handOffTasks(l, tasks, permits) },
		peer:    taskImpl{nameXSync, func(l *lap) error { return handOffGoroutines(l, nameXSync, tasks, permits) }},
	}
}

// share returns how many turns each of n takes, so that it comes to about todo, and how many that
// are.
func (l *lap) share(n int) (each, all int) {
	each = (l.todo + n - 1) / n
	return each, each * n
}

// A turnTask takes turns: a permit, a step of a PRNG, a yield, the permit back.
type turnTask struct {
	rt.Task
	sem    *semaphore.Semaphore
	permit semaphore.AcquireFuture
	inside bool
	left   int
	x      uint64
	err    error
	ended  *sync.WaitGroup
}

// Poll implements [rt.Poller].
func (t *turnTask) Poll(cx *rt.Context) bool {
	if t.inside {
		t.inside = false
		t.sem.Release(1)
		if t.left--; t.left == 0 {
			t.ended.Done()
			return true
		}
		t.permit.Init(t.sem, 1)
	}
	if !cx.Poll(&t.permit) {
		return false
	}
	if t.err = t.permit.Err(); t.err != nil {
		t.ended.Done()
		return true
	}
	t.x = xorshift(t.x)
	t.inside = true
	return cx.Yield()
}

func handOffTasks(l *lap, n, permits int) error {
	ex := l.executor()
	sem := semaphore.New(int64(permits))
	each, all := l.share(n)
	var ended sync.WaitGroup
	ended.Add(n)
	tasks := make([]turnTask, n)
	for i := range tasks {
		t := &tasks[i]
		t.sem, t.left, t.x, t.ended = sem, each, uint64(i+1), &ended
		t.permit.Init(sem, 1)
	}
	err := l.clock(all, func() error {
		for i := range tasks {
			if err := ex.Spawn(&tasks[i]); err != nil {
				return err
			}
		}
		ended.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	for i := range tasks {
		if tasks[i].err != nil {
			return tasks[i].err
		}
	}
	if free := sem.Available(); free != int64(permits) {
		return fmt.Errorf("%d of %d permits are free at the end", free, permits)
	}
	return shutdown(ex)
}

func handOffGoroutines(l *lap, name string, n, permits int) error {
	some := lockers()
	sem := some[slices.IndexFunc(some, func(im implementation) bool { return im.name == name })].make(int64(permits))
	each, all := l.share(n)
	g := newGang(n)
	for i := range n {
		g.spawn(i, func(c *counter) error {
			x := uint64(i + 1)
			for range each {
				if err := sem.Acquire(context.Background(), 1); err != nil {
					return err
				}
				x = xorshift(x)
				runtime.Gosched()
				sem.Release(1)
			}
			c.publish(int64(each), x)
			return nil
		})
	}
	return l.clock(all, func() error {
		close(g.gate)
		g.wg.Wait()
		return g.err
	})
}
