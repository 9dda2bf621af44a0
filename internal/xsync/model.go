//go:build interleave

package xsync

import (
	"context"

	"github.com/farad-go/farad/internal/xsync/model"
)

// All executions of a scenario take the same branches: what is learned is known before the first.
func init() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	timed, stop := context.WithTimeout(ctx, 0)
	defer stop()
	for _, c := range []context.Context{context.Background(), ctx, timed} {
		Learn(c)
	}
}

// The types that an explorer schedules. Outside an exploration they do what the real ones do.
type (
	Bool           = model.Bool
	Int64          = model.Int64
	Uint32         = model.Uint32
	Uintptr        = model.Uintptr
	Pointer[T any] = model.Pointer[T]

	Mutex = model.Mutex
	Pool  = model.Pool

	Sleeper = model.Sleeper
	Wakeups = model.Wakeups
	Signal  = *model.Signal
)

// The kinds of wake-ups.
const (
	Token = model.Token
	Nudge = model.Nudge
)

// Parks is true, so that scenarios use every kind of parker.
func Parks() bool { return true }

// UseChannels does nothing: the explorer has one kind of sleeper.
func UseChannels(bool) bool { return false }

// NewSignal returns a signal with room for capacity wake-ups.
func NewSignal(capacity int) Signal { return model.NewSignal(capacity) }

// Closed returns a signal that has been closed.
func Closed() Signal { return model.Closed() }

// Yield lets others run.
func Yield() { model.Yield() }

// Cede is a step.
func Cede() { model.Cede() }

// StepBack is a step.
func StepBack() { model.Cede() }

// Now stands still, unless the scenario has a clock: whatever depends on it happens as early as it
// can. In a simulation it is virtual time.
func Now() int64 { return model.Now() }

// Hint sends all threads to the same place, where they collide.
func Hint() uintptr { return 0 }

// Address sends all objects to the same place.
func Address[T any](*T) uintptr { return 0 }

// Chance is either, in different executions.
func Chance(p float64) bool { return model.Chance(p) }

// Spin does not: what it waits for would not come. In a simulation it does.
func Spin(i int) bool { return model.Spin(i) }
