//go:build interleave

package sleep

import "github.com/farad-go/farad/internal/interleave"

// The explorer's types: TestModelSleeper runs sleeper.go on them. The rest of the module uses the
// explorer's own Sleeper, for which each call is one step.
type (
	word = interleave.Uintptr
	room = *interleave.Signal
)

func newRoom() room { return interleave.NewSignal(1) }
