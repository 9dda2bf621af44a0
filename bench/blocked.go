package main

import (
	"errors"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// A crowd is many goroutines that are all blocked, in the same way.
type crowd struct {
	started atomic.Int64
	wg      sync.WaitGroup
}

// errAwake says that a crowd did not come to rest.
var errAwake = errors.New("goroutines that should be blocked are not")

// gather starts n goroutines that call block and returns when all of them are blocked.
func gather(n int, limit time.Duration, block func(i int)) (*crowd, error) {
	c := new(crowd)
	for i := range n {
		c.wg.Go(func() {
			c.started.Add(1)
			block(i)
		})
	}
	for start := time.Now(); !c.atRest(n); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return c, errAwake
		}
	}
	return c, nil
}

// atRest reports whether all n have started and nobody but the caller runs or could run. The
// runtime calls its figures approximate, so it takes several looks.
func (c *crowd) atRest(n int) bool {
	if c.started.Load() != int64(n) {
		return false
	}
	states := []metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"},
	}
	for range 3 {
		metrics.Read(states)
		if states[0].Value.Uint64() > 0 || states[1].Value.Uint64() > 1 {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}
