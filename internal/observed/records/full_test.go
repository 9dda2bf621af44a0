//go:build !interleave

package records

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// A roomless is a lock that does nothing.
type roomless struct{ _ [8]byte }

var roomlessKind = observed.Register(observed.About{Name: "roomless"},
	func(*roomless, bool) {}, func(*roomless) observed.Numbers { return observed.Numbers{} })

// A lock that finds no room joins when another has left.
func TestRoomIsFoundAgain(t *testing.T) {
	defer All(All(observed.Counts))
	kept := make([]*roomless, maxLocks)
	for i := range kept {
		kept[i] = new(roomless)
		roomlessKind.Join(kept[i])
	}
	late := new(roomless)
	for range 3 {
		_, before := allRecords()
		require.Same(t, &lost, roomlessKind.Join(late))
		_, after := allRecords()
		require.Equal(t, before+1, after, "each time counts")
	}
	last := kept[len(kept)-1]
	leave(xsync.Address(last))
	require.NotSame(t, &lost, roomlessKind.Join(late))
	require.Same(t, &lost, roomlessKind.Join(last))
	leave(xsync.Address(late))
	for _, l := range kept {
		leave(xsync.Address(l))
	}
}

// What a wait pays whose lock found no room in the registry, while all are to be observed.
func BenchmarkJoinWithoutRoom(b *testing.B) {
	defer All(All(observed.Counts))
	kept := make([]*roomless, maxLocks)
	for i := range kept {
		kept[i] = new(roomless)
		roomlessKind.Join(kept[i])
	}
	b.Run("alone", func(b *testing.B) {
		l := new(roomless)
		for b.Loop() {
			roomlessKind.Join(l)
		}
	})
	b.Run("contended", func(b *testing.B) {
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			l := new(roomless)
			for pb.Next() {
				roomlessKind.Join(l)
			}
		})
	})
	for _, l := range kept {
		leave(xsync.Address(l))
	}
}
