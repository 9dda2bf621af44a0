package interleave

import "github.com/farad-go/farad/internal/xsync/model"

// The modelled types. Scenarios use those of internal/xsync, too, which are the same under the tag.
type (
	Bool           = model.Bool
	Int32          = model.Int32
	Int64          = model.Int64
	Uint32         = model.Uint32
	Uint64         = model.Uint64
	Uintptr        = model.Uintptr
	Pointer[T any] = model.Pointer[T]

	Mutex   = model.Mutex
	Pool    = model.Pool
	Signal  = model.Signal
	Sleeper = model.Sleeper
	Wakeups = model.Wakeups

	// object is the head of everything that threads share.
	object = model.Object
)

// NewSignal returns a signal with room for capacity wake-ups.
func NewSignal(capacity int) *Signal { return model.NewSignal(capacity) }

// Yield stands in a loop that waits for others: the thread goes on when something that it looked at
// since its last Yield has changed. If nothing ever changes, that is a deadlock.
func Yield() { model.Yield() }

// Now returns the virtual time of the running thread in a simulation, and in a search the time of
// the scenario's clock ([Run.Clock]); without one, 0.
func Now() int64 { return model.Now() }

// An explorer is a run, as the modelled types see it.
type explorer struct{ *Run }

var _ model.Explorer = explorer{}

// Step implements [model.Explorer].
//
//go:norace
func (x explorer) Step(o *object, k model.Kind) bool {
	if x.quiet {
		return false
	}
	if k == model.Read {
		return x.step(o, opRead)
	}
	return x.step(o, opWrite)
}

// Done implements [model.Explorer].
//
//go:norace
func (x explorer) Done(o *object, k model.Kind, changed bool) bool {
	if k == model.Read {
		x.exec.kind = opRead
	}
	x.wrote(o, changed)
	return x.tracing
}

// Say implements [model.Explorer].
func (x explorer) Say(o *object, what ...any) { x.say(o, what...) }

// wrote notes that a write of o has been done.
//
//go:norace
func (x *Run) wrote(o *object, changed bool) {
	if changed {
		o.Version++
	}
	x.running.saw(o)
}
