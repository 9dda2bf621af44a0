package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

func TestEveryTable(t *testing.T) {
	r := &Report{Locks: locks.Plan(LockWorkloads, func(name string) bool {
		return strings.HasPrefix(name, "locks/every-") && strings.HasSuffix(name, "/farad, mutex.Word")
	})}
	require.Len(t, r.Locks, len(capacitor.EverySizes))
	for i, l := range r.Locks {
		l.Samples[capacitor.NameWord] = []locks.Sample{
			{Sample: measure.Sample{NsPerOp: float64(10 * (i + 1)), Fairness: 0.5}},
		}
	}
	md := r.Markdown()
	require.Contains(t, md,
		"| farad, mutex.Word | barging | none, but a waiter woken 8 times is next | yes | no | 4 | 10.0 (0.50) | 20.0 (0.50) | 30.0 (0.50) |")
	require.NotContains(t, md, "| sync.Mutex | barging", "which was not measured")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}
