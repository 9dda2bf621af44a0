package semaphore

import (
	"fmt"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// PeerNames are what farad is divided by, in the order of the columns.
var PeerNames = []string{
	peers.NameFloor, peers.NameXSync, peers.NameChannel, peers.NameRing, peers.NameFifomu, peers.NameMinimal,
}

// RatioNote and rawNote say how to read the tables.
const (
	RatioNote = "A ratio is farad's time divided by the peer's, lower is better: the median over the rounds of the" +
		" quotients inside a round, in which all implementations of a cell run one after another. What else the" +
		" machine does slows both sides of a quotient, so ratios can be compared between runs; absolute times cannot."
	rawNote = "Wall time of the whole cell per acquire and release, allocations of the whole process per acquire and" +
		" release, and the count of the goroutine that did least divided by that of the one that did most: medians" +
		" over the rounds."
)

// RatioTable has a line a cell and a column a peer.
func RatioTable(cells []*Result, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Ratios, farad ÷ peer",
		Note:  RatioNote,
		Head:  []string{"workload", "context"},
		Left:  2,
	}
	for _, p := range PeerNames {
		t.Head = append(t.Head, "÷ "+p)
	}
	t.Head = append(t.Head, string(table.MinFairness), string(table.Allocations))
	for _, c := range cells {
		if c.Samples[measure.NameFarad] == nil {
			continue
		}
		entry := func(m table.Metric, peer string, vs []float64) string {
			return sum.Entry(m, TargetFor(c.cell, m, peer), vs)
		}
		row := []string{c.cell.Name, string(c.cell.Form)}
		ours := c.Samples.Column(measure.NameFarad, measure.NsPerOp)
		for _, p := range PeerNames {
			row = append(row, entry(table.RatioTo, p, measure.Ratios(ours, c.Samples.Column(p, measure.NsPerOp))))
		}
		row = append(row,
			entry(table.MinFairness, "", c.Samples.Column(measure.NameFarad, measure.FairnessOf)),
			entry(table.Allocations, "", c.Samples.Column(measure.NameFarad, measure.AllocsPerOp)))
		t.Add(row...)
	}
	return t
}

// RawTable has a line for each implementation of a cell.
func RawTable(cells []*Result) *table.Table {
	t := &table.Table{
		Title: "Medians",
		Note:  rawNote,
		Head:  []string{"workload", "context", "implementation", "ns/op", "min–max", "fairness", "allocs/op"},
		Left:  3,
	}
	for _, c := range cells {
		for _, im := range c.Impls {
			ns := c.Samples.Column(im.Name, measure.NsPerOp)
			if ns == nil {
				continue
			}
			t.Add(
				c.cell.Name,
				string(c.cell.Form),
				im.Name,
				fmt.Sprintf("%.1f", measure.Median(ns)),
				measure.Spread("%.1f", ns),
				fmt.Sprintf("%.2f%s", measure.Median(c.Samples.Column(im.Name, measure.FairnessOf)),
					idleNote(c.Samples[im.Name])),
				fmt.Sprintf("%.2f", measure.Median(c.Samples.Column(im.Name, measure.AllocsPerOp))),
			)
		}
	}
	return t
}

// idleNote notes how many goroutines did nothing in the warm-up of the worst round, if any.
func idleNote(samples []measure.Sample) string {
	worst := 0
	for _, s := range samples {
		worst = max(worst, s.Idle)
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d idle)", worst)
}
