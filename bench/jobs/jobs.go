package jobs

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

// A Result is one line of the table of jobs: work that comes in laps with a beginning and an
// end, as that of the executor does, with each implementation that bounds how much of it is done at
// a time.
type Result struct {
	Workload string                  `json:"workload"`
	Samples  measure.Samples[Sample] `json:"samples"`

	Bench `json:"-"`
}

// A Sample is one measurement.
type Sample struct {
	measure.LapSample

	Waits *measure.WaitSummary `json:"waits,omitempty"` // of workloads that time them
}

// A Bench is work with a bound on how much is done at a time.
type Bench struct {
	Name  string
	bound int
	Impls []Impl
}

// An Impl is one implementation of the bound.
type Impl struct {
	measure.LapImpl

	Waits *measure.WaitLog // where a lap notes the waits; nil: it does not
}

// Benches are the workloads, in the order of the table.
var Benches = []Bench{
	burstbench(64, 2), burstbench(1000, 2),
	hashbench(),
}

func (r *Result) String() string { return "jobs/" + r.Workload }

// NsPerOp is a figure of samples: the time of an operation.
func NsPerOp(s Sample) float64 { return s.NsPerOp }

// AllocsPerOp is a figure of samples: the allocations of an operation.
func AllocsPerOp(s Sample) float64 { return s.AllocsPerOp }

func jobWaits(s Sample) *measure.WaitSummary { return s.Waits }

// Plan returns the lines, with those implementations that match picks by names such as
// jobs/burst-64x2/farad.
func Plan(match func(string) bool) []*Result {
	var rs []*Result
	for _, w := range Benches {
		r := &Result{Workload: w.Name, Samples: make(measure.Samples[Sample]), Bench: w}
		r.Impls = slices.DeleteFunc(
			slices.Clone(w.Impls),
			func(im Impl) bool { return !match(r.String() + "/" + im.Name) },
		)
		if len(r.Impls) > 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// RunRound measures each line once.
func RunRound(round int, rs []*Result, t measure.Timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(6, uint64(round)))
	for _, r := range rs {
		for _, im := range measure.Shuffled(rng, r.Impls) {
			s, err := measure.Laps(im.LapImpl, r.bound, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.Name, err)
			}
			job := Sample{LapSample: s}
			if im.Waits != nil {
				job.Waits = im.Waits.Summary() // of the last lap
			}
			r.Samples[im.Name] = append(r.Samples[im.Name], job)
			measured(r.String() + "/" + im.Name)
		}
	}
	return nil
}

const jobNote = "In burst-NxP, N goroutines want one of P permits at once, hold it for a microsecond and a" +
	" yield, and then pause. The time is that from the beginning of a burst to its end, for each" +
	" goroutine; the waits are those of all. In hash-N one goroutine submits blocks of 4 kB, of which" +
	" N are hashed at a time, and waits for all; farad is a semaphore and go statements. The floor of" +
	" bursts admits every goroutine. The floor of hash has a goroutine for each processor, and" +
	" nothing is submitted. The quotient is farad's time divided by the line's: the median of the" +
	" quotients inside the rounds."

// Table has a line for each implementation of a workload.
func Table(rs []*Result, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Bursts and worker pools", Note: jobNote,
		Head: []string{
			"workload",
			"by",
			"ns/op",
			"farad ÷ it",
			"allocs/op",
			"p50 of waits",
			"p99",
			"longest",
		}, Left: 2,
	}
	for _, l := range rs {
		for _, im := range l.Impls {
			theirs := l.Samples.Column(im.Name, NsPerOp)
			if len(theirs) == 0 {
				continue
			}
			row := []string{
				l.Workload,
				im.Name,
				fmt.Sprintf("%.1f", measure.Median(theirs)),
				sum.Entry(table.RatioTo, nil, l.Samples.Beside(im.Name, NsPerOp)),
				fmt.Sprintf("%.2f", measure.Median(l.Samples.Column(im.Name, AllocsPerOp))),
			}
			t.Add(
				append(
					row,
					measure.WaitCells(l.Samples[im.Name], jobWaits, measure.WaitP50,
						measure.WaitP99, measure.WaitMax)...)...)
		}
	}
	return t
}

// Link finds what the lines that were read belong to.
func Link(rs []*Result) {
	for _, l := range rs {
		i := slices.IndexFunc(Benches, func(w Bench) bool { return w.Name == l.Workload })
		if l.Name = l.Workload; i >= 0 {
			l.Bench = Benches[i]
		}
		l.Impls = measure.Present(
			l.Impls,
			l.Samples,
			func(im Impl) string { return im.Name },
			func(name string) Impl { return Impl{LapImpl: measure.LapImpl{Name: name}} },
		)
	}
}
