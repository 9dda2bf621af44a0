//go:build !interleave

package rt

const (
	// ringSize is how many tasks a worker's own queue has room for, a power of two.
	ringSize = 256
	// injectionEvery: each so many polls a worker looks at the injection queue first, however much
	// it has itself.
	injectionEvery = 61
	// few is how many futures a join polls all together, whichever of them has woken the task: that
	// costs less than to know which.
	few = 8
)

// endsByItself says whether an executor that is dropped ends.
const endsByItself = true

// explored says whether the explorer runs the scenarios.
const explored = false
