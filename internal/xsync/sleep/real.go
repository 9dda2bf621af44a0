//go:build !interleave

package sleep

import (
	"sync/atomic"

	"github.com/farad-go/farad/internal/xsync/signal"
)

type (
	word = atomic.Uintptr
	room = signal.Signal
)

func newRoom() room { return signal.New(1) }
