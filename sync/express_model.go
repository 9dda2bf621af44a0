//go:build interleave && !simulate

package sync

// Express is small, so that a scenario comes to its end.
const Express = 2
