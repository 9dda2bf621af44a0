//go:build interleave

package waiter

import "time"

// InBubble reports whether the calling goroutine runs in a testing/synctest bubble. A scenario runs
// in none. Other tests under this tag may, and it is looked up for each.
func InBubble() bool {
	now := time.Now()
	//nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
	return now == now.Round(0)
}
