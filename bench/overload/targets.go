package overload

import (
	"cmp"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

// Targets are the targets of tenants and of servers. What a wait in shares may cost is in package
// locks.
//
// With exponential times of the requests there is no target for the ratio to others: a request that
// is cut off at its deadline was no nearer to its end than one that has just begun. So no place is
// wasted on it, and a plain line, too, has all the goodput that there is.
var Targets = []table.Target{
	{Workloads: []string{"tenants-1000-10"}, Metric: table.Unfairness, Bound: 0.04}, // 0.02 of the whole
	{Workloads: []string{"weights-1-2-4"}, Metric: table.Unfairness, Bound: 0.03},

	{Workloads: bounded, Metric: table.GoodputTo, Peer: namePlain, Bound: 1.5},
	{Workloads: bounded, Metric: table.GoodputTo, Peer: nameFailsafe, Bound: 1.1},
	{Workloads: bounded, Metric: table.GoodputTo, Ours: nameVegas, Peer: nameFailsafe, Bound: 1.1},
	{Workloads: floods, Metric: table.P99To, Peer: nameLight, Bound: 3},
}

var (
	bounded = []string{"http-constant", "http-lognormal"}
	floods  = append([]string{"http-exponential"}, bounded...)
)

// Figures returns what a target bounds, an entry a round; nil if it was not measured.
func (r *Result) Figures(t *table.Target) []float64 {
	switch t.Metric {
	case table.Unfairness:
		return r.Samples.Column(measure.NameFarad, r.Unfairness)
	case table.GoodputTo:
		return r.beside(t.Ours, t.Peer, goodput)
	default:
		return r.beside(t.Ours, t.Peer, p99)
	}
}

// beside returns one figure of ours divided by that of a peer, round by round. Ours is farad if it
// is empty.
func (r *Result) beside(ours, peer string, figure func(Sample) float64) []float64 {
	return measure.Ratios(r.Samples.Column(cmp.Or(ours, measure.NameFarad), figure), r.Samples.Column(peer, figure))
}

func goodput(s Sample) float64 { return s.Goodput }

func p99(s Sample) float64 { return float64(s.P99Ns) }
