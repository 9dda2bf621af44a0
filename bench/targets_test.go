package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryTargetAppliesToSomething(t *testing.T) {
	for _, tg := range targets {
		for _, name := range tg.workloads {
			if !slices.ContainsFunc(workloads, func(w workload) bool { return w.name == name }) {
				t.Errorf("target for an unknown workload %q", name)
			}
		}
		if (tg.metric == ratioTo) != (tg.peer != "") || tg.peer != "" && !slices.Contains(peerNames, tg.peer) {
			t.Errorf("%s has the peer %q", tg.metric, tg.peer)
		}
	}
}

func TestPeersOfTargetsTakePart(t *testing.T) {
	for _, c := range cells() {
		for _, peer := range peerNames {
			if targetFor(c, ratioTo, peer) == nil {
				continue
			}
			i := slices.IndexFunc(implementations, func(im implementation) bool { return im.name == peer })
			if im := implementations[i]; im.serves != nil && !im.serves(c.workload) {
				t.Errorf("%s has a target beside %s, which does not serve it", c, peer)
			}
		}
	}
}

func TestTargetsOfTheIssue(t *testing.T) {
	for _, c := range []struct {
		cell  string
		m     metric
		peer  string
		bound float64 // 0: none
	}{
		{"uncontended/background", ratioTo, nameFloor, 1.25},
		{"uncontended/own", ratioTo, nameXSync, 0.65},
		{"uncontended/background", ratioTo, nameChannel, 0},
		{"uncontended/shared", ratioTo, nameChannel, 0.35},
		{"contended-8x1/background", ratioTo, nameXSync, 0.62},
		{"contended-64x1/background", ratioTo, nameChannel, 1.2},
		{"contended-64x1/background", minFairness, "", 0.9},
		{"contended-8x1/own", ratioTo, nameXSync, 0.65},
		{"contended-8x1/shared", ratioTo, nameChannel, 1},
		{"contended-8x1/shared", minFairness, "", 0},
		{"contended-1000x1/background", ratioTo, nameXSync, 0},
		{"yield-held-1000x2/own", ratioTo, nameXSync, 0.9},
		{"yield-held-8x2/background", ratioTo, nameChannel, 0.9},
		{"yield-held-64x2/shared", ratioTo, nameRing, 1.5},
		{"contended-1000x1/own", allocations, "", 0.01},
	} {
		i := slices.IndexFunc(cells(), func(k cell) bool { return k.String() == c.cell })
		if i < 0 {
			t.Fatalf("no cell %s", c.cell)
		}
		bound := 0.0
		if tg := targetFor(cells()[i], c.m, c.peer); tg != nil {
			bound = tg.bound
		}
		if bound != c.bound {
			t.Errorf("%s, %s %s: bound %v, want %v", c.cell, c.m, c.peer, bound, c.bound)
		}
	}
}

func TestFiguresDoNotContradictTheirVerdicts(t *testing.T) {
	upper := &target{metric: ratioTo, bound: 0.62}
	for _, c := range []struct {
		t    *target
		v    float64
		want string
	}{
		{upper, 0.6222, "0.622"},
		{upper, 0.6201, "0.6201"},
		{upper, 0.6199, "0.62"},
		{upper, 0.7777, "0.78"},
		{&target{metric: minFairness, bound: 0.9}, 0.8999, "0.8999"},
		{nil, 0.6222, "0.62"},
	} {
		if got := c.t.figure(c.v); got != c.want {
			t.Errorf("figure(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	upper := target{metric: ratioTo, bound: 0.65}
	lower := target{metric: minFairness, bound: 0.9}
	aim := target{metric: ratioTo, bound: 1.5, aim: true}
	var sum tally
	for _, c := range []struct {
		t    *target
		v    float64
		want string
	}{
		{&upper, 0.65, "≤ 0.65 met"},
		{&upper, 0.66, "≤ 0.65 missed"},
		{&lower, 0.9, "≥ 0.9 met"},
		{&lower, 0.89, "≥ 0.9 missed"},
		{&aim, 1.5, "≤ 1.5 aim reached"},
		{&aim, 1.6, "≤ 1.5 aim missed"},
		{nil, 1, ""},
	} {
		if got := sum.judge(c.t, c.v); got != c.want {
			t.Errorf("verdict on %v: %q, want %q", c.v, got, c.want)
		}
	}
	if sum != (tally{met: 2, missed: 2, aims: 2, aimsReached: 1}) {
		t.Errorf("tally %+v", sum)
	}
	if void := (&tally{void: true}); void.judge(&upper, 1) != "" || !strings.Contains(void.String(), "void") {
		t.Error("a smoke run is judged")
	}
}

// How much more a thousand goroutines need than eight, and how many are woken in vain by the hash
// function that is ours, and by no other.
func TestTargetsOfTheWaitingArray(t *testing.T) {
	r := madeUpAll()
	for _, l := range r.Locks {
		if l.Workload == "semabench-1024" {
			for i := range l.Samples[nameFarad] {
				l.Samples[nameFarad][i].NsPerOp *= 2
			}
		}
	}
	r.Variants = planVariants(everything)
	md := r.markdown()
	for want, n := range map[string]int{
		"| semabench-1024 | farad | 2200.0 | 2.00 times semabench-8 (2.00–2.00) ≤ 1.3 missed |": 1,
		"| semabench-256 | farad | 1100.0 |  |":                                                 1,
		"times semabench-8":                                                                     1,
		"| 0.000 ≤ 0.01 met |":                                                                  len(marchSizes),
	} {
		if got := strings.Count(md, want); got != n {
			t.Errorf("%d times %q, want %d", got, want, n)
		}
	}
}
