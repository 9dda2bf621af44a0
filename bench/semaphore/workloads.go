package semaphore

import (
	"fmt"

	"github.com/farad-go/farad/bench/measure"
)

// cancellable are the forms with a done channel.
var cancellable = []measure.Form{measure.Shared, measure.Own}

// A Workload is how many goroutines loop over acquire, one PRNG step, release, and on how many
// permits.
type Workload struct {
	Name       string
	goroutines int
	permits    int
	// yield lets a goroutine yield once while it holds the permit. Without it a critical section is
	// so short that, on few processors, most acquires find the permit free: with it goroutines do
	// queue.
	yield bool
}

// The workloads, in the order of the tables. Those that no target names are there to be reported.
var workloads = []Workload{
	{Name: "uncontended", goroutines: 1, permits: 1},
	contended(2, 1),
	contended(8, 1),
	contended(64, 1),
	contended(1000, 1),
	yieldHeld(8, 2),
	yieldHeld(64, 2),
	yieldHeld(1000, 2),
}

func contended(goroutines, permits int) Workload {
	return Workload{
		Name:       fmt.Sprintf("contended-%dx%d", goroutines, permits),
		goroutines: goroutines,
		permits:    permits,
	}
}

func yieldHeld(goroutines, permits int) Workload {
	w := contended(goroutines, permits)
	w.Name, w.yield = fmt.Sprintf("yield-held-%dx%d", goroutines, permits), true
	return w
}

// excludes reports whether goroutines want the only permit, so that a mutex will do.
func (w Workload) excludes() bool { return w.goroutines > 1 && w.permits == 1 }

// A Cell is one line of the tables: a workload under one form of context.
type Cell struct {
	Workload
	Form measure.Form
}

func (c Cell) String() string { return c.Name + "/" + string(c.Form) }

// Cells returns all of them, workload by workload.
func Cells() []Cell {
	var all []Cell
	for _, w := range workloads {
		for _, f := range measure.AllForms {
			all = append(all, Cell{w, f})
		}
	}
	return all
}
