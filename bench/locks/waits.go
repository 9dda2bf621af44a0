package locks

import (
	"slices"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

// HandsOver reports whether the lock went from one goroutine to another in every round. One that
// lets a running goroutine take it may not, for as long as a window.
func (r *Result) HandsOver(impl string) bool {
	return len(r.Samples[impl]) > 0 &&
		!slices.ContainsFunc(r.Samples[impl], func(s Sample) bool { return s.Waits.Count == 0 })
}

// HandOffs returns how long hand-offs of one lock take divided by those of another, round by round;
// nil if one of them was not handed over in every round.
func (r *Result) HandOffs(m table.Metric, ours, theirs string) []float64 {
	if !r.HandsOver(ours) || !r.HandsOver(theirs) {
		return nil
	}
	figure := HandOffP50
	if m == table.HandOffP99To {
		figure = HandOffP99
	}
	return measure.Ratios(r.Samples.Column(ours, figure), r.Samples.Column(theirs, figure))
}

// HandOffP50 is a figure of samples: the median of the hand-offs.
func HandOffP50(s Sample) float64 { return float64(s.Waits.P50) }

// HandOffP99 is a figure of samples: their 99th percentile.
func HandOffP99(s Sample) float64 { return float64(s.Waits.P99) }

// WaitCells are the cells of p50, p99, p99.9 and longest of a lock, nil if they were not timed.
func (r *Result) WaitCells(impl string) []string {
	return measure.WaitCells(
		r.Samples[impl],
		func(s Sample) *measure.WaitSummary { return s.Waits },
		measure.WaitP50,
		measure.WaitP99,
		measure.WaitP999,
		measure.WaitMax,
	)
}

// WaitTail is a figure of samples: the p99.9 of the waits of arrivals.
func WaitTail(s Sample) float64 { return float64(s.Waits.Arrivals999) }

func waitTailOfAll(s Sample) float64 { return float64(s.Waits.P999) }

// Tails returns farad's p99.9 divided by another's, round by round: of all acquisitions, or
// of the arrivals.
func (r *Result) Tails(m table.Metric, impl string) []float64 {
	tail := WaitTail
	if m == table.TailOfAllTo {
		tail = waitTailOfAll
	}
	return r.Samples.Beside(impl, tail)
}
