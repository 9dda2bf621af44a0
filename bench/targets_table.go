package main

import (
	"fmt"
	"slices"
	"strings"
)

// What stands between these in a document is written by -targets.
const (
	targetsBegin = "<!-- targets:begin -->\n"
	targetsEnd   = "<!-- targets:end -->\n"
)

// writeTargets puts the table of all targets into a file, between the markers. Each figure comes
// from the first of the runs that has it.
func writeTargets(file string, runs ...*report) error {
	text, err := targetsText(runs...)
	if err != nil {
		return fmt.Errorf("-targets: %w", err)
	}
	return insert(file, targetsBegin, targetsEnd, text)
}

// targetsText says which runs these are, how many targets are met, and of each target what was
// measured.
func targetsText(runs ...*report) (string, error) {
	if err := anyVoid(runs); err != nil {
		return "", err
	}
	t, sum, err := targetTable(runs)
	if err != nil {
		return "", err
	}
	w := new(strings.Builder)
	for _, r := range runs {
		m := r.Machine
		fmt.Fprintf(
			w,
			"- `%s`: commit %s, %s, load %s\n",
			m.Command,
			m.Commit,
			m.Date.Format("2006-01-02 15:04 UTC"),
			m.Load,
		)
	}
	fmt.Fprintf(w, "\n**%s**\n\n", sum)
	t.writeRows(w)
	return w.String(), nil
}

// targetTable has a line for each target on each line, by families. It fails if one was not
// measured: a run of less is not to make a target go away. Allocations are the same in nearly every
// line, and have a line for each family.
func targetTable(runs []*report) (*table, *tally, error) {
	t := &table{head: []string{"family", "line", "bounded", "target", "measured", "verdict", "command"}, left: 7}
	sum := new(tally)
	add := func(l targetLine, r *report, figure string, v float64) {
		sum.judge(l.target, v)
		verdict := l.target.word(v)
		if verdict == "missed" {
			verdict = "**missed**"
		}
		t.add(l.family, l.line, l.bounded(), l.target.limit(), figure, verdict, "`"+l.command(r)+"`")
	}
	var missing []string
	for _, family := range []string{familySemaphore, familyLocks, familyVariants, familyTasks} {
		var allocating []targetLine
		var most float64
		for _, l := range targetLines() {
			if l.family != family {
				continue
			}
			vs, r := l.measured(runs)
			switch {
			case l.target.metric != allocations && vs == nil:
				missing = append(missing, l.command(nil))
			case l.target.metric != allocations:
				add(l, r, l.figure(vs), median(vs))
			case vs != nil: // of a line with other targets: those are missing, too
				allocating, most = append(allocating, l), max(most, median(vs))
			}
		}
		if n := len(allocating); n > 0 {
			l := allocating[0]
			l.line, l.run = fmt.Sprintf("%d lines", n), familyRuns[family]
			add(l, nil, l.target.figure(most)+" at most", most)
		}
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf(
			"these were not measured, or not beside the peers of their targets:\n%s",
			strings.Join(slices.Compact(missing), "\n"),
		)
	}
	return t, sum, nil
}

// familyRuns is what -run takes to measure farad in all lines of a family that count allocations.
var familyRuns = map[string]string{
	familySemaphore: "^[^/]+/[^/]+/farad$",
	familyLocks:     "^locks/.*/farad$",
	familyTasks:     "^tasks/.*/farad$",
}

// measured returns the figures of the first of the runs that has them, and that run.
func (l *targetLine) measured(runs []*report) ([]float64, *report) {
	for _, r := range runs {
		if vs := l.figures(r); len(vs) > 0 {
			return vs, r
		}
	}
	return nil, nil
}

// bounded says what the target bounds.
func (l *targetLine) bounded() string {
	return strings.TrimSpace(string(l.target.metric) + " " + l.target.peer + l.target.than)
}

// figure formats the median of vs and their range.
func (l *targetLine) figure(vs []float64) string {
	if slices.Contains(byteMetrics, l.target.metric) {
		return fmt.Sprintf("%.0f", median(vs))
	}
	s := l.target.figure(median(vs))
	if len(vs) > 1 {
		s += " (" + spread("%.2f", vs) + ")"
	}
	return s
}

// byteMetrics are measured in whole bytes.
var byteMetrics = []metric{futureBytes, goroutineBytes, arrayBytes, taskBytes}

// command measures the line as the run has, of which only the window makes a difference, that of
// fairness.
func (l *targetLine) command(r *report) string {
	args := []string{"-run", l.run}
	if r != nil && r.Window != usualWindow.String() {
		args = append([]string{"-window", r.Window}, args...)
	}
	return commandLine([]string{"go", "run", "."}, args)
}
