package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// madeUp is a report of two rounds in one cell.
func madeUp() *report {
	rs := plan(implementations, regexp.MustCompile("^contended-8x1/background/").MatchString)
	rs[0].Samples = map[string][]sample{
		nameFarad: {{NsPerOp: 50, Fairness: 0.95}, {NsPerOp: 70, Fairness: 0.97}},
		nameXSync: {
			{NsPerOp: 100, Fairness: 0.5, AllocsPerOp: 2},
			{NsPerOp: 100, Fairness: 0.5, AllocsPerOp: 2, Idle: 3},
		},
		nameChannel: {{NsPerOp: 25, Fairness: 1}, {NsPerOp: 35, Fairness: 1}},
	}
	return &report{
		Machine: machine{CPU: "a | b", Command: "go run ."},
		Rounds:  2,
		Cells:   rs,
		Cancel:  []*cancelResult{{Waiter: "future", Impl: nameFarad, Waiters: 1000, NsPerCancel: []float64{30, 50}}},
		Memory:  []memoryResult{{"future", nameFarad, 128, futureBytes}, {"goroutine", nameXSync, 300, goroutineBytes}},
	}
}

func TestMarkdown(t *testing.T) {
	md := madeUp().markdown()
	for _, want := range []string{
		"| contended-8x1 | background |  | 0.60 (0.50–0.70) ≤ 0.62 met | 2.00 (2.00–2.00) ≤ 1.2 missed |  " +
			"| 0.96 ≥ 0.9 met | 0.00 ≤ 0.01 met |",
		"| contended-8x1 | background | x/sync | 100.0 | 100.0–100.0 | 0.50 (3 idle) | 2.00 |",
		"| future | farad | 1000 | 40 | 30–50 |",
		"| future | farad | 128 | ≤ 128 met |",
		"| goroutine | x/sync | 300 |  |",
		"| --- | --- | ---: |",
		"**targets: 4 met, 1 missed; aims: 0 of 0 reached**",
		"- command: `go run .`",
		"median over the rounds of the quotients",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
}

func TestText(t *testing.T) {
	text := madeUp().text()
	for _, want := range []string{"0.60 ≤ 0.62 met", "targets: 4 met, 1 missed", "A ratio is farad's time"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestJSONHoldsTheRawRounds(t *testing.T) {
	raw, err := madeUp().json()
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		t.Fatal(err)
	}
	if s := back.Cells[0].Samples[nameFarad]; len(s) != 2 || s[1].NsPerOp != 70 {
		t.Errorf("samples %+v", s)
	}
}

func TestCommandLineCanBePasted(t *testing.T) {
	got := commandLine([]string{"go", "run", "."}, []string{"-run", "8x1|64x1", "-rounds=5", "it's"})
	if want := `go run . -run '8x1|64x1' -rounds=5 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRunWritesItsFiles(t *testing.T) {
	dir := t.TempDir()
	md, raw, all := filepath.Join(dir, "b.md"), filepath.Join(dir, "b.json"), filepath.Join(dir, "a", "ll")
	c, err := parse(
		[]string{"-smoke", "-run", "^uncontended/own/|/future/", "-md", md, "-json", raw, "-out", all},
		io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(c, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	files := []string{md, raw}
	for _, name := range append(outFiles, "ratios-semaphore.svg") {
		files = append(files, filepath.Join(all, name))
	}
	for _, name := range files {
		if content, err := os.ReadFile(name); err != nil ||
			!bytes.Contains(bytes.ToLower(content), []byte("uncontended")) {
			t.Errorf("%s: %v, %.100s", name, err, content)
		}
	}
	if !strings.Contains(out.String(), "smoke run: everything works") {
		t.Errorf("output %s", out.String())
	}
}

func TestPeersHaveVersions(t *testing.T) {
	m := thisMachine(nil)
	for _, module := range peerModules {
		if !regexp.MustCompile(regexp.QuoteMeta(module) + ` v\d`).MatchString(m.Peers) {
			t.Errorf("no %s in %q", module, m.Peers)
		}
	}
	if md := (&report{Machine: m}).markdown(); !strings.Contains(md, "\n- peers: "+m.Peers+"\n") {
		t.Error("the report does not tell them")
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"},
		{"-window", "0"},
		{"-run", "("},
		{"a", "b"},
		{"-nope"},
		{"-plot", "x"},
		{"-smoke", "-quick"},
		{"-smoke", "-compare", "x"},
		{"-smoke", "-readme", "x"},
		{"-smoke", "-targets", "x"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	c, err := parse([]string{"-run", "nothing has this name"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(c, io.Discard, io.Discard); err == nil {
		t.Error("a run of nothing succeeds")
	}
}
