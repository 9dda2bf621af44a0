package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// ways are the ways to do the job, in the order of the columns.
var ways = []struct {
	name string
	run  func(context.Context, options) result
}{
	{"select", inGoroutines},
	{"rt.Select", func(ctx context.Context, o options) result { return inTasks(ctx, o, waitBySelect) }},
	{"rt.Timeout", func(ctx context.Context, o options) result { return inTasks(ctx, o, waitByTimeout) }},
}

// An ending is what became of a client.
type ending int

const (
	vanished ending = iota // what none may be in the end
	served
	gaveUp
	stopped // by the user, while it waited
)

// An outcome is a client's ending, and how long it had waited for it.
type outcome struct {
	ending ending
	after  time.Duration
}

func (o outcome) String() string {
	names := [...]string{vanished: "vanished", served: "served", gaveUp: "gave up", stopped: "stopped"}
	return fmt.Sprintf("%s %v", names[o.ending], o.after.Round(time.Millisecond))
}

// A result is what became of all clients, and of the permits.
type result struct {
	outcomes []outcome
	most     int64 // inside at a time
	free     int64 // in the end
	waiting  int   // in the end
	err      error
}

func (r result) count(e ending) int64 {
	var n int64
	for _, o := range r.outcomes {
		if o.ending == e {
			n++
		}
	}
	return n
}

// check returns an error if permits or clients are lost.
func (r result) check(o options) error {
	switch {
	case r.err != nil:
		return r.err
	case r.count(vanished) != 0:
		return fmt.Errorf("%d of %d clients have vanished", r.count(vanished), o.clients)
	case r.most > int64(o.permits):
		return fmt.Errorf("%d at a time had one of %d permits", r.most, o.permits)
	case r.free != int64(o.permits) || r.waiting != 0:
		return fmt.Errorf("in the end %d of %d permits are free, and %d wait", r.free, o.permits, r.waiting)
	default:
		return nil
	}
}

// A resource is what the clients want. It counts the clients inside.
type resource struct {
	sem    *semaphore.Semaphore
	inside atomic.Int64
	most   atomic.Int64
}

func newResource(o options) *resource { return &resource{sem: semaphore.New(int64(o.permits))} }

// enter is called with a permit.
func (r *resource) enter() {
	for now := r.inside.Add(1); ; { // Each retry follows another's count.
		most := r.most.Load()
		if now <= most || r.most.CompareAndSwap(most, now) {
			return
		}
	}
}

// leave is called before the permit goes back.
func (r *resource) leave() { r.inside.Add(-1) }

// result is called when all clients have left.
func (r *resource) result(outcomes []outcome, err error) result {
	return result{outcomes, r.most.Load(), r.sem.Available(), r.sem.Waiting(), err}
}

// inGoroutines has a goroutine for each client, which waits in a select.
func inGoroutines(ctx context.Context, o options) result {
	r := newResource(o)
	outcomes := make([]outcome, o.clients)
	var wg sync.WaitGroup
	for i := range outcomes {
		wg.Go(func() {
			start := time.Now()
			var permit waiter.Future
			r.sem.Bind(&permit, 1)
			defer permit.Release() // gives back the place in line, or the permit
			select {
			case <-permit.Done():
				if permit.Err() != nil { // nil: the permit is ours
					return
				}
				outcomes[i] = outcome{served, time.Since(start)}
				r.enter()
				defer r.leave()
				select {
				case <-time.After(o.hold):
				case <-ctx.Done():
				}
			case <-time.After(o.patience):
				outcomes[i] = outcome{gaveUp, time.Since(start)}
			case <-ctx.Done():
				outcomes[i] = outcome{stopped, time.Since(start)}
			}
		})
	}
	wg.Wait()
	return r.result(outcomes, nil)
}

// inTasks has a task for each client, all of them on one worker: a task that waits, or sleeps,
// holds no worker.
func inTasks(
	ctx context.Context,
	o options,
	wait func(cx *rt.Context, permit rt.Future, patience time.Duration) error,
) result {
	r := newResource(o)
	outcomes := make([]outcome, o.clients)
	ex := rt.New(rt.WithWorkers(1))
	for i := range outcomes {
		rt.Go(ex, func(cx *rt.Context) (struct{}, error) {
			start := time.Now()
			var permit waiter.Future
			r.sem.Bind(&permit, 1)
			defer permit.Release()
			switch err := wait(cx, &permit, o.patience); {
			case errors.Is(err, context.DeadlineExceeded):
				outcomes[i] = outcome{gaveUp, time.Since(start)}
				return struct{}{}, nil
			case errors.Is(err, rt.ErrCancelled):
				outcomes[i] = outcome{stopped, time.Since(start)}
				return struct{}{}, err
			case err != nil:
				return struct{}{}, err
			}
			outcomes[i] = outcome{served, time.Since(start)}
			r.enter()
			defer r.leave()
			return struct{}{}, rt.Sleep(cx, o.hold)
		})
	}
	err := ex.Shutdown(ctx) // waits for all of them; if ctx is done it cancels them
	if ctx.Err() != nil && !errors.Is(err, rt.ErrStuck) {
		err = nil
		for i := range outcomes {
			if outcomes[i].ending == vanished { // cancelled before it began
				outcomes[i].ending = stopped
			}
		}
	}
	return r.result(outcomes, err)
}

// waitBySelect names both futures. The permit stands first: if both are there, it wins.
func waitBySelect(cx *rt.Context, permit rt.Future, patience time.Duration) error {
	var timer rt.Timer
	timer.Init(patience)
	first, err := rt.Select(cx, permit, &timer)
	if first == 1 {
		return context.DeadlineExceeded
	}
	return err
}

// waitByTimeout lets the future give up by itself.
func waitByTimeout(cx *rt.Context, permit rt.Future, patience time.Duration) error {
	return rt.Await(cx, rt.Timeout(permit, patience))
}
