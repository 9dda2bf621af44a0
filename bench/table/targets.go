package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/farad-go/farad/bench/measure"
)

// A Metric is what a target bounds.
type Metric string

// The metrics: the first three belong to cells, the next three to the memory report, then two to
// locks whose waits are timed, one to a workload with more goroutines than another, one to the
// simulation of hash functions, two to hand-offs, one to very many waiters, and the last three to
// tenants and overloads.
const (
	RatioTo        Metric = "time ÷"
	MinFairness    Metric = "fairness"
	Allocations    Metric = "allocs/op"
	FutureBytes    Metric = "bytes per waiting future"
	GoroutineBytes Metric = "bytes per waiting goroutine"
	ArrayBytes     Metric = "bytes per goroutine waiting on the array"
	TailTo         Metric = "p99.9 of arrivals' waits ÷"
	TailOfAllTo    Metric = "p99.9 of waits ÷"
	GrowthFrom     Metric = "time ÷ its own in"
	FutileWakes    Metric = "futile wakes per wake"
	HandOffP50To   Metric = "p50 of hand-offs ÷"
	HandOffP99To   Metric = "p99 of hand-offs ÷"
	RateTo         Metric = "wakes per second ÷"
	Unfairness     Metric = "off the share that is due"
	GoodputTo      Metric = "goodput ÷"
	P99To          Metric = "p99 of latencies ÷"
)

// comparing are the metrics that compare two figures of each round.
var comparing = []Metric{
	RatioTo, TailTo, TailOfAllTo, GrowthFrom, HandOffP50To, HandOffP99To, RateTo, GoodputTo, P99To, NsBeyond,
}

// A Target is a bound that farad is held to.
type Target struct {
	Workloads []string       // nil: all
	Forms     []measure.Form // nil: all
	Metric    Metric
	Ours      string // of a ratio: what is divided; empty: farad
	Peer      string // of a ratio: what farad is divided by
	Than      string // of growth: the workload with fewer goroutines
	Bound     float64
	// Aim marks what is worked towards, in contrast to what is promised.
	Aim bool
	// AimBound is a stricter bound that is worked towards besides; 0: none.
	AimBound float64
}

// Aimed returns what is worked towards besides t as a target of its own, nil if there is nothing.
func (t *Target) Aimed() *Target {
	if t == nil || t.AimBound == 0 {
		return nil
	}
	aim := *t
	aim.Bound, aim.Aim, aim.AimBound = t.AimBound, true, 0
	return &aim
}

// Find returns the first of targets for a metric of a line, nil if there is none. What belongs to
// no line has an empty name, and what is no cell has no form.
func Find(targets []Target, line string, f measure.Form, m Metric, peer string) *Target {
	return FindOf(targets, line, f, m, "", peer)
}

// FindOf is Find for a ratio that has not farad's figure above the line, but that of ours.
func FindOf(targets []Target, line string, f measure.Form, m Metric, ours, peer string) *Target {
	for i := range targets {
		t := &targets[i]
		if t.Metric == m && t.Ours == ours && t.Peer == peer &&
			(t.Workloads == nil || slices.Contains(t.Workloads, line)) &&
			(t.Forms == nil || slices.Contains(t.Forms, f)) {
			return t
		}
	}
	return nil
}

// fromBelow reports whether the bound is one from below: that of fairness, of rates and goodput,
// and of what others need more.
func (t *Target) fromBelow() bool {
	return t.Metric == MinFairness || t.Metric == GoroutineTimes || t.Metric == RateTo || t.Metric == GoodputTo
}

// Met reports whether v keeps to the target.
func (t *Target) Met(v float64) bool {
	if t.fromBelow() {
		return v >= t.Bound
	}
	return v <= t.Bound
}

// verdict formats the bound and whether v keeps to it.
func (t *Target) verdict(v float64) string { return t.Limit() + " " + t.Word(v) }

// Limit formats the bound.
func (t *Target) Limit() string {
	sign := "≤"
	if t.fromBelow() {
		sign = "≥"
	}
	return fmt.Sprintf("%s %v", sign, t.Bound)
}

// Word returns a word for whether v keeps to the bound.
func (t *Target) Word(v float64) string {
	word := "met"
	switch {
	case !t.Met(v):
		word = "missed"
	case t.Aim:
		word = "reached"
	}
	if t.Aim {
		word = "aim " + word
	}
	return word
}

// Figure formats v with two decimals, or with more where rounding would put it on the other side of
// the bound.
func (t *Target) Figure(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	for decimals := 3; t != nil && decimals <= 6; decimals++ {
		if rounded, _ := strconv.ParseFloat(s, 64); t.Met(rounded) == t.Met(v) {
			break
		}
		s = strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return s
}

// A Tally makes the entries of one report that have targets, and counts the verdicts.
type Tally struct {
	// void: the figures mean nothing, and there are no verdicts.
	Void bool
	// spreads: a comparison shows its smallest and largest round.
	Spreads                        bool
	Met, Missed, AimsReached, Aims int
}

// Judge returns the verdict on v, nothing without a target, and counts it.
func (n *Tally) Judge(t *Target, v float64) string {
	if t == nil || n.Void {
		return ""
	}
	met := t.Met(v)
	switch {
	case t.Aim:
		n.Aims++
		if met {
			n.AimsReached++
		}
	case met:
		n.Met++
	default:
		n.Missed++
	}
	words := t.verdict(v)
	if aim := n.Judge(t.Aimed(), v); aim != "" {
		words += ", " + aim
	}
	return words
}

// Entry is a metric's entry in a table: the median of vs, how far they spread, and the verdict. It
// is empty if vs is.
func (n *Tally) Entry(m Metric, t *Target, vs []float64) string {
	if len(vs) == 0 {
		return ""
	}
	v := measure.Median(vs)
	words := []string{t.Figure(v)}
	switch m {
	case NsBeyond:
		words = append(words, "ns more")
	case GrowthFrom:
		words = append(words, "times "+t.Than)
	}
	if n.Spreads && slices.Contains(comparing, m) && len(vs) > 1 {
		words = append(words, "("+measure.Spread("%.2f", vs)+")")
	}
	if verdict := n.Judge(t, v); verdict != "" {
		words = append(words, verdict)
	}
	return strings.Join(words, " ")
}

func (n *Tally) String() string {
	if n.Void {
		return "smoke run: everything works; the figures are void"
	}
	return fmt.Sprintf("targets: %d met, %d missed; aims: %d of %d reached", n.Met, n.Missed, n.AimsReached, n.Aims)
}

// The metrics of the executor, besides ratioTo and allocations.
const (
	NsBeyond       Metric = "ns beyond"                        // farad minus the peer
	TaskBytes      Metric = "bytes per waiting task"           // a poll task
	GoroutineTimes Metric = "bytes of a goroutine ÷ of a task" // at least: what goroutines need more
)
