//go:build !interleave

package sleep

import (
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/internal/xsync/signal"
)

type (
	word  = atomic.Uintptr
	room  = signal.Signal
	timer = *alarm
)

func newRoom() room { return signal.New(1) }

// An alarm is a [time.Timer]. A Sleeper is part of what is kept in pools, and of the type of such a
// thing the linker keeps all that reflection can reach. From a time.Timer that is the formats of
// times and the time zones, 100 kB. From two functions it is nothing.
type alarm struct {
	Reset func(time.Duration) bool
	Stop  func() bool
}

func afterFunc(d time.Duration, f func()) timer {
	t := time.AfterFunc(d, f)
	return &alarm{t.Reset, t.Stop}
}
