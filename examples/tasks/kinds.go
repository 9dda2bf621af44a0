package main

import (
	"context"
	"errors"
	"sync"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/waiter"
)

// A kind is one way to take turns.
type kind struct {
	name    string
	heading [2]string // of its column
	// start starts all tasks or goroutines, which wait for their first turn. The function that it
	// returns waits for their end, which comes early if ctx is done.
	start func(ctx context.Context, j *job) (wait func() error)
}

// kinds are the columns of the table, in order.
var kinds = []kind{
	{"poll tasks", [2]string{"poll", "tasks"}, startPollTasks},
	{"straight-line tasks", [2]string{"straight-", "line"}, startStraightLineTasks},
	{"goroutines", [2]string{"go-", "routines"}, startGoroutines},
}

// maxWorkers is the limit of rt.WithWorkers.
const maxWorkers = 1024

// shutdown waits until all tasks have ended. If ctx is done first, it aborts them, which is not an
// error here.
func shutdown(ctx context.Context, ex *rt.Executor) func() error {
	return func() error {
		err := ex.Shutdown(ctx)
		for errors.Is(err, rt.ErrStuck) { // Very many tasks take longer to end than Shutdown waits.
			err = ex.Shutdown(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}

// A pollTask takes its turns in steps. All of its state is in its object.
type pollTask struct {
	rt.Task
	job    *job
	permit waiter.Future
	left   int
	inside bool // has the permit
}

// Poll implements [rt.Poller].
func (t *pollTask) Poll(cx *rt.Context) bool {
	if t.inside {
		t.inside = false
		t.job.done.Add(1)
		t.permit.Release()
		if t.left--; t.left == 0 {
			return true
		}
		t.job.sem.Bind(&t.permit, 1)
	}
	if !cx.Poll(&t.permit) {
		return false // called again when the permit is granted
	}
	if t.permit.Err() != nil {
		return true
	}
	t.inside = true
	return cx.Yield()
}

func startPollTasks(ctx context.Context, j *job) func() error {
	ex := rt.New(rt.WithWorkers(j.workers))
	tasks := make([]pollTask, j.tasks)
	for i := range tasks {
		t := &tasks[i]
		t.job, t.left = j, j.rounds
		j.sem.Bind(&t.permit, 1)
		if err := ex.Spawn(t); err != nil {
			panic(err) // impossible before Shutdown
		}
	}
	return shutdown(ctx, ex)
}

// straightLine is the life of a straight-line task.
func straightLine(cx *rt.Context, j *job) error {
	var permit waiter.Future
	defer permit.Release()
	for range j.rounds {
		j.sem.Bind(&permit, 1)
		if err := rt.Await(cx, &permit); err != nil {
			return err
		}
		err := rt.Yield(cx)
		j.done.Add(1)
		permit.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func startStraightLineTasks(ctx context.Context, j *job) func() error {
	ex := rt.New(rt.WithWorkers(j.workers))
	for range j.tasks {
		rt.Go(ex, func(cx *rt.Context) (struct{}, error) { return struct{}{}, straightLine(cx, j) })
	}
	return shutdown(ctx, ex)
}

func startGoroutines(ctx context.Context, j *job) func() error {
	var wg sync.WaitGroup
	for range j.tasks {
		wg.Go(func() { j.inGoroutine(ctx) })
	}
	return func() error { wg.Wait(); return nil }
}
