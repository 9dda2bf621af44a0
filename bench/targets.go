package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A metric is what a target bounds.
type metric string

// The metrics: the first three belong to cells, the next three to the memory report, then two to
// locks whose waits are timed, one to a workload with more goroutines than another, and the last to
// the simulation of hash functions.
const (
	ratioTo        metric = "time ÷"
	minFairness    metric = "fairness"
	allocations    metric = "allocs/op"
	futureBytes    metric = "bytes per waiting future"
	goroutineBytes metric = "bytes per waiting goroutine"
	arrayBytes     metric = "bytes per goroutine waiting on the array"
	tailTo         metric = "p99.9 of arrivals' waits ÷"
	tailOfAllTo    metric = "p99.9 of waits ÷"
	growthFrom     metric = "time ÷ its own in"
	futileWakes    metric = "futile wakes per wake"
)

// comparing are the metrics that compare two figures of each round.
var comparing = []metric{ratioTo, tailTo, tailOfAllTo, growthFrom, nsBeyond}

// A target is a bound that farad is held to.
type target struct {
	workloads []string // nil: all
	forms     []form   // nil: all
	metric    metric
	peer      string // of a ratio: farad divided by whom
	than      string // of growth: the workload with fewer goroutines
	bound     float64
	// aim marks what is worked towards, in contrast to what is promised.
	aim bool
}

var (
	targetedContended = []string{"contended-8x1", "contended-64x1"}
	yieldHelds        = []string{"yield-held-8x2", "yield-held-64x2", "yield-held-1000x2"}
)

// The targets of the semaphore, and of the memory of who waits.
var targets = []target{
	{workloads: []string{"uncontended"}, metric: ratioTo, peer: nameFloor, bound: 1.25},
	{workloads: []string{"uncontended"}, metric: ratioTo, peer: nameXSync, bound: 0.65},
	{workloads: []string{"uncontended"}, forms: cancellable, metric: ratioTo, peer: nameChannel, bound: 0.35},

	{workloads: targetedContended, forms: []form{background}, metric: ratioTo, peer: nameXSync, bound: 0.62},
	{workloads: targetedContended, forms: []form{background}, metric: ratioTo, peer: nameChannel, bound: 1.2},
	{workloads: targetedContended, forms: []form{background}, metric: minFairness, bound: 0.9},
	{workloads: targetedContended, forms: cancellable, metric: ratioTo, peer: nameXSync, bound: 0.65},
	{workloads: targetedContended, forms: cancellable, metric: ratioTo, peer: nameChannel, bound: 1.0},

	{workloads: yieldHelds, metric: ratioTo, peer: nameXSync, bound: 0.9},
	{workloads: yieldHelds, metric: ratioTo, peer: nameChannel, bound: 0.9},
	{workloads: yieldHelds, metric: ratioTo, peer: nameRing, bound: 1.5, aim: true},

	{metric: allocations, bound: 0.01},

	{metric: futureBytes, bound: 128},
	{metric: goroutineBytes, bound: 256},
	{metric: arrayBytes, bound: 96},
}

// targetFor returns the target for a metric of a cell, nil if there is none.
func targetFor(c cell, m metric, peer string) *target {
	return find(targets, c.name, c.form, m, peer)
}

// find returns the first of targets for a metric of a line, nil if there is none. What belongs to
// no line has an empty name, and what is no cell has no form.
func find(targets []target, line string, f form, m metric, peer string) *target {
	for i := range targets {
		t := &targets[i]
		if t.metric == m && t.peer == peer &&
			(t.workloads == nil || slices.Contains(t.workloads, line)) &&
			(t.forms == nil || slices.Contains(t.forms, f)) {
			return t
		}
	}
	return nil
}

// fromBelow reports whether the bound is one from below: that of fairness, and of what others need
// more.
func (t *target) fromBelow() bool { return t.metric == minFairness || t.metric == goroutineTimes }

// met reports whether v keeps to the target.
func (t *target) met(v float64) bool {
	if t.fromBelow() {
		return v >= t.bound
	}
	return v <= t.bound
}

// verdict formats the bound and whether v keeps to it.
func (t *target) verdict(v float64) string { return t.limit() + " " + t.word(v) }

// limit formats the bound.
func (t *target) limit() string {
	sign := "≤"
	if t.fromBelow() {
		sign = "≥"
	}
	return fmt.Sprintf("%s %v", sign, t.bound)
}

// word says whether v keeps to the bound.
func (t *target) word(v float64) string {
	word := "met"
	switch {
	case !t.met(v):
		word = "missed"
	case t.aim:
		word = "reached"
	}
	if t.aim {
		word = "aim " + word
	}
	return word
}

// figure formats v with two decimals, or with more where rounding would put it on the other side of
// the bound.
func (t *target) figure(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	for decimals := 3; t != nil && decimals <= 6; decimals++ {
		if rounded, _ := strconv.ParseFloat(s, 64); t.met(rounded) == t.met(v) {
			break
		}
		s = strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return s
}

// A tally makes the entries of one report that have targets, and counts the verdicts.
type tally struct {
	// void: the figures mean nothing, and there are no verdicts.
	void bool
	// spreads: a comparison shows its smallest and largest round.
	spreads                        bool
	met, missed, aimsReached, aims int
}

// judge returns the verdict on v, nothing without a target, and counts it.
func (n *tally) judge(t *target, v float64) string {
	if t == nil || n.void {
		return ""
	}
	met := t.met(v)
	switch {
	case t.aim:
		n.aims++
		if met {
			n.aimsReached++
		}
	case met:
		n.met++
	default:
		n.missed++
	}
	return t.verdict(v)
}

// entry is what a table says of a metric: the median of vs, how far they spread, and the verdict.
// It is empty if vs is.
func (n *tally) entry(m metric, t *target, vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	v := median(vs)
	words := []string{t.figure(v)}
	switch m {
	case nsBeyond:
		words = append(words, "ns more")
	case growthFrom:
		words = append(words, "times "+t.than)
	}
	if n.spreads && slices.Contains(comparing, m) && len(vs) > 1 {
		words = append(words, "("+spread("%.2f", vs)+")")
	}
	if verdict := n.judge(t, v); verdict != "" {
		words = append(words, verdict)
	}
	return strings.Join(words, " ")
}

func (n *tally) String() string {
	if n.void {
		return "smoke run: everything works; the figures are void"
	}
	return fmt.Sprintf("targets: %d met, %d missed; aims: %d of %d reached", n.met, n.missed, n.aimsReached, n.aims)
}
