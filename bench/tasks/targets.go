package tasks

import (
	"fmt"
	"slices"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// Lines with a bound in common.
var (
	handOffs       = []string{"hand-off-8x2/2", "hand-off-1000x2/1", "hand-off-1000x2/2"}
	spawns         = []string{"spawn/1", "spawn/2"}
	switches       = []string{"await-yield/1", "await-hand-off/1"}
	timerLines     = []string{"timers/1", "timers/2"}
	allocationFree = slices.Concat(
		[]string{"hand-off-8x2/1", "yield/1", "await-ready/1"}, handOffs, spawns, switches, timerLines)
)

// Targets are the targets of the executor. What they call a workload is workload/workers.
var Targets = []table.Target{
	{Workloads: []string{"hand-off-8x2/1"}, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.15},
	{Workloads: handOffs, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.3},
	{Workloads: []string{"yield/1"}, Metric: table.RatioTo, Peer: peers.NameFloor, Bound: 2.5},
	{Workloads: spawns, Metric: table.RatioTo, Peer: NameGoStatement, Bound: 0.5},
	{Workloads: []string{"await-ready/1"}, Metric: table.NsBeyond, Peer: NameGoroutine, Bound: 20},
	{Workloads: []string{"await-yield/1"}, Metric: table.RatioTo, Peer: NameCoroutine, Bound: 2.5},
	// Here the semaphore's own work is in it, too: an aim.
	{Workloads: []string{"await-hand-off/1"}, Metric: table.RatioTo, Peer: NameCoroutine, Bound: 2.5, Aim: true},
	{Workloads: timerLines, Metric: table.RatioTo, Peer: NameAfterFunc, Bound: 1},
	{Workloads: []string{"ants-submit/8"}, Metric: table.RatioTo, Peer: peers.NameAnts, Bound: 1},

	{Workloads: allocationFree, Metric: table.Allocations, Bound: 0.01},
}

// Key is the line's name in targets.
func (r *Result) Key() string { return fmt.Sprintf("%s/%d", r.Workload, r.Workers) }

// TargetFor returns the target for a metric of a line, nil if there is none.
func TargetFor(line string, m table.Metric, peer string) *table.Target {
	return table.Find(Targets, line, "", m, peer)
}

// Comparison is what a line is held to: a quotient, unless its target bounds a difference.
func (r *Result) Comparison() table.Metric {
	if TargetFor(r.Key(), table.NsBeyond, r.Peer()) != nil {
		return table.NsBeyond
	}
	return table.RatioTo
}

// Compare returns the comparison with the peer, round by round.
func (r *Result) Compare() []float64 {
	ours, theirs := r.Samples.Column(measure.NameFarad, NsPerOp), r.Samples.Column(r.Peer(), NsPerOp)
	vs := measure.Ratios(ours, theirs)
	if r.Comparison() == table.NsBeyond {
		for i := range vs {
			vs[i] = ours[i] - theirs[i]
		}
	}
	return vs
}
