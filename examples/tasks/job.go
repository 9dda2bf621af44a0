package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/sync/semaphore"
)

// A job is the work of one kind.
type job struct {
	options
	sem  *semaphore.Semaphore
	done atomic.Int64 // turns
}

// inGoroutine is the life of a goroutine.
func (j *job) inGoroutine(ctx context.Context) {
	for range j.rounds {
		if j.sem.Acquire(ctx, 1) != nil {
			return
		}
		runtime.Gosched()
		j.done.Add(1)
		j.sem.Release(1)
	}
}

// A result is the measurement of one kind.
type result struct {
	kind    kind
	start   time.Duration // until all waited for their first turn
	turns   int64         // in all
	elapsed time.Duration // of these turns
	bytes   float64       // for each waiting task
}

func (r result) perTurn() time.Duration { return time.Duration(r.nanoseconds()) }

// nanoseconds returns the time of one turn.
func (r result) nanoseconds() float64 { return float64(max(r.elapsed, 1)) / float64(max(r.turns, 1)) }

// measure lets one kind do the job. If ctx is done before the end, the result covers the turns
// until then.
func measure(ctx context.Context, k kind, o options, stderr io.Writer) (result, error) {
	j := &job{options: o, sem: semaphore.New(int64(o.permits))}
	if !j.sem.TryAcquire(int64(o.permits)) {
		panic("a new semaphore has no permits")
	}
	before := memory()
	start := time.Now()
	wait := k.start(ctx, j)
	for j.sem.Waiting() < o.tasks && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	r := result{kind: k, start: time.Since(start)}
	r.bytes = (memory() - before) / float64(o.tasks)

	start = time.Now()
	if o.progress {
		defer startProgress(stderr, k.name, j, start).Stop()
	}
	take := func() { r.elapsed, r.turns = time.Since(start), j.done.Load() }
	taken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // Cancelling very many takes time that belongs to no turn.
		take()
		close(taken)
	})
	j.sem.Release(int64(o.permits))
	err := wait()
	// Not the result of stop: a context is done some time before it starts its functions.
	early := ctx.Err() != nil
	if stop() {
		take()
	} else {
		<-taken
	}
	if err != nil {
		return r, err
	}
	return r, j.check(early)
}

// check reports missing turns, unless the job ended early, and missing permits.
func (j *job) check(early bool) error {
	if n := j.done.Load(); n != j.turns() && !early {
		return fmt.Errorf("%d of %d turns were taken", n, j.turns())
	}
	if free, waiting := j.sem.Available(), j.sem.Waiting(); free != int64(j.permits) || waiting != 0 {
		return fmt.Errorf("%d of %d permits are free, and %d wait", free, j.permits, waiting)
	}
	return nil
}

// memory returns the bytes in use by the heap and by stacks.
func memory() float64 {
	// Twice: a sync.Pool keeps its content for one more collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// makeDescriptors makes the Go runtime allocate its descriptors of n goroutines, which it keeps.
func makeDescriptors(n int) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { <-end })
	}
	close(end)
	wg.Wait()
}
