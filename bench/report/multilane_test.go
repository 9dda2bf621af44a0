package report

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

func TestTableOfLanes(t *testing.T) {
	picks := regexp.MustCompile("^locks/lanes-").MatchString
	r := &Report{Rounds: 1, Locks: locks.Plan(LockWorkloads, picks)}
	require.Len(t, r.Locks, len(capacitor.LaneSizes))
	for i, l := range r.Locks {
		for j, im := range l.Impls {
			l.Samples[im.Name] = append(
				l.Samples[im.Name],
				locks.Sample{Sample: measure.Sample{NsPerOp: float64(100*i + j), Fairness: 0.5}},
			)
		}
	}
	md := r.Markdown()
	require.Contains(t, md, "| lock | gate | T=8 | T=64 |")
	require.Contains(t, md, "| LIFO | 4 lanes of 2, hashed | 8.0 (0.50) | 108.0 (0.50) |")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}
