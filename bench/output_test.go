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
	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/render"
	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// What is drawn comes from the raw rounds, and is drawn as far as it is there.
func TestPlots(t *testing.T) {
	r := report.MadeUpCapacitor()
	draw := func(r *report.Report) string {
		t.Helper()
		dir := t.TempDir()
		c, err := parse([]string{"-out", dir, saved(t, r)}, io.Discard)
		require.NoError(t, err)
		require.NoError(t, retell(c, io.Discard))
		return dir
	}
	dir := draw(r)
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
	dir = draw(r)
	require.FileExists(t, filepath.Join(dir, render.FigureFile))
	require.NoFileExists(t, filepath.Join(dir, render.PlaneFile))
}

func TestRunsThatCannotBeReadAreRefused(t *testing.T) {
	dir := t.TempDir()
	fails := func(file string) error { return retell(config{from: []string{file}}, io.Discard) }
	require.ErrorIs(t, fails(filepath.Join(dir, "nothing.json")), fs.ErrNotExist)
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	require.ErrorAs(t, fails(bad), new(*json.SyntaxError))
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

// The page of the runs that are kept is what the program makes of them.
func TestResultsPageIsWhatTheResultsGive(t *testing.T) {
	files, err := filepath.Glob("results/*.json")
	require.NoError(t, err)
	page := filepath.Join(t.TempDir(), report.ResultsPage)
	c, err := parse(append([]string{"-page", page}, files...), io.Discard)
	require.NoError(t, err)
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(page)
	require.NoError(t, err)
	was, err := os.ReadFile(filepath.Join("results", report.ResultsPage))
	require.NoError(t, err)
	require.True(t, string(was) == string(now), "go run . -page results/README.md results/*.json")
}
