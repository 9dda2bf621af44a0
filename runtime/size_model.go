//go:build interleave

package runtime

// ringSize is small under the explorer, so that queues overflow.
const ringSize = 4
