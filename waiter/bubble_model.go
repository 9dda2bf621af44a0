//go:build interleave

package waiter

// InBubble reports whether the calling goroutine runs in a testing/synctest bubble. A scenario runs
// in none, and real tests under this tag use no parkers in one.
func InBubble() bool { return false }
