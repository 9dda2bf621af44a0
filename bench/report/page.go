package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// ResultsPage is the page in the folder of kept runs.
const ResultsPage = "README.md"

// pageHead is what stands above the tables.
const pageHead = `# Results

One row for each workload, from the runs in this folder; those without a time share one. *÷ floor*
and *÷ best peer* are medians of farad's time divided by theirs in the same round. *Targets* lists
what is missed, with its bound; *met* says that nothing is.
[BENCHMARKS.md](../../docs/BENCHMARKS.md) says how to read a row, and why a target is missed. All
tables and rounds of a run: ` + "`go run . -out DIR results/locks.json`" + `.

The program writes this page: ` + "`go run . -page results/README.md results/*.json`" + `.

| run | commit | date | load before |
|---|---|---|---|
`

// WritePage writes the page of runs. Each figure comes from the first run that has it. WritePage
// fails if a target was not measured: a run of less does not make a target go away.
func WritePage(file string, runs ...*Report) error {
	text, err := pageText(runs...)
	if err != nil {
		return fmt.Errorf("-page: %w", err)
	}
	return Write(file, text)
}

func pageText(runs ...*Report) (string, error) {
	for _, r := range runs {
		if r.Smoke {
			return "", errors.New("the figures of a smoke run are void")
		}
	}
	p, err := newPage(runs)
	if err != nil {
		return "", err
	}
	w := new(strings.Builder)
	w.WriteString(pageHead)
	for _, r := range runs {
		m := r.Machine
		command := strings.ReplaceAll(m.Command, "|", `\|`)
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", command, m.Commit, m.Date.Format("2006-01-02"), m.Load)
	}
	fmt.Fprintf(w, "\n**%s**\n", &p.sum)
	for _, t := range p.tables {
		t.WriteMarkdown(w)
	}
	return w.String(), nil
}

// pageFamilies are the tables, in their order.
var pageFamilies = []string{
	FamilySemaphore, FamilyLocks, familyOverload, FamilyJobs, FamilyTasks, familyCancel, familyWake, familyVariants,
}

// A page has a table for each family. Its rows are all lines that have a target or a peer.
type page struct {
	runs    []*Report
	sum     table.Tally
	tables  []*table.Table
	missing []string
}

func newPage(runs []*Report) (*page, error) {
	p := &page{runs: runs}
	lines, targets := p.lines(), p.targets()
	for _, family := range pageFamilies {
		t := &table.Table{
			Title: strings.ToUpper(family[:1]) + family[1:],
			Head:  []string{"workload", "farad, ns", "÷ floor; ÷ best peer", "targets"},
			Left:  1,
		}
		var rest []string // that have no time, and nothing that is missed
		for _, name := range p.names(family, lines, targets) {
			missed, met, absent := p.verdicts(targets[name])
			row := []string{name, "", ""}
			if l := lines[name]; l != nil {
				ns := median("%.1f", l.of[measure.NameFarad].ns)
				ratios := slices.DeleteFunc([]string{l.ratioToBest(Floors), l.ratioToBest(Others)}, isEmpty)
				row = []string{name, ns, strings.Join(ratios, "; ")}
			}
			if row[1] == "" && len(missed)+absent == 0 {
				if met > 0 {
					rest = append(rest, name)
				}
				continue
			}
			t.Add(append(row, verdict(missed, met, absent))...)
		}
		if len(rest) > 0 {
			t.Add(strings.Join(rest, "; "), "", "", verdict(nil, len(rest), 0))
		}
		p.tables = append(p.tables, t)
	}
	if len(p.missing) > 0 {
		return nil, fmt.Errorf("these were not measured, or not beside the peers of their targets:\n%s",
			strings.Join(slices.Compact(p.missing), "\n"))
	}
	return p, nil
}

// lines returns what the runs have measured, by name.
func (p *page) lines() map[string]*Line {
	all := make(map[string]*Line)
	for _, r := range p.runs {
		for _, l := range r.Lines() {
			if all[l.row()] == nil {
				all[l.row()] = l
			}
		}
	}
	return all
}

// targets returns all targets, by the name of their line.
func (p *page) targets() map[string][]TargetLine {
	all := make(map[string][]TargetLine)
	for _, l := range TargetLines() {
		all[l.line] = append(all[l.line], l)
	}
	return all
}

