package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A report is everything that one run found out. As JSON it holds the raw rounds.
type report struct {
	Machine    machine            `json:"machine"`
	Smoke      bool               `json:"smoke,omitempty"` // the figures are void
	Rounds     int                `json:"rounds"`
	Window     string             `json:"window"`
	Warmup     string             `json:"warmup"`
	Cells      []*cellResult      `json:"cells"`
	Cancel     []*cancelResult    `json:"cancel"`
	Wake       []*wakeResult      `json:"wake"`
	Memory     []memoryResult     `json:"memory"`
	Locks      []*lockResult      `json:"locks"`
	Tasks      []*taskResult      `json:"tasks"`
	Jobs       []*jobResult       `json:"jobs"`
	Variants   []marchResult      `json:"variants"`
	TaskMemory []taskMemoryResult `json:"task_memory"`

	compared *comparison // with another run
}

func (r *report) json() (string, error) {
	b, err := json.MarshalIndent(r, "", " ")
	return string(b) + "\n", err
}

func (r *report) text() string {
	w := new(strings.Builder)
	for _, l := range r.header() {
		fmt.Fprintf(w, "%-10s  %s\n", l[0], l[1])
	}
	tables, sum := r.tables(false)
	for _, t := range tables {
		t.writeText(w)
	}
	fmt.Fprintf(w, "\n%s\n", sum)
	if len(tables[0].rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", wrap(ratioNote, 100))
	}
	return w.String()
}

func (r *report) markdown() string {
	w := new(strings.Builder)
	fmt.Fprint(w, "# Benchmarks\n\nWritten by the program in `bench/`; its README says what is measured and how.\n\n")
	for _, l := range r.header() {
		fmt.Fprintf(w, "- %s: %s\n", l[0], l[1])
	}
	tables, sum := r.tables(true)
	fmt.Fprintf(w, "\n**%s**\n", sum)
	for _, t := range tables {
		t.writeMarkdown(w)
	}
	return w.String()
}

func (r *report) header() [][2]string {
	m := r.Machine
	lines := [][2]string{
		{"machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d", m.CPU, m.Cores, m.GOMAXPROCS)},
		{"system", m.System},
		{"load", cmp.Or(m.Load, unknown) + " before the run (averages over 1, 5 and 15 minutes)"},
		{"go", strings.TrimSpace(m.Go + " " + m.Build)},
		{"commit", m.Commit},
		{"date", m.Date.Format("2006-01-02 15:04 UTC")},
		{"command", "`" + m.Command + "`"},
		{"rounds", fmt.Sprintf("%d of %s after a warm-up of %s each", r.Rounds, r.Window, r.Warmup)},
	}
	if m.Peers != "" { // a run that was kept from before they were noted has none
		lines = slices.Insert(lines, 4, [2]string{"peers", m.Peers})
	}
	return lines
}

const (
	ratioNote = "A ratio is farad's time divided by the peer's, lower is better: the median over the rounds of the" +
		" quotients inside a round, in which all implementations of a cell run one after another. What else the" +
		" machine does slows both sides of a quotient, so ratios can be compared between runs; absolute times cannot."
	rawNote = "Wall time of the whole cell per acquire and release, allocations of the whole process per acquire and" +
		" release, and the count of the goroutine that did least divided by that of the one that did most: medians" +
		" over the rounds."
	cancelNote = "Waiters in the middle of a queue are cancelled. A goroutine's figure ends when it has returned," +
		" a future's when its Cancel has. Whatever grows with the queue here is cache misses or work."
	memoryNote = "Live heap beyond that of as many goroutines in a bare channel receive; stacks, and contexts with" +
		" their done channels, are not in it."
)

