package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// falseSharing is the distance at which two words do not disturb each other: two cache lines,
// because processors fetch them in pairs.
const falseSharing = 128

// A counter is what one goroutine publishes, on cache lines of its own.
type counter struct {
	count atomic.Int64
	// sink takes what the PRNG came to, lest the compiler drop the work inside the critical
	// section.
	sink atomic.Uint64
	_    [falseSharing - 16]byte
}

// publish is the farewell of a goroutine.
func (n *counter) publish(count int64, x uint64) {
	n.count.Store(count)
	n.sink.Store(x)
}

// A gang is the goroutines of one measurement, which start and stop together.
type gang struct {
	_        [falseSharing]byte
	stop     atomic.Bool
	_        [falseSharing]byte
	counters []counter
	gate     chan struct{}
	window   func(open bool) // is told when what is measured begins and ends
	wg       sync.WaitGroup
	mu       sync.Mutex
	err      error
}

func newGang(goroutines int) *gang {
	return &gang{counters: make([]counter, goroutines), gate: make(chan struct{}), window: func(bool) {}}
}

// spawn adds the goroutine with index i; it starts with f when the gate opens.
func (g *gang) spawn(i int, f func(*counter) error) {
	g.wg.Go(func() {
		<-g.gate
		if err := f(&g.counters[i]); err != nil {
			g.mu.Lock()
			g.err = errors.Join(g.err, fmt.Errorf("goroutine %d: %w", i, err))
			g.mu.Unlock()
		}
	})
}

// snapshot stores the counts in dst and returns their sum.
func (g *gang) snapshot(dst []int64) int64 {
	var sum int64
	for i := range g.counters {
		dst[i] = g.counters[i].count.Load()
		sum += dst[i]
	}
	return sum
}

// idle returns how many goroutines have not finished one operation.
func (g *gang) idle() int {
	idle := 0
	for i := range g.counters {
		if g.counters[i].count.Load() == 0 {
			idle++
		}
	}
	return idle
}

// errStuck says that goroutines did not come back: most likely somebody was never woken.
var errStuck = errors.New("goroutines did not stop: a lost wake-up?")

// wait waits until all have left and returns their errors.
func (g *gang) wait(limit time.Duration) error {
	if !within(limit, &g.wg) {
		return errStuck
	}
	return g.err
}

// within reports whether wg gets done in time. If it does not, the caller is expected to give up
// the whole run.
func within(limit time.Duration, wg *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// work is the loop that all lockers are measured with. It is not inlined, so that no caller lets
// the compiler see which locker it is. The first operation is published at once, for the warm-up to
// see.
//
//go:noinline
func work(ctx context.Context, l locker, w workload, x uint64, stop *atomic.Bool, n *counter) error {
	batch := w.batch()
	for done, todo := int64(0), int64(1); ; todo = batch {
		for range todo {
			if err := l.Acquire(ctx, 1); err != nil {
				n.publish(done, x)
				return err
			}
			x = xorshift(x)
			if w.yield {
				runtime.Gosched()
			}
			l.Release(1)
		}
		done += todo
		if stop.Load() {
			n.publish(done, x)
			return nil
		}
		n.count.Store(done)
	}
}

// xorshift is the one step of a PRNG (Marsaglia's xorshift64) that stands for the work in a
// critical section.
func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}
