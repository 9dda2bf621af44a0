//go:build !interleave

package xsync

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

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

var start = time.Now()

// Now returns a time in nanoseconds that only differences can be told from.
func Now() int64 { return int64(time.Since(start)) }

// Hint returns a number that differs between goroutines that run, and is mostly the same for a goroutine at different
// times: the page of its stack. Nothing but speed may depend on it.
//
// Go offers no other that costs less than the atomic operation which it is to spread. The address is only ever a
// number: it is not turned back into a pointer, keeps nothing alive, and may be out of date as soon as the stack moves.
func Hint() uintptr {
	var here byte
	return uintptr(unsafe.Pointer(&here)) >> 11 // no stack is smaller
}
