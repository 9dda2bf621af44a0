//go:build interleave

package mutex_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/sync/mutex"
)

const few = 2 // preemptions, where a load more for each step makes many more interleavings of the same

func newPointer() mutextest.Small { return new(mutex.Pointer[int64]) }
func newPacked() mutextest.Small  { return packedLock{mutex.NewPacked(2), 1} }

// All sleepers are in one bucket here: internal/parking/lots_model.go.
func TestModelBits(t *testing.T) {
	for name, of := range map[string]mutextest.Subject{
		"word":    {New: func() mutextest.Small { return new(mutex.Word) }},
		"pointer": {New: newPointer, Bound: few},
		"pointer that is stored": {
			New: newPointer, Bound: few,
			Beside: func(m mutextest.Small) { m.(*mutex.Pointer[int64]).Store(&something) },
			After: func(x *interleave.Run, m mutextest.Small) {
				x.Assert(m.(*mutex.Pointer[int64]).Load() == &something, "the pointer was lost")
			},
		},
		"packed": {New: newPacked, Bound: few},
		"packed with a neighbour": {
			New: newPacked, Bound: few,
			Beside: func(m mutextest.Small) { m.(packedLock).p.Lock(0) },
			After:  func(_ *interleave.Run, m mutextest.Small) { m.(packedLock).p.Unlock(0) },
		},
	} {
		t.Run(name, func(t *testing.T) { mutextest.RunSmallModel(t, of) })
	}
}

// Every history of calls is one that a lock could have given that promises no order, and, of a
// Pointer, one of a register beside it.
func TestModelBitHistories(t *testing.T) {
	for name, of := range map[string]mutextest.Subject{
		"word":    {New: func() mutextest.Small { return new(mutex.Word) }},
		"pointer": {New: newPointer, Bound: few},
		"packed":  {New: newPacked, Bound: few},
		"packed with a neighbour": {
			New: newPacked, Bound: few,
			Beside: func(m mutextest.Small) { m.(packedLock).p.Lock(0); m.(packedLock).p.Unlock(0) },
		},
	} {
		t.Run(name, func(t *testing.T) { mutextest.RunSmallHistories(t, of) })
	}
}

var something int64
