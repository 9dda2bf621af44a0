package interleave

import (
	"fmt"
	"strconv"
	"strings"
)

// A schedule is written as runs of steps: the thread's letter, in the order in which threads are
// made, and how many steps it makes; a step that chooses value v > 0 stands alone, as the letter
// with !v. Runs are separated by dots: "a12.b3.a!1.a4".

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
		if run == "" || run[0] < 'a' || run[0] >= 'a'+maxThreads {
			return nil, fmt.Errorf("interleave: schedule: run %q", run)
		}
		t := run[0] - 'a'
		digits, chooses := strings.CutPrefix(run[1:], "!")
		bits := 20
		if chooses {
			bits = 8
		}
		n, err := strconv.ParseUint(digits, 10, bits)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("interleave: schedule: run %q", run)
		}
		if chooses {
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
