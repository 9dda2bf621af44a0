package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/farad-go/farad/bench/measure"
)

func TestMarkdown(t *testing.T) {
	md := madeUp().Markdown()
	for _, want := range []string{
		"| contended-8x1 | background |  | 0.30 (0.25–0.35) ≤ 0.4 met | 2.00 (2.00–2.00) ≤ 0.75 missed |  |  |  " +
			"| 0.96 ≥ 0.9 met | 0.00 ≤ 0.01 met |",
		"| contended-8x1 | background | x/sync | 200.0 | 200.0–200.0 | 0.50 (3 idle) | 2.00 |",
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
	text := madeUp().Text()
	for _, want := range []string{"0.30 ≤ 0.4 met", "targets: 4 met, 1 missed", "A ratio is farad's time"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestJSONHoldsTheRawRounds(t *testing.T) {
	raw, err := madeUp().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		t.Fatal(err)
	}
	if s := back.Cells[0].Samples[measure.NameFarad]; len(s) != 2 || s[1].NsPerOp != 70 {
		t.Errorf("samples %+v", s)
	}
}
