//go:build interleave

package observed

// Inert says that records drop everything. The explorer looks at the bit O and at all branches on
// it, not at what is counted.
const Inert = true
