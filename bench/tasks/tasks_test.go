package tasks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

func TestTaskWorkloadsDoAtLeastWhatTheyAreAsked(t *testing.T) {
	for _, r := range Plan(measure.Everything) {
		for _, im := range r.Impls {
			for _, todo := range []int{1, 7, 3000} {
				l := &measure.Lap{Todo: todo, Workers: r.Workers}
				if err := l.Run(im, 10*time.Second); err != nil {
					t.Fatalf("%s/%s: %v", r, im.Name, err)
				}
				if l.Ops < todo || l.Elapsed <= 0 {
					t.Errorf("%s/%s: %d operations of %d in %v", r, im.Name, l.Ops, todo, l.Elapsed)
				}
				if r.Workload == "timers" {
					break // always so many
				}
			}
		}
	}
}

// steady takes a microsecond and two allocations for each operation, on paper.
var steady = measure.LapImpl{Name: "steady", Run: func(l *measure.Lap) error {
	l.Ops = l.Todo
	l.Elapsed = time.Duration(l.Todo) * time.Microsecond
	l.Mallocs = 2 * uint64(l.Todo)
	return nil
}}

func TestTaskRoundsAreInterleavedAndComplete(t *testing.T) {
	var order []string
	fake := func(name string) measure.LapImpl {
		return measure.LapImpl{Name: name, Run: func(l *measure.Lap) error {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
			return steady.Run(l)
		}}
	}
	r := &Result{Samples: map[string][]measure.LapSample{}, Impls: []measure.LapImpl{fake("a"), fake("b")}}
	const rounds = 8
	orders := map[string]bool{}
	for round := range rounds {
		order = nil
		limits := measure.Timing{Window: time.Millisecond, Limit: time.Second}
		if err := RunRound(round, []*Result{r}, limits, func(string) {}); err != nil {
			t.Fatal(err)
		}
		orders[strings.Join(order, "")] = true
	}
	if len(orders) != 2 {
		t.Errorf("the same order in all rounds: %v", orders)
	}
	for _, im := range r.Impls {
		if n := len(r.Samples.Column(im.Name, NsPerOp)); n != rounds {
			t.Errorf("%s has %d samples of %d rounds", im.Name, n, rounds)
		}
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

func TestEveryTaskTargetAppliesToSomething(t *testing.T) {
	lines := Plan(measure.Everything)
	for _, tg := range Targets {
		for _, name := range tg.Workloads {
			i := slices.IndexFunc(lines, func(r *Result) bool { return r.Key() == name })
			if i < 0 {
				t.Errorf("target for an unknown line %q", name)
			} else if tg.Peer != "" && tg.Peer != lines[i].Peer() {
				t.Errorf("%s has a target beside %q, but its peer is %q", name, tg.Peer, lines[i].Peer())
			}
		}
	}
}

func TestTaskTargetsOfTheIssue(t *testing.T) {
	for _, c := range []struct {
		line  string
		m     table.Metric
		bound float64
	}{
		{"hand-off-8x2/1", table.RatioTo, 0.15},
		{"hand-off-8x2/2", table.RatioTo, 0.3},
		{"hand-off-1000x2/1", table.RatioTo, 0.3},
		{"hand-off-1000x2/2", table.RatioTo, 0.3},
		{"yield/1", table.RatioTo, 2.5},
		{"spawn/1", table.RatioTo, 0.5},
		{"spawn/2", table.RatioTo, 0.5},
		{"await-ready/1", table.NsBeyond, 20},
		{"await-yield/1", table.RatioTo, 2.5},
		{"await-hand-off/1", table.RatioTo, 2.5},
		{"timers/1", table.RatioTo, 1},
		{"timers/2", table.RatioTo, 1},
	} {
		lines := Plan(measure.Everything)
		i := slices.IndexFunc(lines, func(r *Result) bool { return r.Key() == c.line })
		if i < 0 {
			t.Fatalf("no line %s", c.line)
		}
		if m := lines[i].Comparison(); m != c.m {
			t.Errorf("%s is compared by %s", c.line, m)
		}
		if tg := TargetFor(c.line, c.m, lines[i].Peer()); tg == nil || tg.Bound != c.bound {
			t.Errorf("%s: target %+v, want %v", c.line, tg, c.bound)
		}
	}
	for _, r := range Plan(measure.Everything) {
		if tg := TargetFor(r.Key(), table.Allocations, ""); (tg == nil) != (r.Workload == "ants-submit") {
			t.Errorf("%s: target for allocations %+v", r, tg)
		}
	}
}
