package observed

import (
	"unsafe"

	"github.com/farad-go/farad/internal/xsync"
)

// An Agent is who holds or waits.
type Agent struct {
	Goroutine uint64 // as in a stack trace
	Task      uint64 // the task that it runs; 0: none
	labels    unsafe.Pointer
}

// taskOf tells the task that a goroutine runs.
var taskOf xsync.Pointer[func(goroutine uint64) uint64]

// SetTaskOf has f, which must be quick, tell which task a goroutine runs, 0 for none. It is called
// in that goroutine, at [Holders] only.
func SetTaskOf(f func(goroutine uint64) uint64) { taskOf.Store(&f) }

// self returns the caller.
func self() Agent {
	a := Agent{Goroutine: goroutine(), labels: labels()}
	if f := taskOf.Load(); f != nil {
		a.Task = (*f)(a.Goroutine)
	}
	return a
}

// depth is how many frames of a stack are kept.
const depth = 16

// A Stack is that of a goroutine, innermost first.
type Stack struct {
	pcs [depth]uintptr
	n   int
}

// PCs returns the program counters, for runtime.CallersFrames.
func (s *Stack) PCs() []uintptr { return append([]uintptr(nil), s.pcs[:s.n]...) }
