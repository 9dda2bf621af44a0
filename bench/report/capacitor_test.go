package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

// Every target of a lock is that of a line, and its peer takes part there.
func TestEveryLockTargetAppliesToSomething(t *testing.T) {
	for _, tg := range locks.Targets {
		for _, name := range tg.Workloads {
			i := slices.IndexFunc(LockWorkloads, func(w locks.Bench) bool { return w.Name == name })
			require.GreaterOrEqual(t, i, 0, "target for an unknown workload %q", name)
			peer := tg.Peer
			if peer == "" {
				peer = measure.NameFarad
			}
			require.True(t,
				slices.ContainsFunc(LockWorkloads[i].Impls, func(im locks.Impl) bool { return im.Name == peer }),
				"%s has no %s", name, peer)
		}
	}
}

// Everything that is new runs, and bare LIFO, where most get nothing, takes no longer than the
// others.
func TestMutexbenchRuns(t *testing.T) {
	limits := measure.Timing{
		Window:   time.Millisecond,
		Warmup:   time.Millisecond,
		Limit:    10 * time.Second,
		Patience: time.Millisecond,
	}
	for _, w := range LockWorkloads {
		if !strings.HasPrefix(w.Name, "mutexbench-") && !strings.HasPrefix(w.Name, locks.HandOffPrefix) &&
			!strings.HasPrefix(w.Name, locks.EveryPrefix) &&
			!strings.HasPrefix(w.Name, "figure-8") &&
			w.Name != locks.PlaneName {
			continue
		}
		for _, im := range w.Impls {
			s, err := locks.Measure(w.Goroutines, im, limits)
			require.NoError(t, err, "%s/%s", w.Name, im.Name)
			require.Positive(t, s.NsPerOp)
			require.Equal(
				t,
				strings.Contains(w.Name, "-waits-") || strings.HasPrefix(w.Name, locks.HandOffPrefix),
				s.Waits != nil,
			)
		}
	}
}

func TestTablesOfTheCapacitor(t *testing.T) {
	r := MadeUpCapacitor()
	md := r.Markdown()
	for _, want := range []string{
		"| mutexbench-waits-64 | farad | 40ns | 5µs | 778µs | 10ms | 1ms |  |  |",
		"| mutexbench-waits-64 | sync.Mutex | 40ns | 5µs | 778µs | 10ms | 2ms | 1.00 (1.00–1.00) ≤ 0.5 missed | 0.50 (0.50–0.50) ≤ 0.5 met |",
		"| lock | variant | T=1 | T=2 | T=8 | T=64 | T=256 |",
		"| Reciprocating | bare | 21.5 (0.50) | 22.5 (0.50) |",
		"| TTS | B=10, bypass 0.99 | 161.5 (0.50) |",
		"| B | Q=0 | Q=16 | Q=64 | Q=256 | Q=1024 |",
		"| 32 |",
	} {
		require.Contains(t, md, want)
	}
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
	require.NotContains(t, (&Report{}).Markdown(), "| 32 |")
}
