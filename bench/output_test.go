package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/render"
	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// What is drawn comes from the raw rounds, and is drawn as far as it is there.
func TestPlots(t *testing.T) {
	r := report.MadeUpCapacitor()
	draw := func(r *report.Report) (string, error) {
		t.Helper()
		dir := t.TempDir()
		raw, err := r.JSON()
		require.NoError(t, err)
		file := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
		c, err := parse([]string{"-plot", dir, file}, io.Discard)
		require.NoError(t, err)
		return dir, retell(c, io.Discard)
	}
	dir, err := draw(r)
	require.NoError(t, err)
	for name, words := range map[string][]string{
		render.FigureFile: {"Reciprocating, million/s", "Ticket", "LIFO", "MCS", "TTS", "bare", "B=10, bypass 0.99", "goroutines", "fairness", "256"},
		render.PlaneFile:  {"B = 32", "ns per acquisition", "fairness", "Q, places of the express lane", "1024"},
	} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(svg, []byte("<?xml")))
		for _, w := range words {
			require.True(t, bytes.Contains(svg, []byte(">"+w)), "no %q in %s", w, name)
		}
	}

	r.Locks = slices.DeleteFunc(r.Locks, func(l *locks.Result) bool { return l.Workload == locks.PlaneName })
	dir, err = draw(r)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, render.FigureFile))
	require.NoFileExists(t, filepath.Join(dir, render.PlaneFile))

	_, err = draw(&report.Report{})
	require.ErrorContains(t, err, "neither")
	fails := func(file string) error { return retell(config{plot: dir, from: []string{file}}, io.Discard) }
	require.ErrorIs(t, fails(filepath.Join(dir, "nothing.json")), fs.ErrNotExist)
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	require.ErrorAs(t, fails(bad), new(*json.SyntaxError))
	for _, args := range [][]string{{"-plot", "x"}, {"-plot", "x", "y", "z"}} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, "one file")
	}
}

func TestCompareTakesTwoFiles(t *testing.T) {
	was, smoke := saved(t, report.MadeUpAll()), report.MadeUpAll()
	c, err := parse([]string{"-compare", was, was}, io.Discard)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, retell(c, &out))
	require.Contains(t, out.String(), "BESIDE THE RUN BEFORE")
	require.Contains(t, out.String(), "\n0 of ")
	require.NotContains(t, out.String(), "MEDIANS", "nothing else is asked for")

	smoke.Smoke = true
	c.from = []string{saved(t, smoke)}
	require.ErrorContains(t, retell(c, &out), "void")
	c.compare = "no such file"
	require.Error(t, retell(c, &out))
	require.Error(t, run(c, io.Discard, io.Discard), "before anything is measured")
}

// saved writes r as a run does.
func saved(t *testing.T, r *report.Report) (file string) {
	t.Helper()
	raw, err := r.JSON()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
	return file
}

// The documents' tables can be written from what is measured, and the README has those that would
// be written now, whatever their figures.
func TestReadmeHasItsTables(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(file, readme, 0o600))

	var out bytes.Buffer
	require.NoError(
		t,
		retell(config{readme: file, from: []string{saved(t, &report.Report{}), saved(t, report.MadeUpAll())}}, &out),
	)
	require.Empty(t, out.String())
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	figure := regexp.MustCompile(`\b\d+(\.\d+)?\b`)
	require.Equal(t, figure.ReplaceAllString(string(readme), "0"),
		figure.ReplaceAllString(string(now), "0"),
		"go run . -readme ../README.md, with the files that docs/BENCHMARKS.md names")
	benchtest.HasAll(
		t, string(now),
		"| semaphore, uncontended | `x/sync` | 1.67 |",
		"| `mutex.Mutex`; `farad/sync.Mutex`, uncontended | `sync.Mutex` | 0.67; 0.67 |",
		"| memory of a waiting polled task | a waiting goroutine | 0.08 |",
	)
}

// The README's table is what the program makes of the runs that are kept.
func TestReadmeIsWhatTheResultsGive(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "README.md")
	require.NoError(t, os.WriteFile(file, readme, 0o600))
	c := config{readme: file, from: report.KeptRuns("results")}
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(readme), string(now), "go run . -readme ../README.md %s", strings.Join(c.from, " "))
}

func TestMetersTellRoundsWhereThereIsNoTerminal(t *testing.T) {
	var w bytes.Buffer
	m := newMeter(&w, 4)
	m.measured("a")
	m.round(0, 2)
	m.finish()
	require.Regexp(t, `^round 1 of 2: \S+s\n$`, w.String())
}

