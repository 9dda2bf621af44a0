package main

import (
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

// keptRuns are those whose figures the documents have.
var keptRuns = []string{
	"results/semaphore.json",
	"results/locks.json",
	"results/array.json",
	"results/tasks.json",
	"results/capacitor.json",
}

// madeUpWithTargets is a report of everything that has a target.
func madeUpWithTargets() *report {
	r := madeUpAll()
	r.Window = usualWindow.String()
	r.Machine.Date = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Memory = []memoryResult{
		{waiterFuture, nameFarad, 88, futureBytes},
		{waiterFutureHeap, nameFarad, 129, futureBytes},
	}
	for _, f := range allForms {
		r.Memory = append(
			r.Memory,
			memoryResult{waiterWith(f), nameFarad, 256, goroutineBytes},
			memoryResult{waiterWith(f), nameArray, 303, arrayBytes},
		)
	}
	r.Variants = planVariants(func(s string) bool { return strings.HasPrefix(s, "variants/golden") })
	r.TaskMemory = []taskMemoryResult{{memoryResult{waiterPollTask, nameFarad, 184, taskBytes}, 1}}
	for _, im := range lockers() {
		r.TaskMemory = append(
			r.TaskMemory,
			taskMemoryResult{memoryResult{waiterGoroutine, im.name, 1840, goroutineTimes}, 1},
		)
	}
	for _, l := range r.Locks {
		for _, im := range l.impls {
			for i := range l.Samples[im.name] {
				if s := &l.Samples[im.name][i]; s.Waits != nil {
					s.Waits.P999 = 777
				}
			}
		}
	}
	return r
}

func TestEveryTargetHasItsLines(t *testing.T) {
	lines := targetLines()
	for _, tg := range slices.Concat(targets, lockTargets, variantTargets, taskTargets) {
		is := func(l targetLine) bool {
			return l.target.metric == tg.metric && l.target.peer == tg.peer && l.target.bound == tg.bound &&
				l.target.aim == tg.aim
		}
		require.True(t, slices.ContainsFunc(lines, is), "%+v", tg)
		var names []string
		for _, name := range tg.workloads {
			if tg.forms == nil {
				names = append(names, name)
			}
			for _, f := range tg.forms {
				names = append(names, cell{workload{name: name}, f}.String())
			}
		}
		for _, name := range names {
			require.True(
				t,
				slices.ContainsFunc(
					lines,
					func(l targetLine) bool { return is(l) && (l.line == name || strings.HasPrefix(l.line, name+"/")) },
				),
				"%s: %+v",
				name,
				tg,
			)
		}
	}
}

// What stands in the last column measures what stands in the others.
func TestCommandsMeasureTheirLines(t *testing.T) {
	whole, checked := madeUpWithTargets(), map[string]*report{}
	for _, l := range targetLines() {
		r := checked[l.run]
		if r == nil {
			require.NotContains(t, l.run, "|", "which would end a cell of the table")
			picks := regexp.MustCompile(l.run).MatchString
			r = &report{
				Cells:    plan(implementations, picks),
				Locks:    planLocks(picks),
				Tasks:    planTasks(picks),
				Variants: planVariants(picks),
			}
			copySamples(r, whole)
			if strings.Contains(l.run, "memory") {
				var err error
				r.Memory, err = runMemory(picks, 5*time.Second)
				require.NoError(t, err)
				r.TaskMemory, err = runTaskMemory(picks, 5*time.Second, true)
				require.NoError(t, err)
			}
			checked[l.run] = r
		}
		require.NotEmpty(t, l.figures(r), "%s %s: %s", l.line, l.bounded(), l.run)
		require.NotEmpty(t, l.figures(whole), "%s %s", l.line, l.bounded())
		require.Empty(t, l.figures(&report{}))
	}
	for family, run := range familyRuns {
		for _, l := range targetLines() {
			if l.family == family && l.target.metric == allocations {
				name := strings.Trim(strings.ReplaceAll(l.run, `\`, ""), "^/") + "/" + nameFarad
				require.Regexp(t, run, name)
			}
		}
	}
}

// copySamples gives to what is planned in r what was measured in the whole.
func copySamples(r, whole *report) {
	for _, c := range r.Cells {
		i := slices.IndexFunc(whole.Cells, func(o *cellResult) bool { return o.Name == c.Name })
		for _, im := range c.impls {
			c.Samples[im.name] = whole.Cells[i].Samples[im.name]
		}
	}
	for _, c := range r.Locks {
		i := slices.IndexFunc(whole.Locks, func(o *lockResult) bool { return o.Workload == c.Workload })
		for _, im := range c.impls {
			c.Samples[im.name] = whole.Locks[i].Samples[im.name]
		}
	}
	for _, c := range r.Tasks {
		i := slices.IndexFunc(whole.Tasks, func(o *taskResult) bool { return o.key() == c.key() })
		for _, im := range c.impls {
			c.Samples[im.name] = whole.Tasks[i].Samples[im.name]
		}
	}
}

func TestTableOfTargets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+targetsBegin+"old\n"+targetsEnd+"after\n"), 0o600))
	long := madeUpWithTargets()
	long.Window = "250ms"
	long.Cells, long.Tasks = nil, nil
	for _, l := range long.Locks {
		if l.Workload != "mutexbench-8" {
			clear(l.Samples)
		}
	}
	c, err := parse([]string{"-targets", file, saved(t, long), saved(t, madeUpWithTargets())}, io.Discard)
	require.NoError(t, err)
	require.NoError(t, retell(c, io.Discard))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	hasAll(
		t,
		string(now),
		"before\n"+targetsBegin+"- `go run .`: commit abc, 2026-01-02 03:04 UTC, load \n- `go run .`",
		"| semaphore | uncontended/background | time ÷ floor | ≤ 1.25 | 2.50 (2.50–2.50) | **missed** | `go run . -run '^uncontended/background/'` |\n",
		"| semaphore | yield-held-8x2/own | time ÷ ring | ≤ 1.5 | 1.25 (1.25–1.25) | aim reached | ",
		"| semaphore | contended-8x1/background | fairness | ≥ 0.9 | 0.33 (0.33–0.33) | **missed** | ",
		"| semaphore | future, unsafe.Sizeof | bytes per waiting future | ≤ 128 | 88 | met | `go run . -window 250ms -run '^memory/future/farad$'` |\n",
		"| semaphore | future, heap | bytes per waiting future | ≤ 128 | 129 | **missed** | ",
		"| semaphore | goroutine, context own | bytes per waiting goroutine | ≤ 256 | 256 | met | ",
		"| semaphore | goroutine, context own | bytes per goroutine waiting on the array | ≤ 96 | 303 | **missed** | `go run . -window 250ms -run '^memory/goroutine/own/farad, array$'` |\n",
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
		"| tasks | 12 lines | allocs/op | ≤ 0.01 | 0.00 at most | met | `go run . -run '^tasks/.*/farad$'` |\n"+targetsEnd+"after\n",
	)
	_, rows, _ := strings.Cut(string(now), "| --- | --- | --- | --- | --- | --- | --- |\n")
	met, missed, aims := strings.Count(
		rows,
		"| met |",
	), strings.Count(
		rows,
		"| **missed** |",
	), strings.Count(
		rows,
		"| aim ",
	)
	hasAll(
		t,
		string(now),
		"\n**"+(&tally{met: met, missed: missed, aims: aims, aimsReached: strings.Count(rows, "| aim reached |")}).String()+"**\n",
	)
	lines := len(slices.DeleteFunc(targetLines(), func(l targetLine) bool { return l.target.metric == allocations }))
	require.Equal(t, lines+3, met+missed+aims, "one for each, and three for allocations")
}

// The one who allocates most speaks for all.
func TestAllocationsOfOneLineAreSeen(t *testing.T) {
	r := madeUpWithTargets()
	for _, c := range r.Cells {
		if c.Name == "contended-64x1/own" {
			for i := range c.Samples[nameFarad] {
				c.Samples[nameFarad][i].AllocsPerOp = 0.02
			}
		}
	}
	text, err := targetsText(r)
	require.NoError(t, err)
	hasAll(t, text, "| semaphore | 24 lines | allocs/op | ≤ 0.01 | 0.02 at most | **missed** |", "| locks | ")
}

func TestTableOfTargetsIsNotSpoilt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	const text = targetsBegin + "old\n" + targetsEnd
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	less, smoke := madeUpWithTargets(), madeUpWithTargets()
	less.Locks = slices.DeleteFunc(less.Locks, func(l *lockResult) bool { return l.Workload == "twa-1" })
	less.Memory = less.Memory[1:]
	for _, c := range less.Cells {
		if c.Name == "uncontended/own" {
			delete(c.Samples, nameChannel)
		}
	}
	smoke.Smoke = true
	require.EqualError(
		t,
		writeTargets(file, less, &report{}),
		`-targets: these were not measured, or not beside the peers of their targets:
go run . -run '^uncontended/own/'
go run . -run '^memory/future/farad$'
go run . -run '^locks/twa-1/'`,
	)
	require.ErrorContains(t, writeTargets(file, smoke), "void")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(now))
	require.NoError(t, os.WriteFile(file, []byte("no markers\n"), 0o600))
	require.ErrorContains(t, writeTargets(file, madeUpWithTargets()), "targets:begin")
}

// The table is what the program makes of the runs that are kept. (That README is:
// TestReadmeIsWhatTheResultsGive.)
func TestTableOfTargetsIsWhatTheResultsGive(t *testing.T) {
	var runs []*report
	for _, file := range keptRuns {
		r, err := load(file)
		require.NoError(t, err)
		runs = append(runs, r)
	}
	was, err := os.ReadFile("../docs/BENCHMARKS.md")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "D.md")
	require.NoError(t, os.WriteFile(file, was, 0o600))
	require.NoError(t, writeTargets(file, runs...))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(was) == string(now), "docs/BENCHMARKS.md has other figures than %v", keptRuns)
}
