package report

import (
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

// The command that the page asks for, where a target was not measured, measures it.
func TestCommandsMeasureTheirLines(t *testing.T) {
	whole, checked := MadeUpWithTargets(), map[string]*Report{}
	for _, l := range TargetLines() {
		if l.cannotBe([]*Report{whole}) {
			continue
		}
		r := checked[l.run]
		if r == nil {
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

// The page marks what the portable build cannot measure. Another build must have measured it.
func TestMissingPeersOfABuild(t *testing.T) {
	r := MadeUpWithTargets()
	for _, c := range r.Cells {
		delete(c.Samples, peers.NameMinimal)
	}
	r.Machine.Sleep = measure.SleepChannels
	text, err := pageText(r)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^\| contended-8x1/background \| .* 1 not measured \|$`, text)
	r.Machine.Sleep = measure.SleepGopark
	_, err = pageText(r)
	require.ErrorContains(t, err, "-run '^contended-8x1/background/'")
	_, err = pageText(&Report{Machine: measure.Machine{Sleep: measure.SleepChannels}}, r)
	require.ErrorContains(t, err, "-run '^contended-8x1/background/'")
}

// A line has its time, its quotients, and what it misses, and every target is counted once.
func TestPageHasEveryTarget(t *testing.T) {
	text, err := pageText(MadeUpWithTargets())
	require.NoError(t, err)
	benchtest.HasAll(t, text,
		"| `go run .` | abc | 2026-01-02 |  |\n",
		"| uncontended/background | 2750.0 | 2.50 floor; 1.67 x/sync | **missed**: ÷ floor 2.50 (≤ 1.25)",
		"| mutexbench-waits-64 | ", "**missed**: p99.9 of waits ÷ sync.Mutex 1.00 (≤ 0.5)",
		"| future, heap |  |  | **missed**: bytes per waiting future 129 (≤ 128) |\n",
		"| goroutine, context shared |  |  | ", "**aim missed**: bytes per goroutine waiting on the array 303 (≤ 128)",
		"| hand-off-64 | ",
		"| await-ready/1 | ", "golden ratio (ours)/number/4096 |  |  | met |", "tenants-1000-10", "| cancel/goroutine/1000 | ",
	)
	p, err := newPage([]*Report{MadeUpWithTargets()})
	require.NoError(t, err)
	judged := p.sum.Met + p.sum.Missed + p.sum.Aims
	met, missed := 0, 0
	lines, targets := p.lines(), p.targets()
	for _, family := range pageFamilies {
		for _, name := range p.names(family, lines, targets) {
			m, n, _ := p.verdicts(targets[name])
			missed, met = missed+len(m), met+n
		}
	}
	require.Equal(t, judged, met+missed)
	require.Equal(t, missed, strings.Count(tables(p), "missed**:"))
	absent := 0
	if !peers.HasMinimalLock {
		absent = strings.Count(tables(p), "not measured")
	}
	require.GreaterOrEqual(t, len(TargetLines()), judged+absent)
	require.Greater(t, judged, len(TargetLines())*9/10, "allocations of lines of others are not counted")
}

func tables(p *page) string {
	w := new(strings.Builder)
	for _, t := range p.tables {
		t.WriteMarkdown(w)
	}
	return w.String()
}

func TestPageIsNotWrittenFromLess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "P.md")
	less, smoke := MadeUpWithTargets(), MadeUpWithTargets()
	less.Locks = slices.DeleteFunc(less.Locks, func(l *locks.Result) bool { return l.Workload == "twa-1" })
	less.Memory = less.Memory[1:]
	for _, c := range less.Cells {
		if c.Name == "uncontended/own" {
			delete(c.Samples, peers.NameChannel)
		}
	}
	smoke.Smoke = true
	require.EqualError(t, WritePage(file, less, &Report{}),
		`-page: these were not measured, or not beside the peers of their targets:
go run . -run '^uncontended/own/'
go run . -run '^memory/future/farad$'
go run . -run '^locks/twa-1/'`)
	require.ErrorContains(t, WritePage(file, smoke), "void")
	require.NoFileExists(t, file)
}
