package main

// The targets of mutexes and read-write locks.
var lockTargets = []target{
	{workloads: []string{"mutex-1"}, metric: ratioTo, peer: nameMutex, bound: 1.25},
	{workloads: []string{"mutex-8", "mutex-64"}, metric: ratioTo, peer: nameChannel, bound: 1.2},
	{workloads: []string{"mutex-8", "mutex-64"}, metric: ratioTo, peer: nameFifomu, bound: 0.95},
	{workloads: []string{"mutex-8", "mutex-64"}, metric: ratioTo, peer: nameXSync, bound: 0.6},
	{workloads: []string{"mutex-8", "mutex-64"}, metric: minFairness, bound: 0.9},
	{workloads: []string{"mutex-context-1"}, metric: ratioTo, peer: nameLock, bound: 1.1},
	{workloads: []string{"mutex-context-8", "mutex-context-64"}, metric: ratioTo, peer: nameChannel, bound: 1},
	{workloads: []string{"mutex-context-8", "mutex-context-64"}, metric: ratioTo, peer: nameXSync, bound: 0.65},

	{workloads: []string{"twa-1"}, metric: ratioTo, peer: nameAdditions, bound: 1.15},
	{workloads: semabenches, metric: ratioTo, peer: nameSem, bound: 1.05},
	{workloads: semabenches, metric: ratioTo, peer: nameXSync, bound: 0.62},
	{workloads: semabenches[1:], metric: minFairness, bound: 0.9}, // of one goroutine it is 1
	{workloads: []string{"semabench-1024"}, metric: growthFrom, than: "semabench-8", bound: 1.3},

	{workloads: []string{"mutexbench-1", "mutexbench-2"}, metric: ratioTo, peer: nameMutex, bound: 1.4},
	{workloads: []string{"mutexbench-8"}, metric: ratioTo, peer: nameMutex, bound: 0.2},
	{workloads: mutexbenches, metric: ratioTo, peer: nameMutex, bound: 0.15},
	{workloads: []string{"mutexbench-2"}, metric: minFairness, bound: 0.85},
	{workloads: append([]string{"mutexbench-8"}, mutexbenches...), metric: minFairness, bound: 0.9},
	{workloads: []string{"mutexbench-waits-64"}, metric: tailTo, peer: nameMutex, bound: 0.5},
	{workloads: []string{"mutexbench-waits-64"}, metric: tailOfAllTo, peer: nameMutex, bound: 0.5},
	{workloads: []string{"mutexbench-long-8", "mutexbench-sleep-64"}, metric: ratioTo, peer: nameMutex, bound: 1.05},
	{workloads: []string{"mutexbench-long-8"}, metric: minFairness, bound: 0.95},
	{workloads: lifoBenches, metric: minFairness, bound: 0.9},

	{
		workloads: []string{"platoon-8x2", "platoon-64x2", "platoon-1000x2"},
		metric:    ratioTo,
		peer:      nameXSync,
		bound:     0.15,
	},
	{workloads: []string{"platoon-64x2"}, metric: minFairness, bound: 0.9},

	{workloads: []string{"word-1"}, metric: ratioTo, peer: nameMutex, bound: 1.05},
	{workloads: []string{"word-8"}, metric: ratioTo, peer: nameMutex, bound: 1.1},
	{workloads: []string{"packed-8"}, metric: ratioTo, peer: nameMutexes, bound: 1.2},

	{workloads: []string{"read-1"}, metric: ratioTo, peer: nameRWMutex, bound: 1.3},
	{workloads: []string{"read-2"}, metric: ratioTo, peer: nameRWMutex, bound: 0.5},
	{workloads: []string{"read-2"}, metric: ratioTo, peer: nameRBMutex, bound: 1.1},
	{workloads: mixes, metric: ratioTo, peer: nameRWMutex, bound: 1.05},

	{metric: allocations, bound: 0.01},
}

// The target of the hash function that ours use, which know a semaphore by its number, and wake by
// key.
var variantTargets = []target{
	{workloads: ourVariants, metric: futileWakes, bound: 0.01},
}

var ourVariants = []string{
	"golden ratio (ours)/number/256",
	"golden ratio (ours)/number/2048",
	"golden ratio (ours)/number/4096",
}

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

// lockTargetFor returns the target for a metric of a line, nil if there is none.
func lockTargetFor(line string, m metric, peer string) *target {
	return find(lockTargets, line, "", m, peer)
}
