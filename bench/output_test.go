package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// madeUpAll is a report of everything, in three rounds. What stands further behind in a line needs
// longer.
func madeUpAll() *report {
	r := &report{
		Machine: machine{
			CPU:        "a <b> & c",
			Cores:      2,
			GOMAXPROCS: 2,
			System:     "linux/amd64, kernel 6",
			Go:         "go1.26",
			Commit:     "abc",
			Command:    "go run .",
		},
		Rounds: 3, Window: "1s", Warmup: "1s",
		Cells: plan(
			implementations,
			everything,
		), Cancel: planCancel(everything), Locks: planLocks(everything), Tasks: planTasks(everything),
		Memory: []memoryResult{
			{"future, heap", nameFarad, 88, futureBytes},
			{"goroutine, context own", nameXSync, 288, goroutineBytes},
		},
		Wake:     planWake(everything, false),
		Jobs:     planJobs(everything),
		Variants: planVariants(func(s string) bool { return strings.HasPrefix(s, "variants/Mix32A/") }),
	}
	r.TaskMemory = madeUpTasks().TaskMemory
	for round := range r.Rounds {
		needs := func(i int) sample {
			return sample{NsPerOp: float64(100+50*i) * float64(10+round), Fairness: 1 / float64(i+1), Ops: 1000}
		}
		for _, c := range r.Cells {
			for i, im := range c.impls {
				c.Samples[im.name] = append(c.Samples[im.name], needs(i))
			}
		}
		for _, l := range r.Locks {
			for i, im := range l.impls {
				s := lockSample{sample: needs(i), LongestNs: int64(100_000 * (1 + 10*i))}
				if im.waits != nil {
					s.Waits = &waitSummary{Count: 1, P99: int64(100 * (i + 1)), Arrivals999: int64(1000 * (i + 1))}
				}
				l.Samples[im.name] = append(l.Samples[im.name], s)
			}
		}
		for _, l := range r.Tasks {
			for i, im := range l.impls {
				l.Samples[im.name] = append(l.Samples[im.name], taskSample{NsPerOp: needs(i).NsPerOp, Ops: 1000})
			}
		}
		for _, l := range r.Jobs {
			for i, im := range l.impls {
				s := jobSample{taskSample: taskSample{NsPerOp: needs(i).NsPerOp, Ops: 1000}}
				if im.waits != nil {
					s.Waits = &waitSummary{Count: 1, P99: int64(100 * (i + 1))}
				}
				l.Samples[im.name] = append(l.Samples[im.name], s)
			}
		}
		for _, c := range r.Cancel {
			c.NsPerCancel = append(c.NsPerCancel, float64(40+round))
		}
		for i, w := range r.Wake {
			w.NsPerWake = append(w.NsPerWake, float64(100*(i+1)+round))
		}
	}
	return r
}

// hasAll fails if text lacks one of wants; what it has instead is too long to be shown.
func hasAll(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		require.True(t, strings.Contains(text, want), "no %q", want)
	}
}

// saved writes r as a run does.
func saved(t *testing.T, r *report) (file string) {
	t.Helper()
	raw, err := r.json()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
	return file
}

// A run that is read tells what it told when it was measured, of every kind.
func TestARunIsReadAsItWas(t *testing.T) {
	r := madeUpAll()
	back, err := load(saved(t, r))
	require.NoError(t, err)
	require.Equal(t, r.markdown(), back.markdown())
	require.Equal(t, r.benchstat(), back.benchstat())
}

// Workloads and locks that the program no longer has keep their names, and what has samples is told
// of.
func TestARunOfAnotherProgramIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.json")
	require.NoError(t, os.WriteFile(file, []byte(`{
		"cells": [{"cell": "gone/shared", "samples": {"farad": [{"ns_per_op": 5}], "zeno": [{"ns_per_op": 10}]}}],
		"locks": [{"workload": "mutex-1", "samples": {"farad": [{"ns_per_op": 6}], "sync.Mutex": [{"ns_per_op": 5}], "zeno": [{"ns_per_op": 12}]}},
			{"workload": "lost-8", "samples": {"zeno": [{"ns_per_op": 12}]}}],
		"tasks": [{"workload": "past", "workers": 1, "samples": {"farad": [{"ns_per_op": 7}], "zeno": [{"ns_per_op": 14}]}}]
	}`), 0o600))
	r, err := load(file)
	require.NoError(t, err)
	hasAll(
		t,
		r.markdown(),
		"| gone | shared | zeno | 10.0 |",
		"| mutex-1 | sync.Mutex | 5.0 | 1.20 ≤",
		"| mutex-1 | zeno | 12.0 | 0.50 |",
		"| lost-8 | zeno | 12.0 |",
		"| past | 1 | zeno | 7.0 | 14.0 | 0.50 |",
	)
}

