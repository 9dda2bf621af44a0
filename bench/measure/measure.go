package measure

import (
	"cmp"
	"fmt"
	"runtime"
	"time"
)

// UsualWindow is the window of a run whose flags say nothing else.
const UsualWindow = 150 * time.Millisecond

// Timing is how long a measurement takes.
type Timing struct {
	// warmup passes before anything is counted: while goroutines start, the first ones have the
	// lock to themselves, which flatters the speed and spoils the fairness.
	Warmup time.Duration
	// window is what is measured.
	Window time.Duration
	// limit is what is granted beyond that: to a goroutine for its first operation, to all of them
	// for leaving.
	Limit time.Duration
	// patience is what is granted to a goroutine for its first operation where that is less; 0: it
	// is not.
	Patience time.Duration
}

// A Sample is one measurement of one implementation in one cell.
type Sample struct {
	// NsPerOp is the length of the window divided by the operations (acquire and release) of all
	// goroutines together.
	NsPerOp float64 `json:"ns_per_op"`
	// Fairness is the count of the goroutine that did least divided by that of the one that did
	// most.
	Fairness float64 `json:"fairness"`
	// AllocsPerOp counts all heap allocations of the process in the window.
	AllocsPerOp float64 `json:"allocs_per_op"`
	Ops         int64   `json:"ops"`
	WindowNs    int64   `json:"window_ns"`
	// Idle is the number of goroutines that had not finished one operation when the warm-up was
	// given up.
	Idle int `json:"idle,omitempty"`
}

// Loops measures the goroutines that spawn adds to a gang of that many.
func Loops(goroutines int, t Timing, spawn func(*Gang)) (Sample, error) {
	runtime.GC() // do not collect this garbage in the next implementation's window
	g := NewGang(goroutines)
	spawn(g)
	before, after := make([]int64, goroutines), make([]int64, goroutines)
	close(g.Gate)

	time.Sleep(t.Warmup)
	idle := g.idle()
	for start := time.Now(); idle > 0 && time.Since(start) < cmp.Or(t.Patience, t.Limit); idle = g.idle() {
		time.Sleep(time.Millisecond)
	}

	var memBefore, memAfter runtime.MemStats
	runtime.ReadMemStats(&memBefore)
	g.Window(true)
	first := g.Snapshot(before)
	start := time.Now()
	time.Sleep(t.Window)
	last, elapsed := g.Snapshot(after), time.Since(start)
	for last == first && elapsed < t.Limit { // a smoke run on a busy machine needs at least one
		time.Sleep(t.Window)
		last, elapsed = g.Snapshot(after), time.Since(start)
	}
	g.Window(false)
	for i := range after {
		after[i] -= before[i]
	}
	ops := last - first
	// Reading the statistics takes a while, in which work goes on. The operations that allocations
	// are divided by are therefore counted from the one reading to the other, by a snapshot right
	// behind each.
	runtime.ReadMemStats(&memAfter)
	allocOps := g.Snapshot(before) - first

	g.Stop.Store(true)
	if err := g.Wait(t.Limit); err != nil {
		return Sample{}, err
	}
	if ops == 0 {
		return Sample{}, fmt.Errorf("no operation in %v", elapsed)
	}
	return Sample{
		NsPerOp:     float64(elapsed.Nanoseconds()) / float64(ops),
		Fairness:    fairness(after),
		AllocsPerOp: float64(memAfter.Mallocs-memBefore.Mallocs) / float64(allocOps),
		Ops:         ops,
		WindowNs:    elapsed.Nanoseconds(),
		Idle:        idle,
	}, nil
}
