package measure

import (
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// A Crowd is many goroutines that are all blocked, in the same way.
type Crowd struct {
	started atomic.Int64
	WG      sync.WaitGroup
}

// ErrAwake means that a crowd did not come to rest.
var ErrAwake = errors.New("goroutines that should be blocked are not")

// Gather starts n goroutines that call block and returns when all of them are blocked.
func Gather(n int, limit time.Duration, block func(i int)) (*Crowd, error) {
	c := new(Crowd)
	for i := range n {
		c.WG.Go(func() {
			c.started.Add(1)
			block(i)
		})
	}
	for start := time.Now(); !c.atRest(n); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return c, ErrAwake
		}
	}
	return c, nil
}

// atRest reports whether all n have started and no goroutine but the caller runs or could run. The
// runtime calls its figures approximate, so it takes several looks.
func (c *Crowd) atRest(n int) bool {
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

// Heap returns the bytes of live objects, stacks not among them.
func Heap() float64 {
	// Twice: a pool keeps its content for one more collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// CrowdHeap returns the heap bytes per goroutine when n of them are blocked, and lets them go.
func CrowdHeap(n int, limit time.Duration, block func(i int), release func()) (float64, error) {
	before := Heap()
	c, err := Gather(n, limit, block)
	if err != nil {
		return 0, err
	}
	after := Heap()
	release()
	if !Within(limit, &c.WG) {
		return 0, ErrStuck
	}
	return (after - before) / float64(n), nil
}

// InUse returns the bytes of live objects and of stacks.
func InUse() float64 {
	live := Heap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return live + float64(m.StackInuse)
}

// Precede has n goroutines block, and go again. That makes their descriptors, which the runtime
// keeps for ever and hands to those of a later crowd. And it makes all crowds begin alike: the
// runtime gives new goroutines 2 or 4 kB of stack, according to what those had that it found at the
// last collection.
func Precede(n int, limit time.Duration) error {
	gone := make(chan struct{})
	c, err := Gather(n, limit, func(int) { <-gone })
	if err != nil {
		return err
	}
	runtime.GC()
	close(gone)
	if !Within(limit, &c.WG) {
		return ErrStuck
	}
	return nil
}
