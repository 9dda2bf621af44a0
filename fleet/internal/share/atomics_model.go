//go:build interleave

package share

import "github.com/farad-go/farad/internal/xsync"

type (
	atomicBool           = xsync.Bool
	atomicInt64          = xsync.Int64
	atomicUint32         = xsync.Uint32
	atomicPointer[T any] = xsync.Pointer[T]

	mutex = xsync.Mutex
	pool  = xsync.Pool
)
