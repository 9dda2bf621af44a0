//go:build !interleave

package observed

// Inert says that records drop everything.
const Inert = false
