//go:build interleave

package xsync

import "github.com/farad-go/farad/internal/interleave"

// The explorer's types. Outside an exploration they do what the real ones do.
type (
	Bool           = interleave.Bool
	Int64          = interleave.Int64
	Uint32         = interleave.Uint32
	Uintptr        = interleave.Uintptr
	Pointer[T any] = interleave.Pointer[T]

	Mutex = interleave.Mutex
	Pool  = interleave.Pool

	Sleeper = interleave.Sleeper
	Wakeups = interleave.Wakeups
	Signal  = *interleave.Signal
)

// The kinds of wake-ups.
const (
	Token = interleave.Token
	Nudge = interleave.Nudge
)

// Parks is true, so that scenarios use every kind of parker.
func Parks() bool { return true }

// UseChannels does nothing: the explorer has one kind of sleeper.
func UseChannels(bool) bool { return false }

// NewSignal returns a signal with room for capacity wake-ups.
func NewSignal(capacity int) Signal { return interleave.NewSignal(capacity) }

// Closed returns a signal that has been closed.
func Closed() Signal { return interleave.Closed() }

// Yield lets others run.
func Yield() { interleave.Yield() }

// Cede is a step.
func Cede() { interleave.Cede() }

// StepBack is a step.
func StepBack() { interleave.Cede() }

// Now stands still, unless the scenario has a clock: whatever depends on it happens as early as it
// can. In a simulation it is virtual time.
func Now() int64 { return interleave.Now() }

// Hint sends all threads to the same place, where they collide.
func Hint() uintptr { return 0 }

// Address sends all objects to the same place.
func Address[T any](*T) uintptr { return 0 }

// Chance is either, in different executions.
func Chance(p float64) bool { return interleave.Chance(p) }

// Spin does not: what it waits for would not come. In a simulation it does.
func Spin(i int) bool { return interleave.Spin(i) }
