package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

const (
	// memoryFutures is a million, and a power of two, for a slice of futures to fill its pages to
	// the last byte.
	memoryFutures    = 1 << 20
	memoryGoroutines = 10_000
)

// Who waits.
const (
	waiterFuture     = "future, unsafe.Sizeof"
	waiterFutureHeap = "future, heap"
	waiterGoroutine  = "goroutine"
	waiterPollTask   = "poll task"
)

// waiterWith is a goroutine with a context of this form.
func waiterWith(f form) string { return waiterGoroutine + ", context " + string(f) }

// A memoryResult is what one waiter costs.
type memoryResult struct {
	Waiter string  `json:"waiter"`
	Impl   string  `json:"implementation"`
	Bytes  float64 `json:"bytes"`

	metric metric
}

// runMemory takes the measurements that match picks.
func runMemory(match func(string) bool, limit time.Duration) ([]memoryResult, error) {
	var rs []memoryResult
	if match("memory/future/" + nameFarad) {
		size := float64(unsafe.Sizeof(semaphore.AcquireFuture{}))
		rs = append(rs,
			memoryResult{waiterFuture, nameFarad, size, futureBytes},
			memoryResult{waiterFutureHeap, nameFarad, math.Round(futureHeap(memoryFutures)), futureBytes})
	}
	onArray := implementation{name: nameArray, make: func(permits int64) locker { return twa.New(permits) }}
	var bare float64
	for _, f := range allForms {
		for _, im := range append(lockers(), onArray) {
			waiter := waiterWith(f)
			if !match(fmt.Sprintf("memory/goroutine/%s/%s", f, im.name)) {
				continue
			}
			if bare == 0 {
				var err error
				if bare, err = bareHeap(memoryGoroutines, limit); err != nil {
					return nil, fmt.Errorf("memory: bare receive: %w", err)
				}
			}
			heap, err := goroutineHeap(im, f, memoryGoroutines, limit)
			if err != nil {
				return nil, fmt.Errorf("memory: %s, %s: %w", waiter, im.name, err)
			}
			result := memoryResult{waiter, im.name, math.Round(heap - bare), goroutineBytes}
			if im.name == nameArray {
				result.metric = arrayBytes
			}
			rs = append(rs, result)
		}
	}
	return rs, nil
}

// heap returns the bytes of live objects, stacks not among them.
func heap() float64 {
	// Twice: a pool keeps its content for one more collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// futureHeap returns the bytes per future when n of them wait.
func futureHeap(n int) float64 {
	before := heap()
	s, futures := waitingFutures(n)
	after := heap()
	for i := range futures {
		futures[i].Cancel()
	}
	s.Release(1)
	return (after - before) / float64(n)
}

// bareHeap returns the bytes per goroutine when n of them wait to receive from a channel: the
// closure, and what the runtime itself keeps for a waiter. The first crowd is only there to have
// its descriptors made, which the runtime keeps for ever and hands to the goroutines of all later
// crowds.
func bareHeap(n int, limit time.Duration) (float64, error) {
	var bytes float64
	for range 2 {
		c := make(chan struct{})
		var err error
		if bytes, err = crowdHeap(n, limit, func(int) { <-c }, func() { close(c) }); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

// goroutineHeap returns the bytes per goroutine when n of them wait to acquire. Their contexts
// exist already.
func goroutineHeap(im implementation, f form, n int, limit time.Duration) (float64, error) {
	l := im.make(1)
	if err := l.Acquire(context.Background(), 1); err != nil {
		return 0, err
	}
	ctxs, cancels := f.contexts(n)
	bytes, err := crowdHeap(n, limit, func(i int) { passOn(ctxs[i], l) }, func() { l.Release(1) })
	for _, cancel := range cancels {
		cancel()
	}
	runtime.KeepAlive(ctxs) // was there before: it must not be what goes while the crowd comes
	return bytes, err
}

// passOn waits for a permit of l, and passes it on to the next.
func passOn(ctx context.Context, l locker) {
	if err := l.Acquire(ctx, 1); err != nil {
		panic(err)
	}
	l.Release(1)
}

// crowdHeap returns the heap bytes per goroutine when n of them are blocked, and lets them go.
func crowdHeap(n int, limit time.Duration, block func(i int), release func()) (float64, error) {
	before := heap()
	c, err := gather(n, limit, block)
	if err != nil {
		return 0, err
	}
	after := heap()
	release()
	if !within(limit, &c.wg) {
		return 0, errStuck
	}
	return (after - before) / float64(n), nil
}
