//go:build interleave

package waiter

// A scenario runs in no bubble, and real tests under this tag use no parkers in one.
const mayBubble = false

func inBubble() bool { return false }
