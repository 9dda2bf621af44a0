package capacitor

import (
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// Targets are the targets of hand-offs in strict order.
var Targets = []table.Target{
	{Workloads: handOffs, Metric: table.HandOffP50To, Ours: NameFIFO, Peer: peers.NameChannel, Bound: 1},
	{Workloads: handOffs, Metric: table.HandOffP99To, Ours: NameFIFO, Peer: peers.NameChannel, Bound: 1},
	{Workloads: handOffs, Metric: table.HandOffP50To, Ours: locks.NameSem, Peer: peers.NameChannel, Bound: 1},
	{Workloads: handOffs, Metric: table.HandOffP99To, Ours: locks.NameSem, Peer: peers.NameChannel, Bound: 1},
}

var handOffs = []string{"hand-off-64"}

// handOffTarget returns the target for a metric of a lock divided by the channel's, nil if there is
// none.
func handOffTarget(line, ours string, m table.Metric) *table.Target {
	return table.FindOf(Targets, line, "", m, ours, peers.NameChannel)
}
