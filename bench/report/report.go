package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// A Report is everything that one run found out. As JSON it holds the raw rounds.
type Report struct {
	Machine    measure.Machine            `json:"machine"`
	Smoke      bool                       `json:"smoke,omitempty"` // the figures are void
	Rounds     int                        `json:"rounds"`
	Window     string                     `json:"window"`
	Warmup     string                     `json:"warmup"`
	Cells      []*semaphore.Result        `json:"cells"`
	Cancel     []*waiters.CancelResult    `json:"cancel"`
	Wake       []*waiters.WakeResult      `json:"wake"`
	Memory     []waiters.MemoryResult     `json:"memory"`
	Locks      locks.Results              `json:"locks"`
	Tasks      []*tasks.Result            `json:"tasks"`
	Jobs       []*jobs.Result             `json:"jobs"`
	Overload   []*overload.Result         `json:"overload,omitempty"`
	Variants   []array.HashResult         `json:"variants"`
	TaskMemory []waiters.TaskMemoryResult `json:"task_memory"`

	Compared *Comparison `json:"-"` // with another run
}

// JSON is the report with the raw rounds, as Load reads it.
func (r *Report) JSON() (string, error) {
	b, err := json.MarshalIndent(r, "", " ")
	return string(b) + "\n", err
}

// Text is the report for a terminal.
func (r *Report) Text() string {
	w := new(strings.Builder)
	for _, l := range r.Header() {
		fmt.Fprintf(w, "%-10s  %s\n", l[0], l[1])
	}
	tables, sum := r.Tables(false)
	for _, t := range tables {
		t.WriteText(w)
	}
	fmt.Fprintf(w, "\n%s\n", sum)
	if len(tables[0].Rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", wrap(semaphore.RatioNote, 100))
	}
	return w.String()
}

// Markdown is the report with all tables.
func (r *Report) Markdown() string {
	w := new(strings.Builder)
	fmt.Fprint(w, "# Benchmarks\n\nWritten by the program in `bench/`; its README says what is measured and how.\n\n")
	for _, l := range r.Header() {
		fmt.Fprintf(w, "- %s: %s\n", l[0], l[1])
	}
	tables, sum := r.Tables(true)
	fmt.Fprintf(w, "\n**%s**\n", sum)
	for _, t := range tables {
		t.WriteMarkdown(w)
	}
	return w.String()
}

// Header is what a reader has to know of the run, in pairs of a word and its value.
func (r *Report) Header() [][2]string {
	m := r.Machine
	lines := [][2]string{
		{"machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d", m.CPU, m.Cores, m.GOMAXPROCS)},
		{"system", m.System},
		{"load", cmp.Or(m.Load, measure.Unknown) + " before the run (averages over 1, 5 and 15 minutes)"},
		{"go", strings.TrimSpace(m.Go + " " + m.Build)},
		{"commit", m.Commit},
		{"date", m.Date.Format("2006-01-02 15:04 UTC")},
		{"command", "`" + m.Command + "`"},
		{"rounds", fmt.Sprintf("%d of %s after a warm-up of %s each", r.Rounds, r.Window, r.Warmup)},
	}
	if m.Peers != "" { // a run that was kept from before they were noted has none
		lines = slices.Insert(lines, 4, [2]string{"peers", m.Peers})
	}
	if m.Sleep != "" {
		lines = slices.Insert(lines, 4, [2]string{"sleep", m.Sleep})
	}
	return lines
}

// Tables returns the tables and the count of their verdicts.
func (r *Report) Tables(spreads bool) ([]*table.Table, *table.Tally) {
	sum := &table.Tally{Void: r.Smoke, Spreads: spreads}
	all := []*table.Table{
		semaphore.RatioTable(r.Cells, sum),
		r.overviewTable(),
		semaphore.RawTable(r.Cells),
		waiters.CancelTable(r.Cancel),
		waiters.WakeTable(r.Wake, sum),
		waiters.MemoryTable(r.Memory, sum),
		locks.Table(r.Locks, sum),
		capacitor.EveryTable(r.Locks),
		capacitor.WaitTable(r.Locks, sum),
		capacitor.HandOffTable(r.Locks, sum),
		locks.StormTable(r.Locks, sum),
		capacitor.FigureTable(r.Locks),
		capacitor.PlaneTable(r.Locks),
		jobs.Table(r.Jobs, sum),
		jobs.PoolTable(r.Jobs),
		overload.TenantTable(r.Overload, sum),
		overload.FloodTable(r.Overload, sum),
		capacitor.LaneTable(r.Locks),
		tasks.Table(r.Tasks, sum),
		waiters.TaskTable(r.TaskMemory, sum),
		array.Table(r.Variants, sum),
	}
	if r.Compared != nil {
		all = append(all, r.Compared.table)
	}
	return all, sum
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
