package tasks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/farad-go/farad/bench/measure"
	rt "github.com/farad-go/farad/runtime"
)

// A Result is one line of the executor's table: what tasks do, and a peer that does the same. Here
// farad means the executor.
type Result struct {
	Workload string                             `json:"workload"`
	Workers  int                                `json:"workers"` // of the executor; goroutines have GOMAXPROCS
	Samples  measure.Samples[measure.LapSample] `json:"samples"`

	Impls []measure.LapImpl `json:"-"` // ours and one peer
}

func (r *Result) String() string { return fmt.Sprintf("tasks/%s/%d", r.Workload, r.Workers) }

// Peer returns the name of the other one, empty if it is not measured.
func (r *Result) Peer() string {
	for _, im := range r.Impls {
		if im.Name != measure.NameFarad {
			return im.Name
		}
	}
	return ""
}

// NsPerOp is a figure of samples: the time of an operation.
func NsPerOp(s measure.LapSample) float64 { return s.NsPerOp }

// AllocsPerOp is a figure of samples: the allocations of an operation.
func AllocsPerOp(s measure.LapSample) float64 { return s.AllocsPerOp }

// Plan returns the lines, with those implementations that match picks by names such as
// tasks/yield/1/farad.
func Plan(match func(string) bool) []*Result {
	var rs []*Result
	for _, w := range workloads {
		for _, workers := range w.workers {
			r := &Result{Workload: w.name, Workers: workers, Samples: make(measure.Samples[measure.LapSample])}
			for _, im := range []measure.LapImpl{{Name: measure.NameFarad, Run: w.farad}, w.peer} {
				if match(r.String() + "/" + im.Name) {
					r.Impls = append(r.Impls, im)
				}
			}
			if r.Impls != nil {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// RunRound measures each line once.
func RunRound(round int, rs []*Result, t measure.Timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(3, uint64(round)))
	for _, r := range rs {
		for _, im := range measure.Shuffled(rng, r.Impls) {
			s, err := measure.Laps(im, r.Workers, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.Name, err)
			}
			r.Samples[im.Name] = append(r.Samples[im.Name], s)
			measured(r.String() + "/" + im.Name)
		}
	}
	return nil
}

// executorOf starts the executor of a lap.
func executorOf(l *measure.Lap) *rt.Executor { return rt.New(rt.WithWorkers(l.Workers)) }

// shutdown waits until all tasks have ended, and ends ex.
func shutdown(ex *rt.Executor) error { return ex.Shutdown(context.Background()) }

// rest waits until ex has no task, so that all of them may be spawned again.
func rest(ex *rt.Executor) {
	for ex.Stats().Tasks > 0 {
		runtime.Gosched()
	}
}

// Link finds what the lines that were read belong to.
func Link(rs []*Result) {
	for _, l := range rs {
		var known []measure.LapImpl
		if i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == l.Workload }); i >= 0 {
			known = []measure.LapImpl{{Name: measure.NameFarad, Run: nil}, workloads[i].peer}
		}
		l.Impls = measure.Present(
			known,
			l.Samples,
			func(im measure.LapImpl) string { return im.Name },
			func(name string) measure.LapImpl { return measure.LapImpl{Name: name} },
		)
	}
}
