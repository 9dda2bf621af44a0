package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/waiters"
)

func TestWakeTable(t *testing.T) {
	r := &Report{Wake: waiters.PlanWake(func(name string) bool {
		return name == "wake/goroutine/farad/100000" || name == "wake/goroutine/x/sync/100000" ||
			name == "wake/future/farad/1000000"
	}, false)}
	require.Len(t, r.Wake, 3)
	for _, w := range r.Wake {
		if w.Impl == measure.NameFarad {
			w.NsPerWake = []float64{500, 500}
		} else {
			w.NsPerWake = []float64{1000, 2000}
		}
	}
	md := r.Markdown()
	require.Contains(t, md, "| future | farad | 1000000 | 2000000 | 500.0 | 500.0–500.0 |  |")
	require.Contains(t, md, "| goroutine | x/sync | 100000 | 666667 | 1500.0 | 1000.0–2000.0 | 0.38 (0.25–0.50) |")
	require.True(t, strings.Contains(md, "| wake/goroutine/100000 |  | x/sync | 500.0 |"), "the overview")
	require.Contains(t, r.Benchstat(), "BenchmarkWake/goroutine/100000/impl=x_sync-1\t1\t2000.0000 ns/op\n")
}
