package report

import (
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
	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

func TestEveryTargetHasItsLines(t *testing.T) {
	lines := TargetLines()
	all := slices.Concat(semaphore.Targets, waiters.MemoryTargets, waiters.WakeTargets, locks.Targets,
		capacitor.Targets, array.Targets, tasks.Targets)
	for _, tg := range all {
		is := func(l TargetLine) bool {
			return l.Target.Metric == tg.Metric && l.Target.Ours == tg.Ours && l.Target.Peer == tg.Peer &&
				l.Target.Bound == tg.Bound &&
				l.Target.Aim == tg.Aim
		}
		require.True(t, slices.ContainsFunc(lines, is), "%+v", tg)
		var names []string
		for _, name := range tg.Workloads {
			if tg.Forms == nil {
				names = append(names, name)
			}
			for _, f := range tg.Forms {
				names = append(names, semaphore.Cell{Workload: semaphore.Workload{Name: name}, Form: f}.String())
			}
		}
		for _, name := range names {
			require.True(
				t,
				slices.ContainsFunc(
					lines,
					func(l TargetLine) bool { return is(l) && (l.line == name || strings.HasPrefix(l.line, name+"/")) },
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
	whole, checked := MadeUpWithTargets(), map[string]*Report{}
	for _, l := range TargetLines() {
		if l.cannotBe([]*Report{whole}) {
			continue
		}
		r := checked[l.run]
		if r == nil {
			require.NotContains(t, l.run, "|", "which would end a cell of the table")
			picks := regexp.MustCompile(l.run).MatchString
			r = &Report{
				Cells:    semaphore.Plan(semaphore.Implementations, picks),
				Locks:    locks.Plan(LockWorkloads, picks),
				Tasks:    tasks.Plan(picks),
				Overload: overload.Plan(picks),
				Wake:     waiters.PlanWake(picks, false),
				Variants: array.Plan(picks),
			}
			copySamples(r, whole)
			if strings.Contains(l.run, "memory") {
				var err error
				r.Memory, err = waiters.RunMemory(picks, 5*time.Second)
				require.NoError(t, err)
				r.TaskMemory, err = waiters.RunTaskMemory(picks, 5*time.Second, true)
				require.NoError(t, err)
			}
			checked[l.run] = r
		}
		require.NotEmpty(t, l.figures(r), "%s %s: %s", l.line, l.bounded(), l.run)
		require.NotEmpty(t, l.figures(whole), "%s %s", l.line, l.bounded())
		require.Empty(t, l.figures(&Report{}))
	}
	for family, run := range familyRuns {
		for _, l := range TargetLines() {
			if l.family == family && l.Target.Metric == table.Allocations {
				name := strings.Trim(strings.ReplaceAll(l.run, `\`, ""), "^/") + "/" + measure.NameFarad
				require.Regexp(t, run, name)
			}
		}
	}
}

// copySamples gives to what is planned in r what was measured in the whole.
func copySamples(r, whole *Report) {
	for _, c := range r.Cells {
		i := slices.IndexFunc(whole.Cells, func(o *semaphore.Result) bool { return o.Name == c.Name })
		for _, im := range c.Impls {
			c.Samples[im.Name] = whole.Cells[i].Samples[im.Name]
		}
	}
	for _, c := range r.Locks {
		i := slices.IndexFunc(whole.Locks, func(o *locks.Result) bool { return o.Workload == c.Workload })
		for _, im := range c.Impls {
			c.Samples[im.Name] = whole.Locks[i].Samples[im.Name]
		}
	}
	for _, c := range r.Overload {
		i := slices.IndexFunc(whole.Overload, func(o *overload.Result) bool { return o.Workload == c.Workload })
		for _, im := range c.Impls {
			c.Samples[im.Name] = whole.Overload[i].Samples[im.Name]
		}
	}
	for _, w := range r.Wake {
		i := slices.IndexFunc(whole.Wake, func(o *waiters.WakeResult) bool { return o.String() == w.String() })
		w.NsPerWake = whole.Wake[i].NsPerWake
	}
	for _, c := range r.Tasks {
		i := slices.IndexFunc(whole.Tasks, func(o *tasks.Result) bool { return o.Key() == c.Key() })
		for _, im := range c.Impls {
			c.Samples[im.Name] = whole.Tasks[i].Samples[im.Name]
		}
	}
}

// What the portable build cannot measure is said so. Another build must have measured it.
func TestMissingPeersOfABuild(t *testing.T) {
	r := MadeUpWithTargets()
	for _, c := range r.Cells {
		delete(c.Samples, peers.NameMinimal)
	}
	r.Machine.Sleep = measure.SleepChannels
	text, err := targetsText(r)
	require.NoError(t, err)
	require.Contains(t, text,
		"| semaphore | contended-8x1/background | time ÷ minimal lock | ≤ 1.35 | – | not measured | `go run . -run '^contended-8x1/background/'` |")
	r.Machine.Sleep = measure.SleepGopark
	_, err = targetsText(r)
	require.ErrorContains(t, err, "-run '^contended-8x1/background/'")
	_, err = targetsText(&Report{Machine: measure.Machine{Sleep: measure.SleepChannels}}, r)
	require.ErrorContains(t, err, "-run '^contended-8x1/background/'")
}

// The line that allocates most decides.
func TestAllocationsOfOneLineAreSeen(t *testing.T) {
	r := MadeUpWithTargets()
	for _, c := range r.Cells {
		if c.Name == "contended-64x1/own" {
			for i := range c.Samples[measure.NameFarad] {
				c.Samples[measure.NameFarad][i].AllocsPerOp = 0.02
			}
		}
	}
	text, err := targetsText(r)
	require.NoError(t, err)
	benchtest.HasAll(t, text,
		"| semaphore | 24 lines | allocs/op | ≤ 0.01 | 0.02 at most | **missed** |", "| locks | ")
}

func TestTableOfTargetsIsNotSpoilt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	const text = TargetsBegin + "old\n" + TargetsEnd
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	less, smoke := MadeUpWithTargets(), MadeUpWithTargets()
	less.Locks = slices.DeleteFunc(less.Locks, func(l *locks.Result) bool { return l.Workload == "twa-1" })
	less.Memory = less.Memory[1:]
	for _, c := range less.Cells {
		if c.Name == "uncontended/own" {
			delete(c.Samples, peers.NameChannel)
		}
	}
	smoke.Smoke = true
	require.EqualError(
		t,
		WriteTargets(file, less, &Report{}),
		`-targets: these were not measured, or not beside the peers of their targets:
go run . -run '^uncontended/own/'
go run . -run '^memory/future/farad$'
go run . -run '^locks/twa-1/'`,
	)
	require.ErrorContains(t, WriteTargets(file, smoke), "void")
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(now))
	require.NoError(t, os.WriteFile(file, []byte("no markers\n"), 0o600))
	require.ErrorContains(t, WriteTargets(file, MadeUpWithTargets()), "targets:begin")
}

// The table is what the program makes of the runs that are kept. (That README is:
// TestReadmeIsWhatTheResultsGive.)
func TestTableOfTargetsIsWhatTheResultsGive(t *testing.T) {
	var runs []*Report
	for _, file := range KeptRuns("../results") {
		r, err := Load(file)
		require.NoError(t, err)
		runs = append(runs, r)
	}
	was, err := os.ReadFile("../results/targets.md")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "D.md")
	require.NoError(t, os.WriteFile(file, was, 0o600))
	require.NoError(t, WriteTargets(file, runs...))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(was) == string(now), "results/targets.md has other figures than %v",
		KeptRuns("../results"))
}
