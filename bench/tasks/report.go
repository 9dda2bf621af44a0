package tasks

import (
	"fmt"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

const (
	taskNote = "Here farad is the executor with so many workers, and its tasks exist before. The comparison is" +
		" the quotient of the times, or their difference where it says ns: the median over the rounds of" +
		" the comparisons inside a round. Goroutines run on GOMAXPROCS processors in every line."
)

// Table has a line for each workload and number of workers.
func Table(rs []*Result, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Tasks",
		Note:  taskNote,
		Head: []string{
			"workload", "workers", "peer", "farad, ns/op", "peer, ns/op", "farad ÷ peer", "farad, allocs/op",
		},
		Left: 3,
	}
	for _, l := range rs {
		ns := func(impl string) string {
			vs := l.Samples.Column(impl, NsPerOp)
			if len(vs) == 0 {
				return ""
			}
			return fmt.Sprintf("%.1f", measure.Median(vs))
		}
		entry := func(m table.Metric, peer string, vs []float64) string {
			return sum.Entry(m, TargetFor(l.Key(), m, peer), vs)
		}
		t.Add(l.Workload, fmt.Sprint(l.Workers), l.Peer(), ns(measure.NameFarad), ns(l.Peer()),
			entry(l.Comparison(), l.Peer(), l.Compare()),
			entry(table.Allocations, "", l.Samples.Column(measure.NameFarad, AllocsPerOp)))
	}
	return t
}
