//go:build !interleave

package xsync

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/farad-go/farad/internal/signal"
)

// Atomics. The 64-bit ones are aligned on 32-bit machines too, as sync/atomic promises for its types.
type (
	Bool           = atomic.Bool
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uintptr        = atomic.Uintptr
	Pointer[T any] = atomic.Pointer[T]
)

// Locks and pools.
type (
	Mutex = sync.Mutex
	Pool  = sync.Pool
)

// Sleeping.
type (
	Signal = signal.Signal
	Timer  = signal.Timer
)

// NewSignal returns a signal with room for capacity wake-ups.
func NewSignal(capacity int) Signal { return signal.New(capacity) }

// Yield lets others run. It stands in loops that wait for another goroutine's next few instructions.
func Yield() { runtime.Gosched() }
