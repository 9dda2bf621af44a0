package main

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

func all(string) bool { return true }

func TestTaskWorkloadsDoAtLeastWhatTheyAreAsked(t *testing.T) {
	for _, r := range planTasks(all) {
		for _, im := range r.impls {
			for _, todo := range []int{1, 7, 3000} {
				l := &lap{todo: todo, workers: r.Workers}
				if err := l.run(im, 10*time.Second); err != nil {
					t.Fatalf("%s/%s: %v", r, im.name, err)
				}
				if l.ops < todo || l.elapsed <= 0 {
					t.Errorf("%s/%s: %d operations of %d in %v", r, im.name, l.ops, todo, l.elapsed)
				}
				if r.Workload == "timers" {
					break // always so many
				}
			}
		}
	}
}

// steady takes a microsecond and two allocations for each operation, on paper.
var steady = taskImpl{"steady", func(l *lap) error {
	l.ops = l.todo
	l.elapsed = time.Duration(l.todo) * time.Microsecond
	l.mallocs = 2 * uint64(l.todo)
	return nil
}}

func TestTheLastLapFillsTheWindow(t *testing.T) {
	s, err := measureTask(steady, 1, timing{window: 20 * time.Millisecond, limit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if want := (taskSample{NsPerOp: 1000, AllocsPerOp: 2, Ops: 20_000}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// The time is that of a bubble: however busy the machine is, what is on the clock takes a
// millisecond, and the rest nothing of it.
func TestOnlyWhatIsOnTheClockCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lap
		var kept [][]byte
		keep := func() error { kept = append(kept, make([]byte, hoard)); time.Sleep(time.Millisecond); return nil }
		for range 100 {
			_ = keep()
			if err := l.clock(1, keep); err != nil {
				t.Fatal(err)
			}
		}
		if l.ops != 100 || len(kept) != 200 {
			t.Fatalf("%d operations, %d kept", l.ops, len(kept))
		}
		if l.mallocs < 100 || l.mallocs > 150 { // the slice grows, and something else may happen
			t.Errorf("%d allocations in 100 operations that make one", l.mallocs)
		}
		if l.elapsed != 100*time.Millisecond {
			t.Errorf("%v on the clock, which does not run while nothing is measured", l.elapsed)
		}
	})
}

func TestBrokenTasksAreReported(t *testing.T) {
	limits := timing{window: time.Millisecond, limit: 20 * time.Millisecond}
	boom := errors.New("boom")
	if _, err := measureTask(taskImpl{"", func(*lap) error { return boom }}, 1, limits); !errors.Is(err, boom) {
		t.Errorf("a failing lap gives %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	stuck := taskImpl{"", func(*lap) error { <-hang; return nil }}
	if _, err := measureTask(stuck, 1, limits); !errors.Is(err, errStuck) {
		t.Errorf("a lap that never ends gives %v", err)
	}
	if _, err := measureTask(taskImpl{"", func(*lap) error { return nil }}, 1, limits); err == nil {
		t.Error("a lap without an operation gives no error")
	}
}

func TestTaskRoundsAreInterleavedAndComplete(t *testing.T) {
	var order []string
	fake := func(name string) taskImpl {
		return taskImpl{name, func(l *lap) error {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
			return steady.run(l)
		}}
	}
	r := &taskResult{Samples: map[string][]taskSample{}, impls: []taskImpl{fake("a"), fake("b")}}
	const rounds = 8
	orders := map[string]bool{}
	for round := range rounds {
		order = nil
		limits := timing{window: time.Millisecond, limit: time.Second}
		if err := runTaskRound(round, []*taskResult{r}, limits, func(string) {}); err != nil {
			t.Fatal(err)
		}
		orders[strings.Join(order, "")] = true
	}
	if len(orders) != 2 {
		t.Errorf("the same order in all rounds: %v", orders)
	}
	for _, im := range r.impls {
		if n := len(r.Samples.column(im.name, taskNs)); n != rounds {
			t.Errorf("%s has %d samples of %d rounds", im.name, n, rounds)
		}
	}
}

func TestTaskPlanPicks(t *testing.T) {
	rs := planTasks(func(name string) bool { return name == "tasks/spawn/2/farad" })
	if len(rs) != 1 || len(rs[0].impls) != 1 || rs[0].peer() != "" {
		t.Fatalf("plan of one implementation: %+v", rs)
	}
	rs[0].Samples[nameFarad] = []taskSample{{NsPerOp: 5}}
	rep := report{Tasks: rs}
	if text := rep.text(); !strings.Contains(text, "spawn") {
		t.Errorf("a line without a peer: %s", text)
	}
}

func TestTimersRunFrom1To10Milliseconds(t *testing.T) {
	var sum time.Duration
	for i := range timerPass {
		d := after(i)
		if d < time.Millisecond || d > 10*time.Millisecond {
			t.Fatalf("timer %d runs %v", i, d)
		}
		sum += d
	}
	if mean := sum / timerPass; mean < 5*time.Millisecond || mean > 6*time.Millisecond {
		t.Errorf("timers run %v on average", mean)
	}
}

func TestTaskMemoryIsThatOfTheObject(t *testing.T) {
	const n = 1 << 14
	bytes, err := pollTaskMemory(n, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if size := float64(unsafe.Sizeof(waitingTask{})); math.Abs(bytes-size) > 8 {
		t.Errorf("%.1f bytes for a task of %.0f", bytes, size)
	}
}

func TestStacksAreCounted(t *testing.T) {
	const n, least, most = 5000, 1500, 10_000
	bytes, err := straightLineMemory(n, 5*time.Second)
	if err != nil || bytes < least || bytes > most {
		t.Errorf("%.0f bytes for a straight-line task, %v", bytes, err)
	}
	for _, im := range lockers() {
		if bytes, err = goroutineMemory(im, n, 5*time.Second); err != nil || bytes < least || bytes > most {
			t.Errorf("%.0f bytes for a goroutine that waits for %s, %v", bytes, im.name, err)
		}
	}
}

func TestEveryTaskTargetAppliesToSomething(t *testing.T) {
	lines := planTasks(all)
	for _, tg := range taskTargets {
		for _, name := range tg.workloads {
			i := slices.IndexFunc(lines, func(r *taskResult) bool { return r.key() == name })
			if i < 0 {
				t.Errorf("target for an unknown line %q", name)
			} else if tg.peer != "" && tg.peer != lines[i].peer() {
				t.Errorf("%s has a target beside %q, but its peer is %q", name, tg.peer, lines[i].peer())
			}
		}
	}
}

func TestTaskTargetsOfTheIssue(t *testing.T) {
	for _, c := range []struct {
		line  string
		m     metric
		bound float64
	}{
		{"hand-off-8x2/1", ratioTo, 0.15},
		{"hand-off-8x2/2", ratioTo, 0.3},
		{"hand-off-1000x2/1", ratioTo, 0.3},
		{"hand-off-1000x2/2", ratioTo, 0.3},
		{"yield/1", ratioTo, 2.5},
		{"spawn/1", ratioTo, 0.5},
		{"spawn/2", ratioTo, 0.5},
		{"await-ready/1", nsBeyond, 20},
		{"await-yield/1", ratioTo, 2.5},
		{"await-hand-off/1", ratioTo, 2.5},
		{"timers/1", ratioTo, 1},
		{"timers/2", ratioTo, 1},
	} {
		lines := planTasks(all)
		i := slices.IndexFunc(lines, func(r *taskResult) bool { return r.key() == c.line })
		if i < 0 {
			t.Fatalf("no line %s", c.line)
		}
		if m := lines[i].comparison(); m != c.m {
			t.Errorf("%s is compared by %s", c.line, m)
		}
		if tg := taskTargetFor(c.line, c.m, lines[i].peer()); tg == nil || tg.bound != c.bound {
			t.Errorf("%s: target %+v, want %v", c.line, tg, c.bound)
		}
	}
	for _, r := range planTasks(all) {
		if tg := taskTargetFor(r.key(), allocations, ""); (tg == nil) != (r.Workload == "ants-submit") {
			t.Errorf("%s: target for allocations %+v", r, tg)
		}
	}
	if tg := taskTargetFor("", taskBytes, ""); tg.bound != 200 || tg.met(201) {
		t.Errorf("memory: %+v", tg)
	}
	if tg := taskTargetFor("", goroutineTimes, ""); tg.bound != 10 || tg.met(9.9) || !tg.met(10.1) {
		t.Errorf("memory of goroutines: %+v", tg)
	}
}

// madeUpTasks is a report of two rounds in two lines, the second of which was ten times slower.
func madeUpTasks() *report {
	rs := planTasks(func(name string) bool {
		return strings.HasPrefix(name, "tasks/spawn/1/") || strings.HasPrefix(name, "tasks/await-ready/")
	})
	rs[0].Samples = map[string][]taskSample{
		nameFarad:       {{NsPerOp: 50, AllocsPerOp: 0.02}, {NsPerOp: 500, AllocsPerOp: 0.02}},
		nameGoStatement: {{NsPerOp: 100}, {NsPerOp: 1000}},
	}
	rs[1].Samples = map[string][]taskSample{
		nameFarad:     {{NsPerOp: 60}, {NsPerOp: 90}},
		nameGoroutine: {{NsPerOp: 40}, {NsPerOp: 65}},
	}
	return &report{Rounds: 2, Tasks: rs, TaskMemory: []taskMemoryResult{
		{memoryResult{"poll task", nameFarad, 184, taskBytes}, 1000},
		{memoryResult{"straight-line task", nameFarad, 2760, ""}, 100},
		{memoryResult{"goroutine", nameXSync, 2300, goroutineTimes}, 100},
	}}
}

func TestTasksInMarkdown(t *testing.T) {
	md := madeUpTasks().markdown()
	for _, want := range []string{
		"| spawn | 1 | go statement | 275.0 | 550.0 | 0.50 (0.50–0.50) ≤ 0.5 met | 0.02 ≤ 0.01 missed |",
		"| await-ready | 1 | no await | 75.0 | 52.5 | 22.50 ns more (20.00–25.00) ≤ 20 missed | 0.00 ≤ 0.01 met |",
		"| poll task | farad | 1000 | 184 ≤ 200 met |  |",
		"| straight-line task | farad | 100 | 2760 | 15.00 |",
		"| goroutine | x/sync | 100 | 2300 | 12.50 ≥ 10 met |",
		"**targets: 4 met, 2 missed;",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
}

func TestTasksInText(t *testing.T) {
	text := madeUpTasks().text()
	for _, want := range []string{"\nTASKS\n", "0.50 ≤ 0.5 met", "22.50 ns more ≤ 20 missed", "12.50 ≥ 10 met"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTasksInJSON(t *testing.T) {
	raw, err := madeUpTasks().json()
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		t.Fatal(err)
	}
	if s := back.Tasks[0].Samples[nameFarad]; len(s) != 2 || s[1].NsPerOp != 500 {
		t.Errorf("samples %+v", s)
	}
	if m := back.TaskMemory; len(m) != 3 || m[0].Bytes != 184 || m[0].Number != 1000 {
		t.Errorf("memory %+v", m)
	}
}
