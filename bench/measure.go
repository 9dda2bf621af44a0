package main

import (
	"cmp"
	"fmt"
	"runtime"
	"time"
)

// timing says how long a measurement takes.
type timing struct {
	// warmup passes before anything is counted: while goroutines start, the first ones have the
	// lock to themselves, which flatters the speed and spoils the fairness.
	warmup time.Duration
	// window is what is measured.
	window time.Duration
	// limit is what is granted beyond that: to a goroutine for its first operation, to all of them
	// for leaving.
	limit time.Duration
	// patience is what is granted to a goroutine for its first operation where that is less; 0: it
	// is not.
	patience time.Duration
}

// A sample is one measurement of one implementation in one cell.
type sample struct {
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

// measure measures im in c once, with goroutines, contexts and a lock that nobody has used before.
func measure(c cell, im implementation, t timing) (sample, error) {
	ctxs, cancels := c.form.contexts(c.goroutines)
	defer func() {
		for _, cancel := range cancels {
			cancel()
		}
	}()
	s, err := measureGang(c.goroutines, t, func(g *gang) {
		if im.start != nil {
			im.start(g, c)
			return
		}
		l := im.make(int64(c.permits))
		for i := range c.goroutines {
			g.spawn(i, func(n *counter) error { return work(ctxs[i], l, c.workload, uint64(i+1), &g.stop, n) })
		}
	})
	if err != nil {
		return sample{}, fmt.Errorf("%s/%s: %w", c, im.name, err)
	}
	return s, nil
}

// measureGang measures the goroutines that spawn adds to a gang of that many.
func measureGang(goroutines int, t timing, spawn func(*gang)) (sample, error) {
	runtime.GC() // the garbage of one implementation is not to be collected in the window of the next
	g := newGang(goroutines)
	spawn(g)
	before, after := make([]int64, goroutines), make([]int64, goroutines)
	close(g.gate)

	time.Sleep(t.warmup)
	idle := g.idle()
	for start := time.Now(); idle > 0 && time.Since(start) < cmp.Or(t.patience, t.limit); idle = g.idle() {
		time.Sleep(time.Millisecond)
	}

	var memBefore, memAfter runtime.MemStats
	runtime.ReadMemStats(&memBefore)
	g.window(true)
	first := g.snapshot(before)
	start := time.Now()
	time.Sleep(t.window)
	last, elapsed := g.snapshot(after), time.Since(start)
	for last == first && elapsed < t.limit { // a smoke run on a busy machine: nothing would be no figure
		time.Sleep(t.window)
		last, elapsed = g.snapshot(after), time.Since(start)
	}
	g.window(false)
	for i := range after {
		after[i] -= before[i]
	}
	ops := last - first
	// Reading the statistics takes a while, in which work goes on. The operations that allocations
	// are divided by are therefore counted from the one reading to the other, by a snapshot right
	// behind each.
	runtime.ReadMemStats(&memAfter)
	allocOps := g.snapshot(before) - first

	g.stop.Store(true)
	if err := g.wait(t.limit); err != nil {
		return sample{}, err
	}
	if ops == 0 {
		return sample{}, fmt.Errorf("no operation in %v", elapsed)
	}
	return sample{
		NsPerOp:     float64(elapsed.Nanoseconds()) / float64(ops),
		Fairness:    fairness(after),
		AllocsPerOp: float64(memAfter.Mallocs-memBefore.Mallocs) / float64(allocOps),
		Ops:         ops,
		WindowNs:    elapsed.Nanoseconds(),
		Idle:        idle,
	}, nil
}
