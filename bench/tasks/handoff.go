package tasks

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// handOff is the workload yieldHeld for poll tasks; its peer is x/sync's semaphore for goroutines.
func handOff(tasks, permits int) workload {
	return workload{
		name:    fmt.Sprintf("hand-off-%dx%d", tasks, permits),
		workers: []int{1, 2},
		farad:   func(l *measure.Lap) error { return handOffTasks(l, tasks, permits) },
		peer: measure.LapImpl{
			Name: peers.NameXSync,
			Run:  func(l *measure.Lap) error { return handOffGoroutines(l, peers.NameXSync, tasks, permits) },
		},
	}
}

// A turnTask takes turns: a permit, a step of a PRNG, a yield, the permit back.
type turnTask struct {
	rt.Task
	sem    *semaphore.Semaphore
	permit waiter.Future
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
		t.permit.Release()
		if t.left--; t.left == 0 {
			t.ended.Done()
			return true
		}
		t.sem.Bind(&t.permit, 1)
	}
	if !cx.Poll(&t.permit) {
		return false
	}
	if t.err = t.permit.Err(); t.err != nil {
		t.ended.Done()
		return true
	}
	t.x = measure.Xorshift(t.x)
	t.inside = true
	return cx.Yield()
}

func handOffTasks(l *measure.Lap, n, permits int) error {
	ex := executorOf(l)
	sem := semaphore.New(int64(permits))
	each, all := l.Share(n)
	var ended sync.WaitGroup
	ended.Add(n)
	tasks := make([]turnTask, n)
	for i := range tasks {
		t := &tasks[i]
		t.sem, t.left, t.x, t.ended = sem, each, uint64(i+1), &ended
		sem.Bind(&t.permit, 1)
	}
	err := l.Clock(all, func() error {
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

func handOffGoroutines(l *measure.Lap, name string, n, permits int) error {
	sem := peers.LockerOf(name).Make(int64(permits))
	each, all := l.Share(n)
	g := measure.NewGang(n)
	for i := range n {
		g.Spawn(i, func(c *measure.Counter) error {
			x := uint64(i + 1)
			for range each {
				if err := sem.Acquire(context.Background(), 1); err != nil {
					return err
				}
				x = measure.Xorshift(x)
				runtime.Gosched()
				sem.Release(1)
			}
			c.Publish(int64(each), x)
			return nil
		})
	}
	return l.Clock(all, func() error {
		close(g.Gate)
		g.WG.Wait()
		return g.Err
	})
}
