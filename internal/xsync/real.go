//go:build !interleave

package xsync

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/xsync/signal"
	"github.com/farad-go/farad/internal/xsync/sleep"
)

// Atomics. The 64-bit ones are aligned on 32-bit machines too, as sync/atomic promises for its
// types.
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
	Sleeper = sleep.Sleeper
	Wakeups = sleep.Wakeups
	Signal  = signal.Signal
)

// The kinds of wake-ups.
const (
	Token = sleep.Token
	Nudge = sleep.Nudge
)

// Parks reports whether new sleepers sleep by the runtime's gopark, unless they are portable.
func Parks() bool { return sleep.Parks() }

// UseChannels makes new sleepers portable, or undoes that. It returns what was set before.
func UseChannels(on bool) bool { return sleep.UseChannels(on) }

// NewSignal returns a signal with room for capacity wake-ups.
func NewSignal(capacity int) Signal { return signal.New(capacity) }

// Closed returns a signal that has been closed.
func Closed() Signal { return signal.Closed() }

// Yield lets others run. It stands in loops that wait for another goroutine's next few
// instructions.
func Yield() { runtime.Gosched() }

// Cede lets the goroutine that the caller has woken last run at once, and the caller later.
func Cede() { sleep.Cede() }

// StepBack puts the caller behind all goroutines that can run, on any processor. Cede puts it
// before those whose slice of time has ended.
func StepBack() { runtime.Gosched() }

var start = time.Now()

// Now returns monotonic nanoseconds. Only differences are meaningful.
func Now() int64 { return int64(time.Since(start)) }

// Hint returns a number that differs between goroutines that run, and is mostly the same for a
// goroutine at different times: the page of its stack. Nothing but speed may depend on it.
//
// Go offers no other that costs less than the atomic operation which it is to spread. The address
// is only ever a number: it is not turned back into a pointer, keeps nothing alive, and may be out
// of date as soon as the stack moves.
func Hint() uintptr {
	var here byte
	return uintptr(unsafe.Pointer(&here)) >> 11 // no stack is smaller
}

// Address returns where p points to, as a number to hash. It holds as long as the collector does
// not move objects, which it never has; stacks do move, but what several goroutines wait for is on
// none.
func Address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Chance is true with probability p.
func Chance(p float64) bool { return rand.Float64() < p }

const (
	spins    = 5  // in all some 1.5 µs, about as long as sync.Mutex
	spinning = 30 // loads of a line that is there, some 50 ns
)

// Spin spends some 50 ns if it makes sense to wait so for the first time, i = 0, and each time
// twice as long: a few times, if another processor can make progress meanwhile. It reports whether
// it did.
func Spin(i int) bool {
	if i >= spins || !parallel() {
		return false
	}
	for range spinning << i {
		mayRun.Load()
	}
	return true
}

// mayRun caches whether more than one processor may run: asking takes a lock of the scheduler. It
// is asked anew one time in 64.
var mayRun atomic.Bool

func parallel() bool {
	if rand.Uint32()%64 == 0 {
		if now := runtime.NumCPU() > 1 && runtime.GOMAXPROCS(0) > 1; now != mayRun.Load() {
			mayRun.Store(now)
		}
	}
	return mayRun.Load()
}