// tables returns the tables and the count of their verdicts.
func (r *report) tables(spreads bool) ([]*table, *tally) {
	sum := &tally{void: r.Smoke, spreads: spreads}
	all := []*table{
		r.ratioTable(
			sum,
		), r.overviewTable(), r.rawTable(), r.cancelTable(), r.wakeTable(), r.memoryTable(sum), r.lockTable(sum), r.everyTable(), r.waitTable(sum), r.handOffTable(), r.stormTable(sum), r.figureTable(), r.planeTable(), r.jobTable(sum), r.poolTable(), r.laneTable(), r.taskTable(sum), r.taskMemoryTable(sum), variantTable(r.Variants, sum),
	}
	if r.compared != nil {
		all = append(all, r.compared.table)
	}
	return all, sum
}

// ratioTable has a line a cell and a column a peer.
func (r *report) ratioTable(sum *tally) *table {
	t := &table{
		title: "Ratios, farad ÷ peer",
		note:  ratioNote,
		head:  []string{"workload", "context"},
		left:  2,
	}
	for _, p := range peerNames {
		t.head = append(t.head, "÷ "+p)
	}
	t.head = append(t.head, string(minFairness), string(allocations))
	for _, c := range r.Cells {
		if c.Samples[nameFarad] == nil {
			continue
		}
		entry := func(m metric, peer string, vs []float64) string {
			return sum.entry(m, targetFor(c.cell, m, peer), vs)
		}
		row := []string{c.cell.name, string(c.cell.form)}
		ours := c.Samples.column(nameFarad, nsPerOp)
		for _, p := range peerNames {
			row = append(row, entry(ratioTo, p, ratios(ours, c.Samples.column(p, nsPerOp))))
		}
		row = append(row,
			entry(minFairness, "", c.Samples.column(nameFarad, fairnessOf)),
			entry(allocations, "", c.Samples.column(nameFarad, allocsPerOp)))
		t.add(row...)
	}
	return t
}

// rawTable has a line for each implementation of a cell.
func (r *report) rawTable() *table {
	t := &table{
		title: "Medians",
		note:  rawNote,
		head:  []string{"workload", "context", "implementation", "ns/op", "min–max", "fairness", "allocs/op"},
		left:  3,
	}
	for _, c := range r.Cells {
		for _, im := range c.impls {
			ns := c.Samples.column(im.name, nsPerOp)
			if ns == nil {
				continue
			}
			t.add(c.cell.name, string(c.cell.form), im.name,
				fmt.Sprintf("%.1f", median(ns)), spread("%.1f", ns),
				fmt.Sprintf("%.2f%s", median(c.Samples.column(im.name, fairnessOf)), idleNote(c.Samples[im.name])),
				fmt.Sprintf("%.2f", median(c.Samples.column(im.name, allocsPerOp))))
		}
	}
	return t
}

// idleNote says how many goroutines did nothing in the warm-up of the worst round, if any.
func idleNote(samples []sample) string {
	worst := 0
	for _, s := range samples {
		worst = max(worst, s.Idle)
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d idle)", worst)
}

func (r *report) cancelTable() *table {
	t := &table{
		title: "Cancel one of n waiters",
		note:  cancelNote,
		head:  []string{"waiter", "implementation", "n", "ns per cancel", "min–max"},
		left:  2,
	}
	for _, c := range r.Cancel {
		t.add(c.Waiter, c.Impl, fmt.Sprint(c.Waiters),
			fmt.Sprintf("%.0f", median(c.NsPerCancel)), spread("%.0f", c.NsPerCancel))
	}
	return t
}

func (r *report) memoryTable(sum *tally) *table {
	t := &table{
		title: "Memory of one waiter",
		note:  memoryNote,
		head:  []string{"waiter", "implementation", "bytes", "target"},
		left:  2,
	}
	for _, m := range r.Memory {
		var bound *target
		if m.Impl == nameFarad || m.Impl == nameArray {
			bound = targetFor(cell{}, m.metric, "")
		}
		t.add(m.Waiter, m.Impl, strconv.Itoa(int(math.Round(m.Bytes))), sum.judge(bound, m.Bytes))
	}
	return t
}

// wrap breaks text into lines of at most width bytes, if no word is longer.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
