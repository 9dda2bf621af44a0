//go:build interleave

package sleep

import (
	"time"

	"github.com/farad-go/farad/internal/xsync/model"
)

// The explorer's types: TestModel runs sleeper.go on them. The rest of the module uses the
// explorer's own Sleeper, for which each call is one step.
type (
	word  = model.Uintptr
	room  = *model.Signal
	timer = *modelTimer
)

func newRoom() room { return model.NewSignal(1) }

// A modelTimer runs out at any moment after it is set, or never.
type modelTimer struct {
	set model.Bool
	f   func()
}

// start starts a thread. The scenario says how.
var start func(f func())

func afterFunc(d time.Duration, f func()) timer {
	t := &modelTimer{f: f}
	t.Reset(d)
	return t
}

func (t *modelTimer) Reset(time.Duration) bool {
	t.set.Store(true)
	start(func() {
		if t.set.CompareAndSwap(true, false) {
			t.f()
		}
	})
	return false
}

func (t *modelTimer) Stop() bool { return t.set.CompareAndSwap(true, false) }
