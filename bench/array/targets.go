package array

import (
	"github.com/farad-go/farad/bench/table"
)

// The target of the hash function that ours use, which know a semaphore by its number, and wake by
// key.
var Targets = []table.Target{
	{Workloads: OurVariants, Metric: table.FutileWakes, Bound: 0.01},
}

var OurVariants = []string{
	"golden ratio (ours)/number/256",
	"golden ratio (ours)/number/2048",
	"golden ratio (ours)/number/4096",
}