// names returns the lines of a family: those with targets, in the order of the reports, and then
// those that a peer or a floor took part in.
func (p *page) names(family string, lines map[string]*Line, targets map[string][]TargetLine) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, l := range TargetLines() {
		if l.family == family && (lines[l.line] == nil || lines[l.line].Family == family) {
			add(l.line)
		}
	}
	for _, r := range p.runs {
		for _, l := range r.Lines() {
			beside := len(l.of[measure.NameFarad].ns) > 0 && l.Quickest(Floors)+l.Quickest(Others) != ""
			if l.Family == family && (beside || targets[l.row()] != nil) {
				add(l.row())
			}
		}
	}
	return names
}

// row returns the name of l's row, which is that of its targets.
func (l *Line) row() string {
	if l.Family == FamilyTasks {
		return strings.TrimPrefix(l.Name, "tasks/")
	}
	return l.Name
}

// ratioToBest formats farad's time divided by that of the quickest of names.
func (l *Line) ratioToBest(names []string) string {
	best := l.Quickest(names)
	if best == "" {
		return ""
	}
	return median("%.2f", l.Ratio(best)) + " " + best
}

func isEmpty(s string) bool { return s == "" }

// median formats the median of vs, nothing if there are none.
func median(format string, vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf(format, measure.Median(vs))
}

// verdicts judges the targets of a line. It returns those that are missed, and how many are met and
// how many could not be measured.
func (p *page) verdicts(targets []TargetLine) (missed []string, met, absent int) {
	for _, l := range targets {
		vs := l.measured(p.runs)
		switch {
		case vs == nil && l.cannotBe(p.runs):
			absent++
		case vs == nil && l.Target.Metric == table.Allocations: // with its line, which is missing, too
		case vs == nil:
			p.missing = append(p.missing, l.command())
		default:
			v := measure.Median(vs)
			p.sum.Judge(l.Target, v)
			if l.Target.Met(v) {
				met++
				continue
			}
			word := "missed"
			if l.Target.Aim {
				word = "aim missed"
			}
			what := strings.TrimPrefix(l.bounded(), "time ")
			missed = append(missed, fmt.Sprintf("**%s**: %s %s (%s)", word, what, l.figure(v), l.Target.Limit()))
		}
	}
	return missed, met, absent
}

// verdict is the cell of a row's targets.
func verdict(missed []string, met, absent int) string {
	if len(missed) == 0 && met > 0 {
		missed = append(missed, "met")
	}
	if absent > 0 {
		missed = append(missed, fmt.Sprintf("%d not measured", absent))
	}
	return strings.Join(missed, "; ")
}

// measured returns the figures of the first of the runs that has them.
func (l *TargetLine) measured(runs []*Report) []float64 {
	for _, r := range runs {
		if vs := l.figures(r); len(vs) > 0 {
			return vs
		}
	}
	return nil
}

// cannotBe reports whether the runs could not measure the line, because none of their builds has
// the peer.
func (l *TargetLine) cannotBe(runs []*Report) bool {
	sleeps := func(by string) bool {
		return slices.ContainsFunc(runs, func(r *Report) bool { return r.Machine.Sleep == by })
	}
	return l.Target.Peer == peers.NameMinimal && sleeps(measure.SleepChannels) && !sleeps(measure.SleepGopark)
}

// bounded returns what the target bounds.
func (l *TargetLine) bounded() string {
	bounded := strings.TrimSpace(string(l.Target.Metric) + " " + l.Target.Peer + l.Target.Than)
	if l.Target.Ours != "" {
		bounded = l.Target.Ours + ": " + bounded
	}
	return bounded
}

// figure formats a measured value.
func (l *TargetLine) figure(v float64) string {
	if slices.Contains(byteMetrics, l.Target.Metric) {
		return fmt.Sprintf("%.0f", v)
	}
	return l.Target.Figure(v)
}

// byteMetrics are measured in whole bytes.
var byteMetrics = []table.Metric{table.FutureBytes, table.GoroutineBytes, table.ArrayBytes, table.TaskBytes}

// command measures the line.
func (l *TargetLine) command() string {
	return measure.CommandLine([]string{"go", "run", "."}, []string{"-run", l.run})
}
