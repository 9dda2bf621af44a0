package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/waiters"
)

// What stands between these in a document is written by -builds.
const (
	BuildsBegin = "<!-- builds:begin -->\n"
	BuildsEnd   = "<!-- builds:end -->\n"
)

// A buildsRow is a figure of both builds: a ratio, or the bytes of a goroutine that waits.
type buildsRow struct {
	what string
	line string // of a ratio, as Lines has it
	peer string
	impl string       // of bytes: whose
	form measure.Form // of bytes: the goroutine's context
	run  string       // what -run takes, without the implementation
}

// buildsRows are what differs between a build that sleeps by gopark and one that sleeps in
// channels.
var buildsRows = []buildsRow{
	cellRow("semaphore, uncontended", "uncontended", measure.Background, peers.NameXSync),
	cellRow("semaphore, 8 goroutines", "contended-8x1", measure.Background, peers.NameChannel),
	cellRow("semaphore, 8 goroutines", "contended-8x1", measure.Background, peers.NameXSync),
	cellRow("semaphore, 64 goroutines", "contended-64x1", measure.Background, peers.NameChannel),
	cellRow("semaphore, 8 goroutines, one context", "contended-8x1", measure.Shared, peers.NameChannel),
	cellRow("semaphore, 8 goroutines, a context each", "contended-8x1", measure.Own, peers.NameChannel),
	cellRow("semaphore, 8 on 2 permits, a yield", "yield-held-8x2", measure.Background, peers.NameChannel),
	cellRow("semaphore, 8 on 2 permits, a yield", "yield-held-8x2", measure.Background, peers.NameXSync),
	cellRow("semaphore, 1000 on 2 permits, a yield", "yield-held-1000x2", measure.Background, peers.NameChannel),
	lockRow("semaphore, time limit, 8 goroutines", "timeout-8", locks.NameChannelTimer),
	lockRow("mutex, 8 goroutines", "mutex-8", peers.NameChannel),
	lockRow("mutex, 8 goroutines", "mutex-8", peers.NameFifomu),
	lockRow("RWLock, 90 % readers, a yield", "mix-90-8-yield", locks.NameRWMutex),
	lockRow("twa, 64 goroutines", "semabench-64", peers.NameXSync),
	{"tasks, 8 on 2 permits, 1 worker", "tasks/hand-off-8x2/1", peers.NameXSync, "", "", "tasks/hand-off-8x2/1"},
	bytesRow("a waiting goroutine", measure.Background, measure.NameFarad),
	bytesRow("the same, one context", measure.Shared, measure.NameFarad),
	bytesRow("the same, a context each", measure.Own, measure.NameFarad),
	bytesRow("the same on the waiting array", measure.Background, peers.NameArray),
}

func cellRow(what, workload string, f measure.Form, peer string) buildsRow {
	name := workload + "/" + string(f)
	return buildsRow{what: what, line: name, peer: peer, run: name}
}

func lockRow(what, workload, peer string) buildsRow {
	return buildsRow{what: what, line: workload, peer: peer, run: "locks/" + workload}
}

func bytesRow(what string, f measure.Form, impl string) buildsRow {
	return buildsRow{what: what, impl: impl, form: f, run: "memory/goroutine/" + string(f)}
}

// BuildsRun returns what -run takes to measure all that the table of the builds has.
func BuildsRun() string {
	names := make([]string, 0, 2*len(buildsRows))
	for _, r := range buildsRows {
		names = append(names, regexp.QuoteMeta(r.run+"/"+measure.NameFarad))
		if beside := r.peer + r.impl; beside != measure.NameFarad {
			names = append(names, regexp.QuoteMeta(r.run+"/"+beside))
		}
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}

// figures returns those of the row in a run, nil if it was not measured.
func (row buildsRow) figures(r *Report) []float64 {
	if row.impl != "" {
		return bytesOf(r.Memory, waiters.WaiterWith(row.form), row.impl)
	}
	for _, l := range r.Lines() {
		if l.Name == row.line {
			return l.Ratio(row.peer)
		}
	}
	return nil
}

// WriteBuilds puts a table of what both builds need into a file, between the markers. Each figure
// comes from the first run of its build that has it.
func WriteBuilds(file string, runs ...*Report) error {
	text, err := buildsText(runs...)
	if err != nil {
		return fmt.Errorf("-builds: %w", err)
	}
	return Insert(file, BuildsBegin, BuildsEnd, text)
}

func buildsText(runs ...*Report) (string, error) {
	if err := AnyVoid(runs); err != nil {
		return "", err
	}
	t := &table.Table{
		Head: []string{"what", "farad ÷", measure.SleepGopark, "portable: " + measure.SleepChannels},
		Left: 2,
	}
	var missing []string
	for _, row := range buildsRows {
		cells := []string{row.what, row.peer}
		if row.impl != "" {
			cells[1] = "bytes"
		}
		for _, sleep := range []string{measure.SleepGopark, measure.SleepChannels} {
			vs := row.of(runs, sleep)
			switch {
			case vs == nil:
				missing = append(missing, fmt.Sprintf("%s: -run '^%s/'", sleep, row.run))
			case row.impl != "":
				cells = append(cells, fmt.Sprintf("%.0f", measure.Median(vs)))
			default:
				cells = append(cells, measure.MedianAndSpread(vs))
			}
		}
		t.Add(cells...)
	}
	if missing != nil {
		return "", fmt.Errorf("these were not measured:\n%s", strings.Join(slices.Compact(missing), "\n"))
	}
	w := new(strings.Builder)
	t.WriteRows(w)
	return w.String(), nil
}

// of returns the row's figures in the first of the runs of a build that has them.
func (row buildsRow) of(runs []*Report, sleep string) []float64 {
	for _, r := range runs {
		if r.Machine.Sleep != sleep {
			continue
		}
		if vs := row.figures(r); len(vs) > 0 {
			return vs
		}
	}
	return nil
}
