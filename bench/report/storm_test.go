package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

func TestStormTable(t *testing.T) {
	r := &Report{Locks: locks.Plan(LockWorkloads, func(name string) bool {
		return name == "locks/storm-50-1000/farad" || name == "locks/storm-50-1000/x/sync"
	})}
	require.Len(t, r.Locks, 1)
	r.Locks[0].Samples[measure.NameFarad] = []locks.Sample{{Sample: measure.Sample{NsPerOp: 2000}, TimedOut: 0.5}}
	r.Locks[0].Samples[peers.NameXSync] = []locks.Sample{
		{Sample: measure.Sample{NsPerOp: 4000, AllocsPerOp: 7}, TimedOut: 0.481},
	}
	md := r.Markdown()
	require.Contains(t, md, "| storm-50-1000 | farad | 2000.0 |  | 0.00 ≤ 0.01 met | 50.0 % |")
	require.Contains(t, md, "| storm-50-1000 | x/sync | 4000.0 | 0.50 | 7.00 | 48.1 % |")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}
