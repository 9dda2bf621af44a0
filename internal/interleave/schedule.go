package interleave

import (
	"fmt"
	"strings"
)

// A schedule is written as runs of steps: the thread's letter, in the order in which threads are made, and how many
// steps it makes; a step that chooses value v > 0 stands alone, as the letter with !v. Runs are separated by dots:
// "a12.b3.a!1.a4".

func formatSchedule(steps []choice) string {
	var b strings.Builder
	for i := 0; i < len(steps); {
		c := steps[i]
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		n := 1
		if c.value == 0 {
			for i+n < len(steps) && steps[i+n] == c {
				n++
			}
			fmt.Fprintf(&b, "%c%d", 'a'+c.thread, n)
		} else {
			fmt.Fprintf(&b, "%c!%d", 'a'+c.thread, c.value)
		}
		i += n
	}
	return b.String()
}

func parseSchedule(s string) ([]choice, error) {
	var steps []choice
	for run := range strings.SplitSeq(s, ".") {
		var n int
		var letter, mark rune
		if _, err := fmt.Sscanf(run, "%c!%d", &letter, &n); err == nil {
			mark = '!'
		} else if _, err := fmt.Sscanf(run, "%c%d", &letter, &n); err != nil {
			return nil, fmt.Errorf("interleave: schedule: run %q: %w", run, err)
		}
		if letter < 'a' || letter >= 'a'+maxThreads || n < 1 || n > 1<<20 {
			return nil, fmt.Errorf("interleave: schedule: run %q", run)
		}
		t := uint8(letter - 'a')
		if mark == '!' {
			steps = append(steps, choice{t, uint8(n)})
			continue
		}
		for range n {
			steps = append(steps, choice{thread: t})
		}
	}
	return steps, nil
}

// switches counts the places where another thread goes on.
func switches(steps []choice) int {
	n := 0
	for i := 1; i < len(steps); i++ {
		if steps[i].thread != steps[i-1].thread {
			n++
		}
	}
	return n
}