// The page is well-formed, has every table with all its rows, and refers to nothing outside of
// itself.
func TestPageStandsAlone(t *testing.T) {
	r := madeUpAll()
	was := madeUpAll()
	was.Cells[0].Samples[nameFarad] = []sample{{NsPerOp: 1}, {NsPerOp: 1}, {NsPerOp: 1}}
	r.compared = compared(was, r)
	drawings := append(r.ratioDrawings(), r.capacitorDrawings()...)
	require.Len(t, drawings, 6)
	page, err := r.page(drawings)
	require.NoError(t, err)

	count, dec := map[string]int{}, xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		_, head := token.(xml.ProcInst)
		require.False(t, head, "the head of a file within a page")
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		count[start.Name.Local]++
		require.NotContains(t, []string{"script", "link", "img", "iframe", "image", "use"}, start.Name.Local)
		for _, a := range start.Attr {
			if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" { // names, which nobody fetches
				continue
			}
			require.NotContains(t, []string{"src", "href", "srcset"}, a.Name.Local)
			require.NotContains(t, a.Value, "url(")
		}
	}
	require.NotRegexp(t, regexp.MustCompile(`@import|url\(`), page)
	tables, sum := r.tables(true)
	rows := 0
	for _, tab := range tables {
		require.NotEmpty(t, tab.rows, "%s: the made-up report is to have every table", tab.title)
		hasAll(t, page, "<h2>"+tab.title+"</h2>")
		rows += 1 + len(tab.rows)
	}
	require.Equal(t, len(tables), count["table"])
	require.Equal(t, rows, count["tr"])
	require.Equal(t, 2*len(drawings), count["svg"], "for wide and for narrow screens")
	hasAll(
		t,
		page,
		`name="viewport" content="width=device-width`,
		"prefers-color-scheme: dark",
		"overflow-x: auto",
		"a &lt;b&gt; &amp; c",
		"<dd>go run .</dd>",
		sum.String(),
		`<td class="n bad">`,
		`<td class="n good">`,
		`<td class="bad">worse</td>`,
		"<li>worse ",
	)
	require.Equal(
		t,
		count["table"]+count["svg"],
		strings.Count(page, `<div class="wide`),
		"what is wide scrolls by itself",
	)
}

func TestPlotsOfRatiosNameTheirLines(t *testing.T) {
	r := madeUpAll()
	for _, d := range r.ratioDrawings() {
		svg := d.svg()
		hasAll(t, svg, ">best peer<")
		named, all := 0, 0
		for _, l := range r.lines() {
			if strings.Contains(d.file, l.family) {
				all++
				if strings.Contains(svg, ">"+l.name+"<") {
					named++
				}
			}
		}
		require.Greater(t, named, min(9, all-1), d.file)
	}
	require.Empty(t, (&report{}).ratioDrawings())
}

// The floor is not a peer, nor is what is ours.
func TestOverviewTellsPeersFromFloors(t *testing.T) {
	md := madeUpAll().markdown()
	hasAll(t, md,
		"| uncontended/background | floor | x/sync | 2750.0 | 2500.0–3000.0 | 2.50 (2.50–2.50) | 1.67 (1.67–1.67) |",
		"| yield-held-8x2/own | ring | x/sync |",
		"| word-1 | fetch-or | sync.Mutex |",
		"| tasks/await-yield/1 | iter.Pull |  |",
		"| cancel/goroutine/1000 |  | x/sync | 41.0 | 40.0–42.0 |  | 1.00 (1.00–1.00) |",
	)
	for _, l := range madeUpAll().lines() {
		if peer := l.quickest(others); peer != "" {
			require.NotContains(t, peer, nameFarad)
		}
	}
}

// Whoever has a target as a peer is a floor, somebody else's, or ours.
func TestPeersOfTargetsAreKnown(t *testing.T) {
	for _, tg := range slices.Concat(targets, lockTargets, taskTargets) {
		if tg.peer != "" && !strings.HasPrefix(tg.peer, nameFarad) {
			require.True(t, slices.Contains(floors, tg.peer) != slices.Contains(others, tg.peer), tg.peer)
		}
	}
}

func TestBenchstatReadsTheRounds(t *testing.T) {
	text := madeUpAll().benchstat()
	require.True(
		t,
		strings.HasPrefix(text, "goos: linux\ngoarch: amd64\npkg: github.com/farad-go/farad/bench\ncpu: a <b> & c\n"),
		text[:200],
	)
	format := regexp.MustCompile(`^Benchmark[A-Z]\S*/impl=[^\s/]+-2\t[1-9]\d*\t\d+\.\d+ ns/op(\t\d+\.\d+ allocs/op)?$`)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")[4:]
	for _, l := range lines {
		require.Regexp(t, format, l)
	}
	round := "BenchmarkContended-8x1/own/impl=x_sync-2\t1000\t"
	require.Equal(t, 3, strings.Count(text, round))
	hasAll(t, text, round+"1000.0000 ns/op\t0.0000 allocs/op\n"+round+"1100.0000 ns/op")
	hasAll(t, text, "BenchmarkCancel/future/1000/impl=farad-2\t1\t42.0000 ns/op\n")
	require.True(t, strings.Contains(text, "/impl=wrapped_sync.Mutex,_B=10,_bypass_0.99-2\t"))
}

