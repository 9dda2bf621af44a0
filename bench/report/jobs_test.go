package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

func TestJobTable(t *testing.T) {
	r := &Report{
		Jobs: jobs.Plan(
			func(name string) bool { return name == "jobs/burst-64x2/farad" || name == "jobs/burst-64x2/x/sync" },
		),
	}
	require.Len(t, r.Jobs, 1)
	r.Jobs[0].Samples[measure.NameFarad] = []jobs.Sample{
		{
			LapSample: measure.LapSample{NsPerOp: 1000, Ops: 10},
			Waits:     &measure.WaitSummary{P50: 400, P99: 5000, Max: 70_000},
		},
	}
	r.Jobs[0].Samples[peers.NameXSync] = []jobs.Sample{
		{LapSample: measure.LapSample{NsPerOp: 2000, AllocsPerOp: 3, Ops: 10}, Waits: nil},
	}
	md := r.Markdown()
	require.Contains(t, md, "| burst-64x2 | farad | 1000.0 |  | 0.00 | 400ns | 5µs | 70µs |")
	require.Contains(t, md, "| burst-64x2 | x/sync | 2000.0 | 0.50 | 3.00 |")
	require.Contains(t, md, "| jobs/burst-64x2 |  | x/sync | 1000.0 |")
}
