//go:build !interleave

package runtime

// ringSize is how many tasks a worker's own queue has room for, a power of two.
const ringSize = 256
