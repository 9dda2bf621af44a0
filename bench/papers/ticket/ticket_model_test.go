//go:build interleave

package ticket

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
)

// In every schedule no more permits are held than there are, and no goroutine waits for ever; the
// counters begin at 0, or wrap around on the way.
func TestModelTicket(t *testing.T) {
	for name, s := range map[string]struct {
		size  int64
		large bool
		body  func(x *interleave.Run, use func(n int64), try func(n int64))
	}{
		"lock": {1, false, func(x *interleave.Run, use, _ func(n int64)) {
			x.Same(3, "t", func(int) { use(1) })
		}},
		"lock/twice": {1, false, func(x *interleave.Run, use, _ func(n int64)) {
			x.Same(2, "t", func(int) { use(1); use(1) })
		}},
		"sizes": {2, false, func(x *interleave.Run, use, _ func(n int64)) {
			x.Go("large", func() { use(2) })
			x.Same(2, "small", func(int) { use(1) })
		}},
		"try": {1, false, func(x *interleave.Run, use, try func(n int64)) {
			x.Same(2, "t", func(int) { use(1) })
			x.Go("try", func() { try(1) })
		}},
		"lock/4": {1, true, func(x *interleave.Run, use, _ func(n int64)) {
			x.Same(4, "t", func(int) { use(1) })
		}},
	} {
		for start, tickets := range map[string]int64{"": 0, "/wrap": nearTheEnd} {
			t.Run(name+start, func(t *testing.T) {
				o := interleave.Options{}
				if s.large {
					if testing.Short() || interleave.RaceEnabled {
						t.Skip("tier two")
					}
					o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					sem, held := New(s.size), new(interleave.Int64)
					startAt(sem, tickets)
					leave := func(n int64) {
						x.Assert(held.Add(n) <= s.size, "more is held than there is")
						held.Add(-n)
						sem.Release(n)
					}
					s.body(x, func(n int64) {
						sem.Acquire(n)
						leave(n)
					}, func(n int64) {
						if sem.TryAcquire(n) {
							leave(n)
						}
					})
					x.Wait()
					x.Assert(sem.Available() == s.size, "%d of %d permits are free", sem.Available(), s.size)
				})
			})
		}
	}
}
