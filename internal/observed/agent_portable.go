package observed

import (
	"runtime"
	"unsafe"
)

// goroutine returns the number of the calling goroutine, as in a stack trace.
func goroutine() uint64 {
	var text [32]byte
	const prefix = "goroutine "
	n := uint64(0)
	for _, c := range text[len(prefix):runtime.Stack(text[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}

// labels returns the profiler labels of the calling goroutine.
func labels() unsafe.Pointer { return nil }

// labelMap returns labels as a map.
func labelMap(unsafe.Pointer) map[string]string { return nil }

// capture writes the stack of the caller's caller's caller.
func (s *Stack) capture(skip int) { s.n = runtime.Callers(skip+2, s.pcs[:]) }
