//go:build !interleave

package innerlocks

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/xsync"
)

// sleepers returns how many goroutines sleep for a lock.
type sleepers struct{ lock }

func (s sleepers) Waiting() int {
	if n := newest(s.lock); n != nil && n.state.Load() == asleep {
		return 1
	}
	return 0
}

// No wait allocates, including one that ends in a sleep. (TTS has no nodes, and does not sleep.)
func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for name, create := range kinds {
		if name == "tts" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := sleepers{create()}
			pass := func() { l.Lock(); l.Unlock() }
			require.Zero(t, locktest.AllocsPerWait(l, l.Lock, l.Unlock, pass))
		})
	}
}

// Words that several processors write are 128 bytes apart: inside a lock, and from neighbouring
// objects, because objects of these sizes begin at multiples of 128.
func TestLinesAreNotShared(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are those of 64 bits")
	}
	require.EqualValues(t, 128, unsafe.Sizeof(node{}))
	require.EqualValues(t, 128, unsafe.Sizeof(TTS{}))
	require.EqualValues(t, 128, unsafe.Offsetof(MCS{}.owner))
	require.EqualValues(t, 128, unsafe.Offsetof(Reciprocating{}.successor))
	for _, create := range kinds {
		for range 100 {
			require.Zero(t, reflect.ValueOf(create()).Pointer()%128)
			require.Zero(t, xsync.Address(newNode())%128)
		}
	}
}
