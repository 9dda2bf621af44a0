package xsync

import (
	"runtime"
	"sync"
	"sync/atomic"
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

// Yield lets others run. It stands in loops that wait for another goroutine's next few instructions.
func Yield() { runtime.Gosched() }
