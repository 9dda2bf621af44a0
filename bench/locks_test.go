package main

import (
	"slices"
	"testing"
	"time"
)

// runLines measures all locks of lines for a moment each.
func runLines(t *testing.T, names ...string) {
	for _, name := range names {
		i := slices.IndexFunc(lockWorkloads, func(w lockWorkload) bool { return w.name == name })
		if i < 0 {
			t.Fatalf("no line %s", name)
		}
		w := lockWorkloads[i]
		for _, im := range w.impls {
			s, err := measureLock(
				w.goroutines,
				im,
				timing{window: 3 * time.Millisecond, warmup: time.Millisecond, limit: 10 * time.Second},
			)
			if err != nil || s.NsPerOp <= 0 {
				t.Errorf("%s/%s: %v, %v ns/op", w.name, im.name, err, s.NsPerOp)
			}
		}
	}
}

// Among them the fetch-or, which fails if it finds its lock held.
func TestTwoBitLocksRun(t *testing.T) { runLines(t, "word-1", "word-8", "packed-8") }

func TestSemabenchRuns(t *testing.T) { runLines(t, "semabench-1", "semabench-2", "semabench-8") }
