//go:build interleave

package capacitor

import (
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/sync/mutex"
)

// Statistics are read while there are locks and unlocks: each lock is counted once, as a platoon
// when it has ended or as a use of the lane, and nobody is overtaken more often than with all
// others before it.
func TestModelStats(t *testing.T) {
	type observed interface {
		Lock()
		Unlock()
		CollectStats()
		Stats() Stats
	}
	for name, s := range map[string]struct {
		create func() observed
		most   func(n int) int // of n goroutines one is overtaken so often
	}{
		"mutex/strict":    {func() observed { return NewMutex(0) }, func(int) int { return 0 }},
		"mutex/express":   {func() observed { return NewMutex(1) }, func(n int) int { return n }},
		"wrapped/strict":  {func() observed { return Wrap(new(mutex.Word), 1) }, func(int) int { return 0 }},
		"wrapped/express": {func() observed { return Wrap(new(mutex.Word), 1, WithExpress(1)) }, func(n int) int { return n + 1 }},
	} {
		for _, rounds := range [][]int{{1, 1}, {2, 1}, {1, 1, 1}} {
			t.Run(fmt.Sprintf("%s/rounds %v", name, rounds), func(t *testing.T) {
				o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
				if len(rounds) > 2 && (testing.Short() || interleave.RaceEnabled) {
					t.Skip("tier two")
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					l := s.create()
					l.CollectStats()
					x.Name("l", l)
					var begun, ended interleave.Int64
					all := int64(0)
					for i, n := range rounds {
						all += int64(n)
						x.Go(fmt.Sprintf("locker %d", i), func() {
							for range int(n) {
								begun.Add(1)
								l.Lock()
								l.Unlock() //nolint:staticcheck // nothing in between, on purpose
								ended.Add(1)
							}
						})
					}
					x.Go("reader", func() {
						before := ended.Load()
						s := l.Stats()
						n := s.Platoons + s.Express
						x.Assert(before <= n && n <= begun.Load(), "counted %v", s)
					})
					x.Wait()
					end := l.Stats()
					x.Assert(end.Platoons+end.Express == all, "counted %v", end)
					x.Assert(end.MaxOvertaken <= int64(s.most(len(rounds))), "counted %v", end)
				})
			})
		}
	}
}

// What somebody does before another has come to stand in the queue is no overtaking.
func TestModelStatsCountFromTheQueue(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
		m := NewMutex(1)
		m.CollectStats()
		x.Go("comes", func() { m.Do(func() {}) })
		x.Go("stays", func() {
			for range 6 {
				m.Do(func() {})
			}
		})
		x.Wait()
		most := m.Stats().MaxOvertaken // With nobody before it: by one on the lane.
		x.Assert(most <= 1, "overtaken %d times", most)
	})
}

// Of two unlocks at once one is told, with statistics, too, and one platoon has ended.
func TestModelStatsOfADoubleUnlock(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		m := NewMutex(0)
		m.CollectStats()
		m.Lock()
		var panics interleave.Int32
		x.Same(2, "unlocker", func(int) {
			if p := interleave.Panics(m.Unlock); p != nil {
				x.Assert(p == "capacitor: unlock of unlocked mutex", "noticed too late: %v", p)
				panics.Add(1)
			}
		})
		x.Wait()
		x.Assert(panics.Load() == 1, "%d unlocks panicked", panics.Load())
		x.Assert(m.Stats().Platoons == 1, "counted %v", m.Stats())
	})
}
