package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

// A lock that stays with one goroutine for a whole window has no figures, and the others no ratio
// to it.
func TestHandOffTable(t *testing.T) {
	r := &Report{Locks: locks.Plan(LockWorkloads, func(name string) bool {
		return name == "locks/hand-off-8/farad" || name == "locks/hand-off-8/sync.Mutex"
	})}
	require.Len(t, r.Locks, 1)
	round := func(impl string, count, p99 int64) {
		s := locks.Sample{
			Sample: measure.Sample{NsPerOp: 1000, Fairness: 0.5},
			Waits:  &measure.WaitSummary{Count: count, P50: 700, P99: p99, P999: 5000, Max: 9000},
		}
		r.Locks[0].Samples[impl] = append(r.Locks[0].Samples[impl], s)
	}
	round(measure.NameFarad, 1, 800)
	round(locks.NameMutex, 1, 1600)
	md := r.Markdown()
	require.Contains(t, md, "| hand-off-8 | farad | 700ns | 800ns | 5µs | 9µs |  | 1000.0 | 0.50 |")
	require.Contains(t, md,
		"| hand-off-8 | sync.Mutex | 700ns | 1.6µs | 5µs | 9µs | 0.50 (0.50–0.50) | 1000.0 | 0.50 |")
	require.NotContains(t, md, "## Waits")
	round(locks.NameMutex, 0, 0)
	require.Contains(t, r.Markdown(), "| hand-off-8 | sync.Mutex | – | – | – | – |  | 1000.0 | 0.50 |")
}
