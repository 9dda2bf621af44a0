package semaphore

import (
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// Workloads with a bound in common.
var (
	contended8        = []string{"contended-8x1"}
	contended64       = []string{"contended-64x1"}
	targetedContended = []string{"contended-8x1", "contended-64x1"}
	yieldHelds        = []string{"yield-held-8x2", "yield-held-64x2", "yield-held-1000x2"}
)

// Forms with a bound in common.
var (
	background = []measure.Form{measure.Background}
	shared     = []measure.Form{measure.Shared}
	own        = []measure.Form{measure.Own}
)

// Targets are the targets of the semaphore.
var Targets = []table.Target{
	{Workloads: []string{"uncontended"}, Metric: table.RatioTo, Peer: peers.NameFloor, Bound: 1.25},
	{Workloads: []string{"uncontended"}, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.65},
	{
		Workloads: []string{"uncontended"},
		Forms:     cancellable,
		Metric:    table.RatioTo,
		Peer:      peers.NameChannel,
		Bound:     0.35,
	},

	{Workloads: contended8, Forms: background, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.75},
	{Workloads: contended64, Forms: background, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.9},
	{Workloads: targetedContended, Forms: background, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.4},
	{Workloads: targetedContended, Forms: background, Metric: table.RatioTo, Peer: peers.NameFifomu, Bound: 0.6},
	{Workloads: targetedContended, Forms: background, Metric: table.RatioTo, Peer: peers.NameMinimal, Bound: 1.35},
	{Workloads: targetedContended, Forms: background, Metric: table.MinFairness, Bound: 0.9},
	{Workloads: targetedContended, Forms: cancellable, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.65},
	{Workloads: targetedContended, Forms: shared, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.55},
	{Workloads: targetedContended, Forms: own, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.75},

	{
		Workloads: yieldHelds,
		Forms:     background,
		Metric:    table.RatioTo,
		Peer:      peers.NameXSync,
		Bound:     1,
		AimBound:  0.75,
	},
	{Workloads: yieldHelds, Forms: cancellable, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.9},
	{Workloads: yieldHelds, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.9},
	{Workloads: yieldHelds, Metric: table.RatioTo, Peer: peers.NameRing, Bound: 1.5, Aim: true},

	{Metric: table.Allocations, Bound: 0.01},
}

// TargetFor returns the target for a metric of a cell, nil if there is none.
func TargetFor(c Cell, m table.Metric, peer string) *table.Target {
	return table.Find(Targets, c.Name, c.Form, m, peer)
}
