package table

import (
	"strings"
	"testing"
)

func TestFiguresDoNotContradictTheirVerdicts(t *testing.T) {
	upper := &Target{Metric: RatioTo, Bound: 0.62}
	for _, c := range []struct {
		t    *Target
		v    float64
		want string
	}{
		{upper, 0.6222, "0.622"},
		{upper, 0.6201, "0.6201"},
		{upper, 0.6199, "0.62"},
		{upper, 0.7777, "0.78"},
		{&Target{Metric: MinFairness, Bound: 0.9}, 0.8999, "0.8999"},
		{nil, 0.6222, "0.62"},
	} {
		if got := c.t.Figure(c.v); got != c.want {
			t.Errorf("figure(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	upper := Target{Metric: RatioTo, Bound: 0.65}
	lower := Target{Metric: MinFairness, Bound: 0.9}
	aim := Target{Metric: RatioTo, Bound: 1.5, Aim: true}
	both := Target{Metric: RatioTo, Bound: 1, AimBound: 0.75}
	rate := Target{Metric: RateTo, Bound: 1}
	var sum Tally
	for _, c := range []struct {
		t    *Target
		v    float64
		want string
	}{
		{&upper, 0.65, "≤ 0.65 met"},
		{&upper, 0.66, "≤ 0.65 missed"},
		{&lower, 0.9, "≥ 0.9 met"},
		{&lower, 0.89, "≥ 0.9 missed"},
		{&aim, 1.5, "≤ 1.5 aim reached"},
		{&aim, 1.6, "≤ 1.5 aim missed"},
		{&both, 0.75, "≤ 1 met, ≤ 0.75 aim reached"},
		{&both, 0.8, "≤ 1 met, ≤ 0.75 aim missed"},
		{&both, 1.1, "≤ 1 missed, ≤ 0.75 aim missed"},
		{&rate, 1, "≥ 1 met"},
		{&rate, 0.99, "≥ 1 missed"},
		{nil, 1, ""},
	} {
		if got := sum.Judge(c.t, c.v); got != c.want {
			t.Errorf("verdict on %v: %q, want %q", c.v, got, c.want)
		}
	}
	if sum != (Tally{Met: 5, Missed: 4, Aims: 5, AimsReached: 2}) {
		t.Errorf("tally %+v", sum)
	}
	if void := (&Tally{Void: true}); void.Judge(&upper, 1) != "" || !strings.Contains(void.String(), "void") {
		t.Error("a smoke run is judged")
	}
}
