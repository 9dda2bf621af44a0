//go:build interleave

package sync

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
)

// long is so long a time that an express lane which has lasted for it is cut.
const long = (laneLasts + 1) << 10

// While sections take so long at some times, and none at others, that the lane is cut and grows
// again: never are two inside, no goroutine sleeps for ever, and the lane has neither more places
// than there are nor none.
func TestModelLaneIsCut(t *testing.T) {
	for name, of := range map[string]struct {
		create func() mutextest.Small
		lane   func(m mutextest.Small) (cut uint8, places int64)
		most   int64
	}{
		"mutex": {
			func() mutextest.Small { return newMutex(Express) },
			func(m mutextest.Small) (uint8, int64) {
				l := m.(*Mutex)
				return l.lane.cut, Express - int64(l.used)
			},
			Express,
		},
		"mutex, one place": { // which is not halved
			func() mutextest.Small { return newMutex(1) },
			func(m mutextest.Small) (uint8, int64) {
				l := m.(*Mutex)
				return l.lane.cut, Express - int64(l.used)
			},
			1,
		},
		"read-write lock": {
			func() mutextest.Small { return newRWMutex(0) },
			func(m mutextest.Small) (uint8, int64) {
				l := m.(*RWMutex)
				return l.lane.cut, Express - l.word.Load()&rwLane/rwPlace
			},
			Express,
		},
	} {
		for _, round := range []string{"lss", "sl", "ll"} {
			t.Run(fmt.Sprintf("%s/%s", name, round), func(t *testing.T) {
				wasCut, isWhole := false, false
				interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
					m := of.create()
					x.Name("m", m)
					clock, inside := new(interleave.Int64), new(interleave.Int32)
					x.Clock(clock)
					before := uint8(0)
					x.Always(func() {
						cut, places := of.lane(m)
						x.Assert(places >= 0 && places <= of.most, "%d places of %d", places, of.most)
						x.Assert(cut == 0 || of.most>>cut >= 1, "cut %d times: no place of %d is left", cut, of.most)
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
					require.Equal(t, of.most > 1, wasCut, "the lane was cut")
					if round == "lss" {
						require.Equal(t, of.most > 1, isWhole, "the lane has grown again")
					}
				}
			})
		}
	}
}
