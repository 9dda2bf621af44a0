package main

import (
	"fmt"
	"slices"
)

// The metrics of the executor, besides ratioTo and allocations.
const (
	nsBeyond       metric = "ns beyond"                        // farad minus the peer
	taskBytes      metric = "bytes per waiting task"           // a poll task
	goroutineTimes metric = "bytes of a goroutine ÷ of a task" // at least: what goroutines need more
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

// The targets of the executor, all of them. What they call a workload is workload/workers.
var taskTargets = []target{
	{workloads: []string{"hand-off-8x2/1"}, metric: ratioTo, peer: nameXSync, bound: 0.15},
	{workloads: handOffs, metric: ratioTo, peer: nameXSync, bound: 0.3},
	{workloads: []string{"yield/1"}, metric: ratioTo, peer: nameFloor, bound: 2.5},
	{workloads: spawns, metric: ratioTo, peer: nameGoStatement, bound: 0.5},
	{workloads: []string{"await-ready/1"}, metric: nsBeyond, peer: nameGoroutine, bound: 20},
	{workloads: []string{"await-yield/1"}, metric: ratioTo, peer: nameCoroutine, bound: 2.5},
	// Here the semaphore's own work is in it, too: an aim.
	{workloads: []string{"await-hand-off/1"}, metric: ratioTo, peer: nameCoroutine, bound: 2.5, aim: true},
	{workloads: timerLines, metric: ratioTo, peer: nameAfterFunc, bound: 1},
	{workloads: []string{"ants-submit/8"}, metric: ratioTo, peer: nameAnts, bound: 1},

	{workloads: allocationFree, metric: allocations, bound: 0.01},

	{metric: taskBytes, bound: 200},
	{metric: goroutineTimes, bound: 10},
}

// key is the line's name in targets.
func (r *taskResult) key() string { return fmt.Sprintf("%s/%d", r.Workload, r.Workers) }

// taskTargetFor returns the target for a metric of a line, nil if there is none. What belongs to no
// line has an empty name.
func taskTargetFor(line string, m metric, peer string) *target {
	return find(taskTargets, line, "", m, peer)
}

// comparison is what a line is held to: a quotient, unless its target bounds a difference.
func (r *taskResult) comparison() metric {
	if taskTargetFor(r.key(), nsBeyond, r.peer()) != nil {
		return nsBeyond
	}
	return ratioTo
}

// compare returns the comparison with the peer, round by round.
func (r *taskResult) compare() []float64 {
	ours, theirs := r.Samples.column(nameFarad, taskNs), r.Samples.column(r.peer(), taskNs)
	vs := ratios(ours, theirs)
	if r.comparison() == nsBeyond {
		for i := range vs {
			vs[i] = ours[i] - theirs[i]
		}
	}
	return vs
}
