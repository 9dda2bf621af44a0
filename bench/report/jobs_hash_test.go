package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/measure"
)

// A report has the promises of the pools that were measured.
func TestPromisesAreTold(t *testing.T) {
	r := &Report{Jobs: jobs.Plan(func(name string) bool { return strings.HasPrefix(name, "jobs/hash-8/") })}
	require.Empty(t, jobs.PoolTable(r.Jobs).Rows)
	for _, im := range r.Jobs[0].Impls {
		r.Jobs[0].Samples[im.Name] = []jobs.Sample{{LapSample: measure.LapSample{NsPerOp: 1}}}
	}
	tab := jobs.PoolTable(r.Jobs)
	require.Len(t, tab.Rows, len(jobs.PoolMakers))
	require.Contains(t, tab.Rows, []string{"farad", "FIFO", "yes", "ends the program", "one for each job"})
}
