package report

import (
	"strings"
	"testing"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/measure"
)

// How much more a thousand goroutines need than eight; and how many futile wakes our own hash
// function causes, not those of the papers.
func TestTargetsOfTheWaitingArray(t *testing.T) {
	r := MadeUpAll()
	for _, l := range r.Locks {
		if l.Workload == "semabench-1024" {
			for i := range l.Samples[measure.NameFarad] {
				l.Samples[measure.NameFarad][i].NsPerOp *= 2
			}
		}
	}
	r.Variants = array.Plan(measure.Everything)
	md := r.Markdown()
	for want, n := range map[string]int{
		"| semabench-1024 | farad | 2200.0 | 2.00 times semabench-8 (2.00–2.00) ≤ 1.3 missed |": 1,
		"| semabench-256 | farad | 1100.0 |  |":                                                 1,
		"times semabench-8":                                                                     1,
		"| 0.000 ≤ 0.01 met |":                                                                  len(array.HashSizes),
	} {
		if got := strings.Count(md, want); got != n {
			t.Errorf("%d times %q, want %d", got, want, n)
		}
	}
}
