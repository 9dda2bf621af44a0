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
	timer = *time.Timer
)

func newRoom() room { return signal.New(1) }

func afterFunc(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }
