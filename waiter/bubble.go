package waiter

import (
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// mayBubble reports whether this process can contain testing/synctest bubbles at all: only a test binary can, and the
// go command records in a binary's build information that it is one. Without the record we have to assume so.
var mayBubble = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || strings.HasSuffix(info.Path, ".test")
})

// inBubble reports whether the calling goroutine runs in a testing/synctest bubble. A channel or a timer that was made
// in a bubble kills the process when it is used outside, so a parker must not be kept there for reuse.
//
// A bubble's clock gives times without a monotonic reading; every other clock gives them with one. Outside test
// binaries the clock is not consulted.
func inBubble() bool {
	if !mayBubble() {
		return false
	}
	now := time.Now()
	return now == now.Round(0) // Round strips the monotonic reading and, by 0, changes nothing else
}
