package agents

import (
	"runtime"
	"unsafe"

	"github.com/farad-go/farad/internal/xsync"
)

// An Agent is who holds or waits.
type Agent struct {
	Goroutine uint64         // as in a stack trace
	Task      uint64         // the task that it runs; 0: none
	labels    unsafe.Pointer // as the runtime has them
}

// Labels returns the profiler labels of an agent, nil if it has none or this build cannot read
// them.
func (a *Agent) Labels() map[string]string { return labelMap(a.labels) }

// taskOf returns the task that a goroutine runs.
var taskOf xsync.Pointer[func(goroutine uint64) uint64]

// SetTaskOf sets f, which returns the task that a goroutine runs, 0 for none. F must be quick. It
// is called in that goroutine, at Holders only.
func SetTaskOf(f func(goroutine uint64) uint64) { taskOf.Store(&f) }

// Self returns the caller.
//
//go:norace
func Self() Agent {
	a := Who()
	a.labels = labels()
	return a
}

// Who returns the caller without its labels.
//
//go:norace
func Who() Agent {
	a := Agent{Goroutine: goroutine()}
	if xsync.GlancePointer(&taskOf) != nil {
		f := taskOf.Load()
		a.Task = (*f)(a.Goroutine)
	}
	return a
}

// Is reports whether a and b are the same: a task runs in several goroutines, one after the other.
//
//go:norace
func (a *Agent) Is(b *Agent) bool {
	return a.Task == b.Task && (a.Task != 0 || a.Goroutine == b.Goroutine)
}

// Goroutine returns the number of the calling goroutine, as in a stack trace.
//
//go:norace
func Goroutine() uint64 { return goroutine() }

// identified guards the search for that number.
var identified struct {
	mu   xsync.Mutex
	done bool // guarded by mu
}

// Identify makes that quick, where this build can. It is called before the first lock is observed.
func Identify() {
	identified.mu.Lock()
	defer identified.mu.Unlock()
	if !identified.done {
		identified.done = true
		identify()
	}
}

// traced returns the number of the calling goroutine as its stack trace has it, which every build
// can read, in more than a microsecond.
//
//go:norace
func traced() uint64 {
	const prefix = "goroutine "
	xsync.RaceDisable()
	defer xsync.RaceEnable()
	text := texts.Get().(*[32]byte)
	defer texts.Put(text)
	n := uint64(0)
	for _, c := range text[len(prefix):runtime.Stack(text[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}

var texts = xsync.Pool{New: func() any { return new([32]byte) }}
