package waiters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// TaskBytesOf returns the bytes of one waiter, 0 if they were not measured.
func TaskBytesOf(rs []TaskMemoryResult, waiter, impl string) float64 {
	for _, m := range rs {
		if m.Waiter == waiter && m.Impl == impl {
			return m.Bytes
		}
	}
	return 0
}

// How many wait when their memory is measured. What has a stack is fewer.
const (
	memoryTasks      = 1_000_000
	memoryStacks     = 100_000
	memorySmokeShare = 100
)

// A TaskMemoryResult is what one of those that wait costs.
type TaskMemoryResult struct {
	MemoryResult
	Number int `json:"number"`
}

// RunTaskMemory takes the measurements that match picks, by names such as tasks/memory/poll/farad.
func RunTaskMemory(match func(string) bool, limit time.Duration, smoke bool) ([]TaskMemoryResult, error) {
	tasks, stacks := memoryTasks, memoryStacks
	if smoke {
		tasks, stacks = tasks/memorySmokeShare, stacks/memorySmokeShare
	}
	type measurement struct {
		name   string
		result TaskMemoryResult
		take   func(n int, limit time.Duration) (float64, error)
	}
	all := []measurement{
		{
			"poll/farad",
			TaskMemoryResult{MemoryResult{WaiterPollTask, measure.NameFarad, 0, table.TaskBytes}, tasks},
			pollTaskMemory,
		},
		{
			"straight-line/farad",
			TaskMemoryResult{MemoryResult{"straight-line task", measure.NameFarad, 0, ""}, stacks},
			straightLineMemory,
		},
	}
	for _, im := range peers.Lockers() {
		all = append(all, measurement{
			"goroutine/" + im.Name,
			TaskMemoryResult{MemoryResult{WaiterGoroutine, im.Name, 0, table.GoroutineTimes}, stacks},
			func(n int, limit time.Duration) (float64, error) { return goroutineMemory(im, n, limit) },
		})
	}
	var rs []TaskMemoryResult
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

// A waitingTask waits for a permit, and gives it back.
type waitingTask struct {
	rt.Task
	permit waiter.Future
}

// Poll implements [rt.Poller].
func (t *waitingTask) Poll(cx *rt.Context) bool {
	if !cx.Poll(&t.permit) {
		return false
	}
	t.permit.Release()
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
		s.Bind(&t.permit, 1)
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
			return measure.ErrStuck
		}
	}
	return nil
}

// straightLineMemory returns the bytes per straight-line task when n of them wait.
func straightLineMemory(n int, limit time.Duration) (float64, error) {
	if err := measure.Precede(n, limit); err != nil {
		return 0, err
	}
	return taskMemory(n, limit, func(ex *rt.Executor, s *semaphore.Semaphore) error {
		if err := measure.Precede(n, limit); err != nil {
			return err
		}
		for range n {
			rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
				var f waiter.Future
				s.Bind(&f, 1)
				defer f.Release()
				return struct{}{}, rt.Await(cx, &f)
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
	before := measure.InUse()
	ex := rt.New(rt.WithWorkers(1))
	if err := spawn(ex, s); err != nil {
		return 0, err
	}
	if err := untilWaiting(s, n, limit); err != nil {
		return 0, err
	}
	after := measure.InUse()
	s.Release(1)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := ex.Shutdown(ctx); err != nil {
		return 0, fmt.Errorf("%w %w", measure.ErrStuck, err)
	}
	if free := s.Available(); free != 1 {
		return 0, fmt.Errorf("%d of 1 permits are free at the end", free)
	}
	return (after - before) / float64(n), nil
}

// goroutineMemory returns the bytes per goroutine when n of them wait.
func goroutineMemory(im peers.Maker, n int, limit time.Duration) (float64, error) {
	if err := measure.Precede(n, limit); err != nil {
		return 0, err
	}
	l := im.Make(1)
	ctx := context.Background()
	if err := l.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	before := measure.InUse()
	if err := measure.Precede(n, limit); err != nil {
		return 0, err
	}
	c, err := measure.Gather(n, limit, func(int) { peers.PassOn(ctx, l) })
	if err != nil {
		return 0, err
	}
	after := measure.InUse()
	l.Release(1)
	if !measure.Within(limit, &c.WG) {
		return 0, measure.ErrStuck
	}
	return (after - before) / float64(n), nil
}

// LinkTaskMemory finds what the lines that were read belong to.
func LinkTaskMemory(rs []TaskMemoryResult) {
	for i := range rs {
		switch m := &rs[i]; m.Waiter {
		case WaiterPollTask:
			m.Metric = table.TaskBytes
		case WaiterGoroutine:
			m.Metric = table.GoroutineTimes
		}
	}
}

const (
	taskMemoryNote = "Heap and stacks, after a collection, of waiters for one permit, including the waiting objects" +
		" themselves. The descriptors of goroutines, which the runtime keeps for ever, are not included."
)

// TaskTable compares what waits with a poll task.
func TaskTable(rs []TaskMemoryResult, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Memory of one task that waits",
		Note:  taskMemoryNote,
		Head:  []string{"waiter", "semaphore", "number", "bytes", "÷ a poll task's"},
		Left:  2,
	}
	var task float64
	for _, m := range rs {
		if m.Metric == table.TaskBytes {
			task = m.Bytes
		}
	}
	for _, m := range rs {
		bytes, times := fmt.Sprintf("%.0f", m.Bytes), ""
		if m.Metric == table.TaskBytes {
			bytes = strings.TrimSpace(bytes + " " + sum.Judge(MemoryTargetFor(table.TaskBytes, ""), m.Bytes))
		}
		if task > 0 && m.Metric != table.TaskBytes {
			times = sum.Entry(m.Metric, MemoryTargetFor(m.Metric, ""), []float64{m.Bytes / task})
		}
		t.Add(m.Waiter, m.Impl, fmt.Sprint(m.Number), bytes, times)
	}
	return t
}
