//go:build interleave

package semtest

// bubbles are none under the explorer: what it puts in the place of channels and timers knows no
// bubbles.
var bubbles, futureBubbles []test
