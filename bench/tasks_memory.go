package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// How many wait when their memory is measured. What has a stack is fewer.
const (
	memoryTasks      = 1_000_000
	memoryStacks     = 100_000
	memorySmokeShare = 100
)

// A taskMemoryResult is what one of those that wait costs.
type taskMemoryResult struct {
	memoryResult
	Number int `json:"number"`
}

// runTaskMemory takes the measurements that match picks, by names such as tasks/memory/poll/farad.
func runTaskMemory(match func(string) bool, limit time.Duration, smoke bool) ([]taskMemoryResult, error) {
	tasks, stacks := memoryTasks, memoryStacks
	if smoke {
		tasks, stacks = tasks/memorySmokeShare, stacks/memorySmokeShare
	}
	type measurement struct {
		name   string
		result taskMemoryResult
		take   func(n int, limit time.Duration) (float64, error)
	}
	all := []measurement{
		{"poll/farad", taskMemoryResult{memoryResult{waiterPollTask, nameFarad, 0, taskBytes}, tasks}, pollTaskMemory},
		{
			"straight-line/farad",
			taskMemoryResult{memoryResult{"straight-line task", nameFarad, 0, ""}, stacks},
			straightLineMemory,
		},
	}
	for _, im := range lockers() {
		all = append(all, measurement{
			"goroutine/" + im.name,
			taskMemoryResult{memoryResult{waiterGoroutine, im.name, 0, goroutineTimes}, stacks},
			func(n int, limit time.Duration) (float64, error) { return goroutineMemory(im, n, limit) },
		})
	}
	var rs []taskMemoryResult
	for _, m := range all {
		if !match("tasks/memory/" + m.name) {
			continue
		}
		bytes, err := m.take(m.result.Number, limit)
		if err != nil {
			return nil, fmt.Errorf("tasks/memory/%s: %w", m.name, err)
		}
		m.result.Bytes = math.Round(bytes)
		rs = append(rs, m.result)
	}
	return rs, nil
}

// inUse returns the bytes of live objects and of stacks.
func inUse() float64 {
	live := heap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return live + float64(m.StackInuse)
}

// A waitingTask waits for a permit, and gives it back.
type waitingTask struct {
	rt.Task
	permit semaphore.AcquireFuture
	sem    *semaphore.Semaphore
}

// Poll implements [rt.Poller].
func (t *waitingTask) Poll(cx *rt.Context) bool {
	if !cx.Poll(&t.permit) {
		return false
	}
	if t.permit.Err() == nil {
		t.sem.Release(1)
	}
	return true
}

// pollTaskMemory returns the bytes per poll task when n of them wait.
func pollTaskMemory(n int, limit time.Duration) (float64, error) {
	return taskMemory(n, limit, func(ex *rt.Executor, s *semaphore.Semaphore) error { return spawnWaiting(ex, s, n) })
}

// spawnWaiting has n poll tasks wait for a permit of s.
func spawnWaiting(ex *rt.Executor, s *semaphore.Semaphore, n int) error {
	tasks := make([]waitingTask, n)
	for i := range tasks {
		t := &tasks[i]
		t.sem = s
		t.permit.Init(s, 1)
		if err := ex.Spawn(t); err != nil {
			return err
		}
	}
	return nil
}

// untilWaiting returns when n wait for a permit of s.
func untilWaiting(s *semaphore.Semaphore, n int, limit time.Duration) error {
	for start := time.Now(); s.Waiting() < n; time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return errStuck
		}
	}
	return nil
}

// straightLineMemory returns the bytes per straight-line task when n of them wait.
func straightLineMemory(n int, limit time.Duration) (float64, error) {
	if err := precede(n, limit); err != nil {
		return 0, err
	}
	return taskMemory(n, limit, func(ex *rt.Executor, s *semaphore.Semaphore) error {
		if err := precede(n, limit); err != nil {
			return err
		}
		for range n {
			rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
				var f semaphore.AcquireFuture
				f.Init(s, 1)
				err := rt.Await(cx, &f)
				if err == nil {
					s.Release(1)
				}
				return struct{}{}, err
			})
		}
		return nil
	})
}

// taskMemory returns the bytes per task when the n that spawn makes wait for a permit of its
// argument.
func taskMemory(n int, limit time.Duration, spawn func(*rt.Executor, *semaphore.Semaphore) error) (float64, error) {
	s := semaphore.New(1)
	if !s.TryAcquire(1) {
		return 0, errors.New("a new semaphore has no permit")
	}
	before := inUse()
	ex := rt.New(rt.WithWorkers(1))
	if err := spawn(ex, s); err != nil {
		return 0, err
	}
	if err := untilWaiting(s, n, limit); err != nil {
		return 0, err
	}
	after := inUse()
	s.Release(1)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := ex.Shutdown(ctx); err != nil {
		return 0, fmt.Errorf("%w %w", errStuck, err)
	}
	if free := s.Available(); free != 1 {
		return 0, fmt.Errorf("%d of 1 permits are free at the end", free)
	}
	return (after - before) / float64(n), nil
}

// precede has n goroutines block, and go again. That makes their descriptors, which the runtime
// keeps for ever and hands to those of a later crowd. And it makes all crowds begin alike: the
// runtime gives new goroutines 2 or 4 kB of stack, according to what those had that it found at the
// last collection.
func precede(n int, limit time.Duration) error {
	gone := make(chan struct{})
	c, err := gather(n, limit, func(int) { <-gone })
	if err != nil {
		return err
	}
	runtime.GC()
	close(gone)
	if !within(limit, &c.wg) {
		return errStuck
	}
	return nil
}

// goroutineMemory returns the bytes per goroutine when n of them wait.
func goroutineMemory(im implementation, n int, limit time.Duration) (float64, error) {
	if err := precede(n, limit); err != nil {
		return 0, err
	}
	l := im.make(1)
	ctx := context.Background()
	if err := l.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	before := inUse()
	if err := precede(n, limit); err != nil {
		return 0, err
	}
	c, err := gather(n, limit, func(int) { passOn(ctx, l) })
	if err != nil {
		return 0, err
	}
	after := inUse()
	l.Release(1)
	if !within(limit, &c.wg) {
		return 0, errStuck
	}
	return (after - before) / float64(n), nil
}