// The bar shows what was measured, how many there are, and how long it takes yet; in the end it is
// gone.
func TestBarShowsTheTimeLeft(t *testing.T) {
	var w bytes.Buffer
	m := &meter{w: &w, bar: newBar(&w, 4)}
	m.measured("contended-8x1/own/farad")
	m.round(0, 2)
	require.Contains(t, w.String(), "contended-8x1/own/farad")
	require.Contains(t, w.String(), "(1/4")
	require.Regexp(t, `\[\d+m?s:\d+m?s\]`, w.String())
	require.NotContains(t, w.String(), "round")
	m.finish()
	last := w.String()[strings.LastIndex(w.String(), "\r")+1:]
	require.Empty(t, strings.TrimSpace(last))
}

func TestQuickRunsStandForEveryFamily(t *testing.T) {
	c, err := parse([]string{"-quick", "-window", "7ms"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, quickRounds, c.rounds)
	require.Equal(t, 7*time.Millisecond, c.Window, "what is said goes")
	require.Equal(t, quickWarmup, c.Warmup)

	r := &report.Report{
		Cells:    semaphore.Plan(semaphore.Implementations, c.picks),
		Cancel:   waiters.PlanCancel(c.picks),
		Locks:    locks.Plan(report.LockWorkloads, c.picks),
		Tasks:    tasks.Plan(c.picks),
		Variants: array.Plan(c.picks),
		Wake:     waiters.PlanWake(c.picks, false),
		Jobs:     jobs.Plan(c.picks),
	}
	require.Len(t, r.Cells, 3)
	require.Len(t, r.Variants, 2*len(array.HashSizes))
	n := measurements(r)
	require.Less(t, n*quickRounds*int((quickWindow+quickWarmup+50*time.Millisecond).Milliseconds()),
		100_000, "%d measurements a round take too long", n)
	number := regexp.MustCompile(`-\d+(x\d+)?`)
	kind := func(workload string) string {
		return strings.TrimSuffix(number.ReplaceAllString(workload, ""), "-yield")
	}
	stands := map[string]bool{}
	for _, l := range r.Locks {
		stands[kind(l.Workload)] = true
	}
	for _, w := range report.LockWorkloads {
		k := kind(w.Name)
		variation := slices.Contains(
			[]string{"mutexbench-long", "mutexbench-outside", "mutexbench-sleep", "mutexbench-lifo"},
			k,
		)
		require.True(t, stands[k] || variation, "nothing stands for %s", w.Name)
	}
	for _, w := range jobs.Benches {
		require.True(t,
			slices.ContainsFunc(r.Jobs, func(l *jobs.Result) bool { return kind(l.Workload) == kind(w.Name) }),
			"nothing stands for %s", w.Name)
	}
	for _, name := range []string{"cancel/future/farad/1000", "cancel/goroutine/x/sync/1000", "wake/goroutine/x/sync/100000", "wake/future/farad/100000", "memory/future/farad", "tasks/memory/poll/farad"} {
		require.True(t, c.picks(name), name)
	}
	c, err = parse([]string{"-quick", "-run", "^locks/"}, io.Discard)
	require.NoError(t, err)
	require.False(t, c.picks("memory/future/farad"))
	require.True(t, c.picks("locks/mutex-8/farad"))
}

func TestTableOfTargets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	require.NoError(
		t,
		os.WriteFile(file, []byte("before\n"+report.TargetsBegin+"old\n"+report.TargetsEnd+"after\n"), 0o600),
	)
	long := report.MadeUpWithTargets()
	long.Window = "250ms"
	long.Cells, long.Tasks = nil, nil
	for _, l := range long.Locks {
		if l.Workload != "mutexbench-8" {
			clear(l.Samples)
		}
	}
	c, err := parse([]string{"-targets", file, saved(t, long), saved(t, report.MadeUpWithTargets())}, io.Discard)
	require.NoError(t, err)
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	benchtest.HasAll(
		t,
		string(now),
		"before\n"+report.TargetsBegin+"- `go run .`: commit abc, 2026-01-02 03:04 UTC, load \n- `go run .`",
		"| semaphore | uncontended/background | time ÷ floor | ≤ 1.25 | 2.50 (2.50–2.50) | **missed** | `go run . -run '^uncontended/background/'` |\n",
		"| semaphore | yield-held-8x2/own | time ÷ ring | ≤ 1.5 | 1.25 (1.25–1.25) | aim reached | ",
		"| semaphore | contended-8x1/background | fairness | ≥ 0.9 | 0.33 (0.33–0.33) | **missed** | ",
		"| semaphore | future, unsafe.Sizeof | bytes per waiting future | ≤ 128 | 88 | met | `go run . -window 250ms -run '^memory/future/farad$'` |\n",
		"| semaphore | future, heap | bytes per waiting future | ≤ 128 | 129 | **missed** | ",
		"| semaphore | goroutine, context own | bytes per waiting goroutine | ≤ 336 | 256 | met | ",
		"| semaphore | goroutine, context shared | bytes per waiting goroutine | ≤ 128 | 256 | **missed** | ",
		"| semaphore | goroutine, context shared | bytes per goroutine waiting on the array | ≤ 208 | 303 | **missed** | `go run . -window 250ms -run '^memory/goroutine/shared/farad, array$'` |\n",
		"| semaphore | goroutine, context shared | bytes per goroutine waiting on the array | ≤ 128 | 303 | aim missed | ",
		"| semaphore | goroutine, context own | bytes per goroutine waiting on the array | ≤ 336 | 303 | met | ",
		"| semaphore | wake/goroutine/1000000 | wakes per second ÷ channel | ≥ 1 | ",
		"| semaphore | yield-held-8x2/background | time ÷ x/sync | ≤ 1 | 2.50 (2.50–2.50) | **missed** | ",
		"| semaphore | yield-held-8x2/background | time ÷ x/sync | ≤ 0.75 | 2.50 (2.50–2.50) | aim missed | ",
		"| locks | hand-off-64 | farad, mutex.Mutex: p50 of hand-offs ÷ channel | ≤ 1 | ",
		"| locks | hand-off-64 | farad, semaphore: p99 of hand-offs ÷ channel | ≤ 1 | ",
		"| semaphore | 24 lines | allocs/op | ≤ 0.01 | 0.00 at most | met | `go run . -run '^[^/]+/[^/]+/farad$'` |\n| locks | mutex-1 |",
		"| locks | mutexbench-8 | fairness | ≥ 0.9 | 1.00 (1.00–1.00) | met | `go run . -window 250ms -run '^locks/mutexbench-8/'` |\n",
		"| locks | mutexbench-64 | fairness | ≥ 0.9 | 1.00 (1.00–1.00) | met | `go run . -run '^locks/mutexbench-64/'` |\n",
		"| locks | mutexbench-waits-64 | p99.9 of waits ÷ sync.Mutex | ≤ 0.5 | 1.00 (1.00–1.00) | **missed** | ",
		"| locks | mutexbench-waits-64 | p99.9 of arrivals' waits ÷ sync.Mutex | ≤ 0.5 | 0.50 (0.50–0.50) | met | ",
		"| locks | semabench-1024 | time ÷ its own in semabench-8 | ≤ 1.3 | 1.00 (1.00–1.00) | met | `go run . -run '^locks/semabench-.*/farad$'` |\n",
		"| hash functions | golden ratio (ours)/number/4096 | futile wakes per wake | ≤ 0.01 | 0.00 | met | ",
		"| tasks | await-ready/1 | ns beyond no await | ≤ 20 | -550.00 (-600.00–-500.00) | met | `go run . -run '^tasks/await-ready/1/'` |\n",
		"| tasks | await-hand-off/1 | time ÷ iter.Pull | ≤ 2.5 | 0.67 (0.67–0.67) | aim reached | ",
		"| tasks | poll task | bytes per waiting task | ≤ 200 | 184 | met | ",
		"| tasks | goroutine, channel | bytes of a goroutine ÷ of a task | ≥ 10 | 10.00 | met | ",
		"| tasks | 12 lines | allocs/op | ≤ 0.01 | 0.00 at most | met | `go run . -run '^tasks/.*/farad$'` |\n"+report.TargetsEnd+"after\n",
	)
	_, rows, _ := strings.Cut(string(now), "| --- | --- | --- | --- | --- | --- | --- |\n")
	met := strings.Count(rows, "| met |")
	missed := strings.Count(rows, "| **missed** |")
	aims := strings.Count(rows, "| aim ")
	tally := &table.Tally{
		Met:         met,
		Missed:      missed,
		Aims:        aims,
		AimsReached: strings.Count(rows, "| aim reached |"),
	}
	benchtest.HasAll(t, string(now), "\n**"+tally.String()+"**\n")
	lines := len(
		slices.DeleteFunc(
			report.TargetLines(),
			func(l report.TargetLine) bool { return l.Target.Metric == table.Allocations },
		),
	)
	absent := strings.Count(rows, "| not measured |")
	require.Equal(t, !peers.HasMinimalLock, absent > 0)
	require.Equal(t, lines+3, met+missed+aims+absent, "one for each, and three for allocations")
}
