//go:build interleave

package waiting

// InBubble reports whether the calling goroutine runs in a testing/synctest bubble. A scenario runs
// in none. Other tests under this tag may, and it is looked up for each.
func InBubble() bool { return isBubbledClock() }
