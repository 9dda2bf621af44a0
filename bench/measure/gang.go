package measure

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// FalseSharing is the distance at which two words do not disturb each other: two cache lines,
// because processors fetch them in pairs.
const FalseSharing = 128

// A Counter is what one goroutine publishes, on cache lines of its own.
type Counter struct {
	Count atomic.Int64
	// sink takes the result of the PRNG, so that the compiler keeps the work inside the critical
	// section.
	sink atomic.Uint64
	_    [FalseSharing - 16]byte
}

// Publish is the farewell of a goroutine.
func (n *Counter) Publish(count int64, x uint64) {
	n.Count.Store(count)
	n.sink.Store(x)
}

// A Gang is the goroutines of one measurement, which start and stop together.
type Gang struct {
	_        [FalseSharing]byte
	Stop     atomic.Bool
	_        [FalseSharing]byte
	counters []Counter
	Gate     chan struct{}
	Window   func(open bool) // called when what is measured begins and ends
	WG       sync.WaitGroup
	mu       sync.Mutex
	Err      error
}

// NewGang returns a gang for goroutines that spawn adds.
func NewGang(goroutines int) *Gang {
	return &Gang{counters: make([]Counter, goroutines), Gate: make(chan struct{}), Window: func(bool) {}}
}

// Spawn adds the goroutine with index i; it starts with f when the gate opens.
func (g *Gang) Spawn(i int, f func(*Counter) error) {
	g.WG.Go(func() {
		<-g.Gate
		if err := f(&g.counters[i]); err != nil {
			g.mu.Lock()
			g.Err = errors.Join(g.Err, fmt.Errorf("goroutine %d: %w", i, err))
			g.mu.Unlock()
		}
	})
}

// Snapshot stores the counts in dst and returns their sum.
func (g *Gang) Snapshot(dst []int64) int64 {
	var sum int64
	for i := range g.counters {
		dst[i] = g.counters[i].Count.Load()
		sum += dst[i]
	}
	return sum
}

// idle returns how many goroutines have not finished one operation.
func (g *Gang) idle() int {
	idle := 0
	for i := range g.counters {
		if g.counters[i].Count.Load() == 0 {
			idle++
		}
	}
	return idle
}

// ErrStuck means that goroutines did not come back: most likely a goroutine was never woken.
var ErrStuck = errors.New("goroutines did not stop: a lost wake-up?")

// Wait waits until all have left and returns their errors.
func (g *Gang) Wait(limit time.Duration) error {
	if !Within(limit, &g.WG) {
		return ErrStuck
	}
	return g.Err
}

// Within reports whether wg gets done in time. If it does not, the caller is expected to give up
// the whole run.
func Within(limit time.Duration, wg *sync.WaitGroup) bool {
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

// Batch is the number of operations after which a goroutine publishes its count and looks at the
// stop flag. An atomic store and what is around it cost some 15 ns on amd64, which would hide most
// of what an uncontended pair costs, and of what one costs that seldom waits, however many
// goroutines want it; with many goroutines each makes so few of them in a window that a coarse
// count would spoil the fairness.
func Batch(goroutines int) int64 {
	switch {
	case goroutines == 1:
		return 64
	case goroutines <= 64:
		return 16
	default:
		return 8
	}
}

// Xorshift is the one step of a PRNG (Marsaglia's xorshift64) that stands for the work in a
// critical section.
func Xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}
