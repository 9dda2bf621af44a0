//go:build interleave

package rwtest

// Under the explorer there are no bubbles: what it puts in the place of channels, timers and pools
// knows none, and allocates.
var bubbles, upgradeBubbles []test
