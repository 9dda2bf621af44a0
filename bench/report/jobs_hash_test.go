package report

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/measure"
)

// The table of promises is in the README as it is in a report, which has the lines that were
// measured.
func TestPromisesAreTold(t *testing.T) {
	r := &Report{Jobs: jobs.Plan(func(name string) bool { return strings.HasPrefix(name, "jobs/hash-8/") })}
	require.Empty(t, jobs.PoolTable(r.Jobs).Rows)
	for _, im := range r.Jobs[0].Impls {
		r.Jobs[0].Samples[im.Name] = []jobs.Sample{{LapSample: measure.LapSample{NsPerOp: 1}}}
	}
	tab := jobs.PoolTable(r.Jobs)
	require.Len(t, tab.Rows, len(jobs.PoolMakers))
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, row := range append([][]string{tab.Head}, tab.Rows...) {
		benchtest.HasAll(t, string(readme), fmt.Sprintf("| %s |\n", strings.Join(row, " | ")))
	}
}
