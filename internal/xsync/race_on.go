//go:build race && !interleave

package xsync

import (
	"runtime"
	"unsafe"
)

// Races says whether the race detector watches this program. It takes each atomic operation for one
// that orders all before it in front of all after the next one, and so overlooks races of
// goroutines that use a lock that orders less. Such a lock says what it orders, as the standard
// ones do.
const Races = true

// A RaceMark is a place in a lock that only the race detector knows. It takes no memory if there is
// none. It must not be the last field. It fills a word, because the detector remembers four
// accesses of each: those of a neighbour would drive its own out. (TestRacesAreSeen)
type RaceMark uint64

// RaceDisable stands before an atomic operation that orders nothing, and RaceEnable behind it. The
// operation must not panic, or the detector sees nothing of its goroutine any more: one that has a
// pointer that may be nil dereferences it before.
func RaceDisable() { runtime.RaceDisable() }

// RaceEnable ends what RaceDisable has begun.
func RaceEnable() { runtime.RaceEnable() }

// RaceAcquire has come after all that was released at p.
func RaceAcquire[T any](p *T) { runtime.RaceAcquire(unsafe.Pointer(p)) }

// RaceRelease releases what has come before, with what others have released at p.
func RaceRelease[T any](p *T) { runtime.RaceReleaseMerge(unsafe.Pointer(p)) }

// Glance32 returns what x has, and the race detector does not see it. It is for a monitor, which
// reads the state of locks that it has no part in. The program may write a new lock over one that
// nobody uses any more. What the monitor sees then is one or the other: a word is read whole.
//
//go:norace
//go:nocheckptr
func Glance32(x *Uint32) uint32 { return *(*uint32)(unsafe.Pointer(x)) }

// Glance64 is Glance32 of 64 bits. The race detector is for processors on which that is a word.
//
//go:norace
//go:nocheckptr
func Glance64(x *Int64) int64 { return *(*int64)(unsafe.Pointer(x)) }

// GlancePointer is Glance32 of a pointer. Only code that the race detector does not see may follow
// it: for the detector nothing is ordered.
//
//go:norace
//go:nocheckptr
func GlancePointer[T any](x *Pointer[T]) *T { return *(**T)(unsafe.Pointer(x)) }

// Read is a race with each Write that is not ordered.
func (m *RaceMark) Read() { runtime.RaceRead(unsafe.Pointer(m)) }

// Write is a race with each Read and Write that is not ordered.
func (m *RaceMark) Write() { runtime.RaceWrite(unsafe.Pointer(m)) }
