package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/tasks"
)

func TestTaskPlanPicks(t *testing.T) {
	rs := tasks.Plan(func(name string) bool { return name == "tasks/spawn/2/farad" })
	if len(rs) != 1 || len(rs[0].Impls) != 1 || rs[0].Peer() != "" {
		t.Fatalf("plan of one implementation: %+v", rs)
	}
	rs[0].Samples[measure.NameFarad] = []measure.LapSample{{NsPerOp: 5}}
	rep := Report{Tasks: rs}
	if text := rep.Text(); !strings.Contains(text, "spawn") {
		t.Errorf("a line without a peer: %s", text)
	}
}

func TestTasksInMarkdown(t *testing.T) {
	md := madeUpTasks().Markdown()
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
	text := madeUpTasks().Text()
	for _, want := range []string{"\nTASKS\n", "0.50 ≤ 0.5 met", "22.50 ns more ≤ 20 missed", "12.50 ≥ 10 met"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTasksInJSON(t *testing.T) {
	raw, err := madeUpTasks().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		t.Fatal(err)
	}
	if s := back.Tasks[0].Samples[measure.NameFarad]; len(s) != 2 || s[1].NsPerOp != 500 {
		t.Errorf("samples %+v", s)
	}
	if m := back.TaskMemory; len(m) != 3 || m[0].Bytes != 184 || m[0].Number != 1000 {
		t.Errorf("memory %+v", m)
	}
}
