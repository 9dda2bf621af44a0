package locks

import (
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// Targets are the targets of mutexes and read-write locks.
var Targets = []table.Target{
	{Workloads: []string{"mutex-1"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.25},
	{Workloads: []string{"mutex-8"}, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.75},
	{Workloads: []string{"mutex-64"}, Metric: table.RatioTo, Peer: peers.NameChannel, Bound: 0.9},
	{Workloads: contendedMutexes, Metric: table.RatioTo, Peer: peers.NameFifomu, Bound: 0.6},
	{Workloads: contendedMutexes, Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.4},
	{Workloads: contendedMutexes, Metric: table.RatioTo, Peer: peers.NameMinimal, Bound: 1.35},
	{Workloads: contendedMutexes, Metric: table.MinFairness, Bound: 0.9},
	{Workloads: []string{"mutex-context-1"}, Metric: table.RatioTo, Peer: nameLock, Bound: 1.1},
	{
		Workloads: []string{"mutex-context-8", "mutex-context-64"},
		Metric:    table.RatioTo,
		Peer:      peers.NameChannel,
		Bound:     0.55,
	},
	{
		Workloads: []string{"mutex-own-context-8", "mutex-own-context-64"},
		Metric:    table.RatioTo,
		Peer:      peers.NameChannel,
		Bound:     0.75,
	},
	{
		Workloads: []string{"mutex-context-8", "mutex-context-64"},
		Metric:    table.RatioTo,
		Peer:      peers.NameXSync,
		Bound:     0.65,
	},

	{
		Workloads: []string{"timeout-8", "timeout-64", "mutex-timeout-8", "mutex-timeout-64"},
		Metric:    table.RatioTo,
		Peer:      NameChannelTimer,
		Bound:     0.7,
	},

	{Workloads: []string{"twa-1"}, Metric: table.RatioTo, Peer: NameAdditions, Bound: 1.15},
	{Workloads: semabenches, Metric: table.RatioTo, Peer: NameSem, Bound: 1.05},
	{Workloads: semabenches[:2], Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.62},
	{Workloads: semabenches[2:], Metric: table.RatioTo, Peer: peers.NameXSync, Bound: 0.4},
	{Workloads: semabenches[1:], Metric: table.MinFairness, Bound: 0.9}, // of one goroutine it is 1
	{Workloads: []string{"semabench-1024"}, Metric: table.GrowthFrom, Than: "semabench-8", Bound: 1.3},

	{Workloads: []string{"mutexbench-1", "mutexbench-2"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.4},
	// On every processor. On an Intel Xeon it was 0.2 and 0.12.
	{Workloads: append([]string{"mutexbench-8"}, mutexbenches...), Metric: table.RatioTo, Peer: NameMutex, Bound: 0.6},
	{Workloads: []string{"mutexbench-2"}, Metric: table.MinFairness, Bound: 0.85},
	{Workloads: append([]string{"mutexbench-8"}, mutexbenches...), Metric: table.MinFairness, Bound: 0.9},
	{Workloads: []string{"mutexbench-waits-64"}, Metric: table.TailTo, Peer: NameMutex, Bound: 0.5},
	{Workloads: []string{"mutexbench-waits-64"}, Metric: table.TailOfAllTo, Peer: NameMutex, Bound: 0.5},
	{
		Workloads: []string{"mutexbench-long-8", "mutexbench-sleep-64"},
		Metric:    table.RatioTo,
		Peer:      NameMutex,
		Bound:     1.1,
	},
	{Workloads: []string{"mutexbench-outside-64"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.3},
	{Workloads: []string{"mutexbench-long-8"}, Metric: table.MinFairness, Bound: 0.95},
	{Workloads: lifoBenches, Metric: table.MinFairness, Bound: 0.9},

	{
		Workloads: []string{"capacitor-8x2", "capacitor-64x2", "capacitor-1000x2"},
		Metric:    table.RatioTo,
		Peer:      peers.NameXSync,
		Bound:     0.15,
	},
	{Workloads: []string{"capacitor-64x2"}, Metric: table.MinFairness, Bound: 0.9},

	{Workloads: []string{"word-1"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.05},
	{Workloads: []string{"word-8"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.1},
	{Workloads: []string{"packed-8"}, Metric: table.RatioTo, Peer: NameMutexes, Bound: 1.2},

	{Workloads: []string{"read-1"}, Metric: table.RatioTo, Peer: NameRWMutex, Bound: 1.3},
	{Workloads: []string{"read-2"}, Metric: table.RatioTo, Peer: NameRWMutex, Bound: 0.5},
	{Workloads: []string{"read-2"}, Metric: table.RatioTo, Peer: NameRBMutex, Bound: 1.1},
	{Workloads: []string{"sync-mutex-1"}, Metric: table.RatioTo, Peer: NameMutex, Bound: 1.15},
	{
		Workloads: []string{"sync-read-1", "sync-mix-90-8", "sync-mix-99-8"},
		Metric:    table.RatioTo,
		Peer:      NameRWMutex,
		Bound:     1.2,
	},
	{Workloads: []string{"sync-read-2"}, Metric: table.RatioTo, Peer: NameRWMutex, Bound: 0.5},
	{Workloads: mixes[:2], Metric: table.RatioTo, Peer: NameRWMutex, Bound: 1.05},
	{Workloads: mixes[2:], Metric: table.RatioTo, Peer: NameRWMutex, Bound: 0.9},

	{Workloads: []string{"cond-ping-pong", "cond-64"}, Metric: table.RatioTo, Peer: NameCond, Bound: 1.1},
	{Workloads: []string{"waitgroup-1", "waitgroup-wait"}, Metric: table.RatioTo, Peer: NameWaitGroup, Bound: 1.1},

	{Workloads: []string{"keyed-1"}, Metric: table.RatioTo, Peer: NameMapOfMutexes, Bound: 1.2},
	{Workloads: []string{"keyed-64"}, Metric: table.RatioTo, Peer: NameCountedMap, Bound: 0.5},
	{Workloads: []string{"keyed-64"}, Metric: table.RatioTo, Peer: NameStripes, Bound: 1.5},

	{
		Workloads: []string{"observed-8", "observed-sync-8"},
		Metric:    table.RatioTo,
		Peer:      NameUnobserved,
		Bound:     1.05,
	},
	{Workloads: []string{"observed-1", "observed-8"}, Metric: table.RatioTo, Peer: NameGoDeadlock, Bound: 0.5},

	{
		Workloads: []string{"shares-1", "shares-context-1", "shares-as-1", "shares-as-context-1"},
		Metric:    table.RatioTo,
		Peer:      NameSem,
		Bound:     1.3,
	},
	{
		Workloads: []string{"shares-as-8", "shares-as-64", "shares-as-context-8", "shares-as-context-64"},
		Metric:    table.RatioTo,
		Peer:      NameSem,
		Bound:     1.5,
	},

	{Workloads: []string{"tree-yield-1000"}, Metric: table.RatioTo, Peer: NameFlatShares, Bound: 1.5},

	{Metric: table.Allocations, Bound: 0.01},
}

var contendedMutexes = []string{"mutex-8", "mutex-64"}

var semabenches = []string{
	"semabench-1",
	"semabench-2",
	"semabench-8",
	"semabench-64",
	"semabench-256",
	"semabench-1024",
}

var lifoBenches = []string{
	"mutexbench-lifo-2",
	"mutexbench-lifo-8",
	"mutexbench-lifo-64",
	"mutexbench-lifo-256",
	"mutexbench-lifo-1024",
}

var mutexbenches = []string{"mutexbench-64", "mutexbench-256", "mutexbench-1024"}

var mixes = []string{"mix-90-8", "mix-99-8", "mix-90-8-yield", "mix-99-8-yield"}

// TargetFor returns the target for a metric of a line, nil if there is none.
func TargetFor(line string, m table.Metric, peer string) *table.Target {
	return table.Find(Targets, line, "", m, peer)
}
