//go:build !interleave

package waiting

import (
	"github.com/farad-go/farad/internal/linked"
	"github.com/farad-go/farad/internal/xsync"
)

// bubbles says whether this process can contain testing/synctest bubbles at all: only a test binary
// that uses that package can. The first wait finds out and writes it; if several do, they all write
// the same. (The build information does not say it: in it the tests of a main package look like the
// program.)
var bubbles xsync.Uint32

// The values of bubbles.
const (
	bubblesUnknown = iota
	bubblesPossible
	bubblesNever
)

// InBubble reports whether the calling goroutine runs in a testing/synctest bubble, where nothing
// may be used that was made outside, nor anything be kept that was made inside. In a program
// without bubbles it costs one load.
//
//go:norace
func InBubble() bool { return bubbles.Load() != bubblesNever && inBubble() }

// inBubble is InBubble where bubbles may be possible. A channel or a timer that was made in a
// bubble kills the process when it is used outside, so a parker must not be kept there for reuse.
//
//go:norace
func inBubble() bool {
	if bubbles.Load() == bubblesUnknown {
		if !linked.Bubbles() {
			bubbles.Store(bubblesNever)
			return false
		}
		bubbles.Store(bubblesPossible)
	}
	return isBubbledClock()
}
