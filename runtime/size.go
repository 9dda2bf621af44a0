//go:build !interleave

package rt

const (
	// ringSize is the capacity of the queue of a worker, a power of two.
	ringSize = 256
	// injectionEvery is how often a worker looks at the injection queue before its own: once in so
	// many polls.
	injectionEvery = 61
	// few is how many futures a join polls together, whichever has woken the task. For so few, that
	// costs less than knowing which.
	few = 8
)

// endsByItself says whether an executor that is no longer referred to ends.
const endsByItself = true

// explored says whether the explorer of interleavings runs the code.
const explored = false
