package array

import (
	"github.com/farad-go/farad/bench/table"
)

// Targets are the targets of the hash functions. Ours knows a semaphore by its number, and wakes by
// key.
var Targets = []table.Target{
	{Workloads: OurVariants, Metric: table.FutileWakes, Bound: 0.01},
}

// OurVariants are the lines of the hash function that ours use.
var OurVariants = []string{
	"golden ratio (ours)/number/256",
	"golden ratio (ours)/number/2048",
	"golden ratio (ours)/number/4096",
}