// The documents' tables can be written from what is measured, and the README has those that would
// be written now, whatever their figures.
func TestReadmeHasItsTables(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(file, readme, 0o600))

	var out bytes.Buffer
	require.NoError(t, retell(config{readme: file, from: []string{saved(t, &report{}), saved(t, madeUpAll())}}, &out))
	require.Empty(t, out.String())
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	figure := regexp.MustCompile(`\b\d+(\.\d+)?\b`)
	require.Equal(
		t,
		figure.ReplaceAllString(string(readme), "0"),
		figure.ReplaceAllString(string(now), "0"),
		"go run . -readme ../README.md, with the files that docs/BENCHMARKS.md names",
	)
	hasAll(t, string(now), "| uncontended | 1.67 | 1.25 |")
	hasAll(t, string(now), "| 0.1 ms, 2 ms, 3 ms |")
	hasAll(t, string(now), "÷ a goroutine's | 0.08 |")
}

// The README and its plot are what the program makes of the runs that are kept.
func TestReadmeIsWhatTheResultsGive(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "README.md")
	require.NoError(t, os.WriteFile(file, readme, 0o600))
	c := config{readme: file, from: keptRuns}
	require.NoError(t, retell(c, io.Discard))
	for _, name := range []string{"README.md", readmePlotFile} {
		now, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.True(
			t,
			bytes.Equal(now, committed),
			"%s is old: go run . -readme ../README.md %s",
			name,
			strings.Join(c.from, " "),
		)
	}
}

func TestReadmeIsNotSpoilt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	const text = "before\n" + readmeBegin + "old\n" + readmeEnd + "after\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	less := madeUpAll()
	less.Locks = nil
	smoke := madeUpAll()
	smoke.Smoke = true
	require.ErrorContains(t, writeReadme(file, less), "mutex-1 was not measured beside sync.Mutex")
	require.ErrorContains(t, writeReadme(file, smoke), "void")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(now))
	require.NoDirExists(t, filepath.Join(filepath.Dir(file), "docs"))

	require.NoError(t, writeReadme(file, madeUpAll()))
	now, err = os.ReadFile(file)
	require.NoError(t, err)
	require.True(
		t,
		strings.HasPrefix(string(now), "before\n"+readmeBegin+"![") &&
			strings.HasSuffix(string(now), " |\n"+readmeEnd+"after\n"),
		"%s",
		now,
	)

	require.NoError(t, os.WriteFile(file, []byte("no markers\n"), 0o600))
	require.ErrorContains(t, writeReadme(file, madeUpAll()), "bench:begin")
}

func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0.054: "0.05", 0.98: "0.98", 1.994: "1.99", 1.996: "2.0", 6.43: "6.4", 9.96: "10", 10.19: "10", 133: "133"} {
		require.Equal(t, want, threeDigits(v))
	}
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
	require.Equal(t, 7*time.Millisecond, c.window, "what is said goes")
	require.Equal(t, quickWarmup, c.warmup)

	r := &report{
		Cells:    plan(implementations, c.picks),
		Cancel:   planCancel(c.picks),
		Locks:    planLocks(c.picks),
		Tasks:    planTasks(c.picks),
		Variants: planVariants(c.picks),
		Wake:     planWake(c.picks, false),
		Jobs:     planJobs(c.picks),
	}
	require.Len(t, r.Cells, 3)
	require.Len(t, r.Variants, 2*len(marchSizes))
	n := r.measurements()
	require.Less(
		t,
		n*quickRounds*int((quickWindow+quickWarmup+50*time.Millisecond).Milliseconds()),
		100_000,
		"%d measurements a round take too long",
		n,
	)
	number := regexp.MustCompile(`-\d+(x\d+)?`)
	kind := func(workload string) string {
		return strings.TrimSuffix(number.ReplaceAllString(workload, ""), "-yield")
	}
	stands := map[string]bool{}
	for _, l := range r.Locks {
		stands[kind(l.Workload)] = true
	}
	for _, w := range lockWorkloads {
		k := kind(w.name)
		variation := slices.Contains(
			[]string{"mutexbench-long", "mutexbench-outside", "mutexbench-sleep", "mutexbench-lifo"},
			k,
		)
		require.True(t, stands[k] || variation, "nothing stands for %s", w.name)
	}
	for _, w := range jobWorkloads {
		require.True(
			t,
			slices.ContainsFunc(r.Jobs, func(l *jobResult) bool { return kind(l.Workload) == kind(w.name) }),
			"nothing stands for %s",
			w.name,
		)
	}
	for _, name := range []string{"cancel/future/farad/1000", "cancel/goroutine/x/sync/1000", "wake/goroutine/x/sync/100000", "wake/future/farad/100000", "memory/future/farad", "tasks/memory/poll/farad"} {
		require.True(t, c.picks(name), name)
	}
	c, err = parse([]string{"-quick", "-run", "^locks/"}, io.Discard)
	require.NoError(t, err)
	require.False(t, c.picks("memory/future/farad"))
	require.True(t, c.picks("locks/mutex-8/farad"))
}
