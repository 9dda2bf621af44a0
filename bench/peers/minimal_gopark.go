//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !race && !msan && !asan && !farad_portable && !interleave

package peers

import (
	"sync/atomic"
	"unsafe"
)

// HasMinimalLock reports whether this build has a [MinimalLock]. The gate is that of
// internal/xsync/sleep, which says why this is safe. Elsewhere the targets that compare with it are
// not measured.
const HasMinimalLock = true

//go:linkname gopark runtime.gopark
func gopark(commit func(g, word unsafe.Pointer) bool, word unsafe.Pointer, reason, traceReason uint8, skip int)

//go:linkname goready runtime.goready
func goready(g unsafe.Pointer, skip int)

// The runtime's numbers, as in internal/xsync/sleep.
const (
	waitReasonSemacquire = 13
	traceBlockSync       = 5
)

func (n *MinimalNode) park() {
	if atomic.LoadUintptr(&n.state) == 0 {
		gopark(commit, unsafe.Pointer(&n.state), waitReasonSemacquire, traceBlockSync, 1)
	}
	atomic.StoreUintptr(&n.state, 0)
}

// commit runs on the system stack.
//
//go:nosplit
//go:norace
func commit(g, word unsafe.Pointer) bool {
	return atomic.CompareAndSwapUintptr((*uintptr)(word), 0, uintptr(g))
}

func (n *MinimalNode) wake() {
	if g := atomic.SwapUintptr(&n.state, 1); g != 0 {
		goready(*(*unsafe.Pointer)(unsafe.Pointer(&g)), 1)
	}
}
