package waiter

import "time"

// isBubbledClock reports whether the caller's clock is that of a testing/synctest bubble. It gives
// times without a monotonic reading; every other clock gives them with one.
//
// (time.Since would read one clock instead of two. But since Go 1.27 a bubble's answer is a
// difference between its clock and that of the machine, which a test may have set to any time.)
//
//go:norace
func isBubbledClock() bool {
	now := time.Now()
	//nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
	return now == now.Round(0)
}
