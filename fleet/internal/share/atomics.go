//go:build !interleave

package share

import (
	"sync"
	"sync/atomic"
)

// What a share is made of. Scenarios have twins of these in atomics_model.go, which the explorer
// schedules.
type (
	atomicBool           = atomic.Bool
	atomicInt64          = atomic.Int64
	atomicUint32         = atomic.Uint32
	atomicPointer[T any] = atomic.Pointer[T]

	mutex = sync.Mutex
	pool  = sync.Pool
)
