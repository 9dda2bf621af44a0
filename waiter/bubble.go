package waiter

import (
	"runtime/debug"
	"strings"
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// bubbles says whether this process can contain testing/synctest bubbles at all: only a test binary can, and the go
// command records in a binary's build information that it is one. Without the record we have to assume so.
var bubbles xsync.Uint32

const (
	bubblesUnknown uint32 = iota
	bubblesNever
	bubblesMaybe
)

// inBubble reports whether the calling goroutine runs in a testing/synctest bubble. A channel or a timer that was made
// in a bubble kills the process when it is used outside, so a parker must not be kept there for reuse.
//
// A bubble's clock gives times without a monotonic reading; every other clock gives them with one. Callers look at
// bubbles first: where it says never, the clock is not consulted.
func inBubble() bool {
	if bubbles.Load() == bubblesUnknown {
		b := bubblesMaybe
		if info, ok := debug.ReadBuildInfo(); ok && !strings.HasSuffix(info.Path, ".test") {
			b = bubblesNever
		}
		bubbles.Store(b) // whoever else is here stores the same
	}
	if bubbles.Load() == bubblesNever {
		return false
	}
	now := time.Now()
	return now == now.Round(0) //nolint:staticcheck // Round(0) strips the monotonic reading, which Equal does not see
}
