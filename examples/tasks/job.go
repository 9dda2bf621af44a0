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

// A job is what each kind does once.
type job struct {
	options
	sem  *semaphore.Semaphore
	done atomic.Int64 // turns
}

// endTurn is called with a permit, and gives it back.
func (j *job) endTurn() {
	j.done.Add(1)
	j.sem.Release(1)
}

// inGoroutine is the life of a goroutine.
func (j *job) inGoroutine() {
	for range j.rounds {
		if j.sem.Acquire(context.Background(), 1) != nil {
			return
		}
		runtime.Gosched()
		j.endTurn()
	}
}

// A result is what a kind needed.
type result struct {
	start   time.Duration // until all waited
	elapsed time.Duration // for all turns
	bytes   float64       // for one that waits
}

func (r result) perTurn(o options) time.Duration { return r.elapsed / time.Duration(o.turns()) }

// measure has one kind do the job.
func measure(k kind, o options, stderr io.Writer) (result, error) {
	j := &job{options: o, sem: semaphore.New(int64(o.permits))}
	if !j.sem.TryAcquire(int64(o.permits)) {
		panic("a new semaphore has no permits")
	}
	before := memory()
	start := time.Now()
	wait := k.start(j)
	for j.sem.Waiting() < int64(o.tasks) {
		time.Sleep(time.Millisecond)
	}
	r := result{start: time.Since(start)}
	r.bytes = (memory() - before) / float64(o.tasks)

	if o.progress {
		defer startProgress(stderr, k.name, j)()
	}
	start = time.Now()
	j.sem.Release(int64(o.permits))
	if err := wait(); err != nil {
		return r, err
	}
	r.elapsed = time.Since(start)
	return r, j.check()
}

// check says what is missing in the end.
func (j *job) check() error {
	if n := j.done.Load(); n != j.turns() {
		return fmt.Errorf("%d of %d turns were taken", n, j.turns())
	}
	if free, waiting := j.sem.Available(), j.sem.Waiting(); free != int64(j.permits) || waiting != 0 {
		return fmt.Errorf("%d of %d permits are free, and %d wait", free, j.permits, waiting)
	}
	return nil
}

// memory returns the bytes in use, of the heap and of stacks.
func memory() float64 {
	// Twice: a pool keeps its content for one more collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// makeDescriptors has the runtime make its descriptors of n goroutines, which it keeps for later ones.
func makeDescriptors(n int) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { <-end })
	}
	close(end)
	wg.Wait()
}
