package report

import (
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
)

// runLines measures all locks of lines for a moment each.
func runLines(t *testing.T, names ...string) {
	for _, name := range names {
		i := slices.IndexFunc(LockWorkloads, func(w locks.Bench) bool { return w.Name == name })
		if i < 0 {
			t.Fatalf("no line %s", name)
		}
		w := LockWorkloads[i]
		for _, im := range w.Impls {
			s, err := locks.Measure(
				w.Goroutines,
				im,
				measure.Timing{Window: 3 * time.Millisecond, Warmup: time.Millisecond, Limit: 10 * time.Second},
			)
			if err != nil || s.NsPerOp <= 0 {
				t.Errorf("%s/%s: %v, %v ns/op", w.Name, im.Name, err, s.NsPerOp)
			}
		}
	}
}

// Among them the fetch-or, which fails if it finds its lock held.
func TestTwoBitLocksRun(t *testing.T) { runLines(t, "word-1", "word-8", "packed-8") }

func TestSemabenchRuns(t *testing.T) { runLines(t, "semabench-1", "semabench-2", "semabench-8") }
