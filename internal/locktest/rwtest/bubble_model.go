//go:build interleave

package rwtest

// bubbles are none under the explorer: what it puts in the place of channels, timers and pools
// knows no bubbles, and allocates.
var bubbles []test
