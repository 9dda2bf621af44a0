package observed

import (
	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/xsync"
)

// How the records of locks are found, and made: see [Of] and [Kind.Join]. They are written once,
// when package records is initialized. In a program without it nothing is observed.
var (
	find = func(uintptr) Record { return none{} }
	join = func(Type, any) Record { return none{} }
)

// SetRegistry is called by package records.
func SetRegistry(of func(at uintptr) Record, joined func(t Type, lock any) Record) {
	find, join = of, joined
}

// state is what slow paths ask before they look for a record.
var state struct {
	everything xsync.Uint32 // a Level: what locks join at on their next slow path
	some       xsync.Uint32 // not 0: a lock is observed, or joins on its next slow path

	_ cpu.CacheLinePad // those above are read often, and hardly ever written

	lastID xsync.Int64
}

// Of returns the record of a lock whose bit O is set. If there is none any more it returns one that
// drops everything.
//
//go:norace
func Of[T any](lock *T) Record {
	if Inert {
		return none{}
	}
	return find(xsync.Address(lock))
}

// Everything returns the level at which other locks join on their next slow path.
func Everything() Level {
	if Inert {
		return Off
	}
	return Level(xsync.Glance32(&state.everything))
}

// SetEverything sets it, and returns what it was.
func SetEverything(level Level) Level { return Level(state.everything.Swap(uint32(level))) }

// Any reports whether a lock is observed, or joins on its next slow path.
func Any() bool { return !Inert && xsync.Glance32(&state.some) != 0 }

// SetAny sets what it reports.
func SetAny(on bool) {
	some := uint32(0)
	if on {
		some = 1
	}
	state.some.Store(some)
}

// NewID returns a number that nothing else in the process has.
func NewID() uint64 { return NewIDs(1) }

// NewIDs returns the first of n such numbers in a row.
func NewIDs(n int) uint64 { return uint64(state.lastID.Add(int64(n))) - uint64(n) + 1 }
