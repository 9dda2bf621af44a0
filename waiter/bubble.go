//go:build !interleave

package waiter

import (
	"testing"
	"time"
)

// mayBubble says whether this process can contain testing/synctest bubbles at all: only a test binary can. The linker
// knows. (The build information does not: in it the tests of a main package look like the program.)
var mayBubble = testing.Testing()

// inBubble reports whether the calling goroutine runs in a testing/synctest bubble. A channel or a timer that was made
// in a bubble kills the process when it is used outside, so a parker must not be kept there for reuse.
//
// A bubble's clock gives times without a monotonic reading; every other clock gives them with one. Callers look at
// mayBubble first: outside test binaries the clock is not consulted.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0) //nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
}
