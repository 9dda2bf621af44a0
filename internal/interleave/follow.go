package interleave

import "unsafe"

// What a check that follows every step of the code under test needs, most of it in [Run.Always].

// Last returns the address of what the last step was an operation on, a modelled variable or mutex,
// or nil, and whether the operation was a write: a compare-and-swap that fails is none.
func (x *Run) Last() (on unsafe.Pointer, wrote bool) {
	return unsafe.Pointer(x.exec.o), x.exec.kind == opWrite || x.exec.kind == opLock
}

// Blocked reports whether the thread that has made the last step cannot make the next one now.
func (x *Run) Blocked() bool { return x.running.live && !x.running.enabled() }

// Chooses has f make the choices of [Choose] for the rest of the execution. Then they are no steps.
func (x *Run) Chooses(f func(n int) int) { x.chooses = f }

// Changed says that the check has changed the variable at an address. A thread that has looked at
// it and yielded goes on.
func (x *Run) Changed(on unsafe.Pointer) { (*object)(on).Version++ }
