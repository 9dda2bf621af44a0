package main

import (
	"context"
	"fmt"
)

// A form is the kind of context that the goroutines of a cell acquire with. It decides what a wait
// has to watch: nothing, one done channel that everybody watches, or one done channel each.
type form string

// The context forms.
const (
	background form = "background"
	shared     form = "shared"
	own        form = "own"
)

var (
	allForms    = []form{background, shared, own}
	cancellable = []form{shared, own}
)

// contexts returns the contexts of n goroutines, and the function that ends each of them. Those of
// the form own have no parent in common, or they would share its lock.
func (f form) contexts(n int) ([]context.Context, []context.CancelFunc) {
	ctxs, cancels := make([]context.Context, n), make([]context.CancelFunc, n)
	for i := range ctxs {
		switch {
		case f == background:
			ctxs[i], cancels[i] = context.Background(), func() {}
		case f == own || i == 0:
			ctxs[i], cancels[i] = context.WithCancel(context.Background())
		default:
			ctxs[i], cancels[i] = ctxs[0], cancels[0]
		}
		// The done channel is made on first use: let that be here, and not in what is measured.
		_ = ctxs[i].Done()
	}
	return ctxs, cancels
}

// A workload says how many goroutines loop over acquire, one PRNG step, release, and on how many
// permits.
type workload struct {
	name       string
	goroutines int
	permits    int
	// yield lets a goroutine yield once while it holds the permit. Without it a critical section is
	// so short that, on few processors, most acquires find the permit free: with it goroutines do
	// queue.
	yield bool
}

// The workloads, in the order of the tables. Those that no target names are there to be reported.
var workloads = []workload{
	{name: "uncontended", goroutines: 1, permits: 1},
	contended(2, 1),
	contended(8, 1),
	contended(64, 1),
	contended(1000, 1),
	yieldHeld(8, 2),
	yieldHeld(64, 2),
	yieldHeld(1000, 2),
}

func contended(goroutines, permits int) workload {
	return workload{name: fmt.Sprintf("contended-%dx%d", goroutines, permits), goroutines: goroutines, permits: permits}
}

func yieldHeld(goroutines, permits int) workload {
	w := contended(goroutines, permits)
	w.name, w.yield = fmt.Sprintf("yield-held-%dx%d", goroutines, permits), true
	return w
}

// batch is the number of operations after which a goroutine publishes its count and looks at the
// stop flag. An atomic store and what is around it cost some 15 ns on amd64, which would hide most
// of what an uncontended pair costs, and of what one costs that seldom waits, however many
// goroutines want it; with many goroutines each makes so few of them in a window that a coarse
// count would spoil the fairness.
func (w workload) batch() int64 {
	switch {
	case w.goroutines == 1:
		return 64
	case w.goroutines <= 64:
		return 16
	default:
		return 8
	}
}

// A cell is one line of the tables: a workload under one form of context.
type cell struct {
	workload
	form form
}

func (c cell) String() string { return c.name + "/" + string(c.form) }

// cells returns all of them, workload by workload.
func cells() []cell {
	var all []cell
	for _, w := range workloads {
		for _, f := range allForms {
			all = append(all, cell{w, f})
		}
	}
	return all
}
