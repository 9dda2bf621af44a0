package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/xsync/model"
)

// A scenario's clock goes before any look at it, and after; and it is the clock of one execution.
func TestClockGoesAtAnyTime(t *testing.T) {
	seen := map[[2]int64]bool{}
	r := Explore(Options{}, func(x *Run) {
		x.Assert(Now() == 0, "the clock of another execution")
		clock, at := new(Int64), [2]int64{}
		x.Clock(clock)
		x.Go("looks", func() { at = [2]int64{Now(), Now()} })
		x.Go("time", func() { clock.Add(3); clock.Add(4) })
		x.Wait()
		x.Assert(Now() == 7, "it has gone to %d", Now())
		seen[at] = true
	})
	require.Nil(t, r.Failure)
	require.True(t, r.Exhausted)
	require.Len(t, seen, 6, "%v", seen)
	require.Zero(t, Now(), "the clock of an execution that is over")
}

// What is true by chance is true in some executions, and false in others; whatever its probability.
func TestChanceIsEither(t *testing.T) {
	for _, p := range []float64{0.01, 0.99} {
		seen := map[bool]int{}
		r := Explore(Options{}, func(x *Run) {
			var was bool
			x.Go("t", func() { was = model.Chance(p) })
			x.Wait()
			seen[was]++
		})
		require.Nil(t, r.Failure)
		require.Equal(t, map[bool]int{false: 1, true: 1}, seen)
	}
	require.True(t, model.Chance(1))
	require.False(t, model.Chance(0))
}
