package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// What stands between these in a document is written by -targets.
const (
	TargetsBegin = "<!-- targets:begin -->\n"
	TargetsEnd   = "<!-- targets:end -->\n"
)

// WriteTargets puts the table of all targets into a file, between the markers. Each figure comes
// from the first of the runs that has it.
func WriteTargets(file string, runs ...*Report) error {
	text, err := targetsText(runs...)
	if err != nil {
		return fmt.Errorf("-targets: %w", err)
	}
	return Insert(file, TargetsBegin, TargetsEnd, text)
}

// targetsText says which runs these are, how many targets are met, and of each target what was
// measured.
func targetsText(runs ...*Report) (string, error) {
	if err := AnyVoid(runs); err != nil {
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
	t.WriteRows(w)
	return w.String(), nil
}

// targetTable has a line for each target on each line, by families. It fails if one was not
// measured: a run of less is not to make a target go away. Allocations are the same in nearly every
// line, and have a line for each family.
func targetTable(runs []*Report) (*table.Table, *table.Tally, error) {
	t := &table.Table{
		Head: []string{"family", "line", "bounded", "target", "measured", "verdict", "command"},
		Left: 7,
	}
	sum := new(table.Tally)
	add := func(l TargetLine, r *Report, figure string, v float64) {
		sum.Judge(l.Target, v)
		verdict := l.Target.Word(v)
		if verdict == "missed" {
			verdict = "**missed**"
		}
		t.Add(l.family, l.line, l.bounded(), l.Target.Limit(), figure, verdict, "`"+l.command(r)+"`")
	}
	var missing []string
	for _, family := range []string{FamilySemaphore, FamilyLocks, familyVariants, familyOverload, FamilyTasks} {
		var allocating []TargetLine
		var most float64
		for _, l := range TargetLines() {
			if l.family != family {
				continue
			}
			vs, r := l.measured(runs)
			switch {
			case vs == nil && l.cannotBe(runs):
				t.Add(l.family, l.line, l.bounded(), l.Target.Limit(), "–", "not measured", "`"+l.command(nil)+"`")
			case l.Target.Metric != table.Allocations && vs == nil:
				missing = append(missing, l.command(nil))
			case l.Target.Metric != table.Allocations:
				add(l, r, l.figure(vs), measure.Median(vs))
			case vs != nil: // of a line with other targets: those are missing, too
				allocating, most = append(allocating, l), max(most, measure.Median(vs))
			}
		}
		if n := len(allocating); n > 0 {
			l := allocating[0]
			l.line, l.run = fmt.Sprintf("%d lines", n), familyRuns[family]
			add(l, nil, l.Target.Figure(most)+" at most", most)
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
	FamilySemaphore: "^[^/]+/[^/]+/farad$",
	FamilyLocks:     "^locks/.*/farad$",
	FamilyTasks:     "^tasks/.*/farad$",
}

// measured returns the figures of the first of the runs that has them, and that run.
func (l *TargetLine) measured(runs []*Report) ([]float64, *Report) {
	for _, r := range runs {
		if vs := l.figures(r); len(vs) > 0 {
			return vs, r
		}
	}
	return nil, nil
}

// cannotBe reports whether the runs could not measure the line, because none of their builds has
// the peer.
func (l *TargetLine) cannotBe(runs []*Report) bool {
	sleeps := func(by string) bool {
		return slices.ContainsFunc(runs, func(r *Report) bool { return r.Machine.Sleep == by })
	}
	return l.Target.Peer == peers.NameMinimal && sleeps(measure.SleepChannels) && !sleeps(measure.SleepGopark)
}

// bounded says what the target bounds.
func (l *TargetLine) bounded() string {
	bounded := strings.TrimSpace(string(l.Target.Metric) + " " + l.Target.Peer + l.Target.Than)
	if l.Target.Ours != "" {
		bounded = l.Target.Ours + ": " + bounded
	}
	return bounded
}

// figure formats the median of vs and their range.
func (l *TargetLine) figure(vs []float64) string {
	if slices.Contains(byteMetrics, l.Target.Metric) {
		return fmt.Sprintf("%.0f", measure.Median(vs))
	}
	s := l.Target.Figure(measure.Median(vs))
	if len(vs) > 1 {
		s += " (" + measure.Spread("%.2f", vs) + ")"
	}
	return s
}

// byteMetrics are measured in whole bytes.
var byteMetrics = []table.Metric{table.FutureBytes, table.GoroutineBytes, table.ArrayBytes, table.TaskBytes}

// command measures the line as the run has, of which only the window makes a difference, that of
// fairness.
func (l *TargetLine) command(r *Report) string {
	args := []string{"-run", l.run}
	if r != nil && r.Window != measure.UsualWindow.String() {
		args = append([]string{"-window", r.Window}, args...)
	}
	return measure.CommandLine([]string{"go", "run", "."}, args)
}
