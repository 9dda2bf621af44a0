//go:build interleave

package sync

import (
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// long is so long a time that an express lane which has lasted for it is cut.
const long = (laneLasts + 1) << 10

// While sections take so long at some times, and none at others, that the lane is cut and grows
// again: never are two inside, no goroutine sleeps for ever, and the lane has neither more places
// than there are nor none.
func TestModelLaneIsCut(t *testing.T) {
	for name, of := range map[string]struct {
		create func() mutextest.Small
		lane   func(m mutextest.Small) (cut uint32, places int64)
	}{
		"mutex": {
			func() mutextest.Small { return freshMutex(0) },
			func(m mutextest.Small) (uint32, int64) {
				l := m.(*Mutex)
				return l.lane.cut(), Express - int64(uint16(l.used))
			},
		},
		"read-write lock": {
			func() mutextest.Small { return newRWMutex(0) },
			func(m mutextest.Small) (uint32, int64) {
				l := m.(*RWMutex)
				return l.lane.cut(), Express - l.word.Load()&rwLane/rwPlace
			},
		},
	} {
		for _, round := range []string{"lss", "lsss", "sl", "ll"} {
			t.Run(fmt.Sprintf("%s/%s", name, round), func(t *testing.T) {
				wasCut, isWhole := false, false
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
					m := of.create()
					x.Name("m", m)
					clock, inside := new(interleave.Int64), new(interleave.Int32)
					x.Clock(clock)
					before := uint32(0)
					x.Always(func() {
						cut, places := of.lane(m)
						x.Assert(places >= 0 && places <= Express, "%d places", places)
						x.Assert(Express>>cut >= 1, "cut %d times: no place is left", cut)
						wasCut, isWhole = wasCut || cut > before, isWhole || cut < before
						before = cut
					})
					section := func(takes rune) {
						m.Lock()
						x.Assert(inside.Add(1) == 1, "two inside")
						if takes == 'l' {
							clock.Add(long)
						}
						inside.Add(-1)
						m.Unlock()
					}
					x.Same(2, "t", func(int) {
						for _, takes := range round {
							section(takes)
						}
					})
					x.Wait()
					x.Assert(m.TryLock(), "the lock was lost")
					x.Assert(!m.TryLock(), "two locks were made of one")
					m.Unlock()
					x.Assert(m.Waiting() == 0, "a goroutine still waits")
				})
				if !interleave.RaceEnabled { // under which nothing is looked at
					require.True(t, wasCut, "the lane was not cut")
					require.True(t, isWhole || round != "lsss", "the lane has not grown again")
				}
			})
		}
	}
}
