//go:build !interleave

package observed

// inert says that records drop everything.
const inert = false
