package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var samplers = []Options{{Mode: Random}, {Mode: PCT}, {Mode: PCT, Depth: 1}}

func TestSamplersSeeBothOrders(t *testing.T) {
	for _, o := range samplers {
		first := [2]int{}
		chosen := [3]int{}
		o.Executions = 1000
		r := passes(t, o, func(x *Run) {
			var v Int32
			var added [2]int32
			var choices [2]int
			threads(2, func(i int) {
				added[i] = v.Add(1)
				choices[i] = Choose(3)
			})(x)
			for i := range added {
				if added[i] == 1 {
					first[i]++
				}
				chosen[choices[i]]++
			}
		})
		require.False(t, r.Exhausted)
		require.Equal(t, 1000, r.Executions)
		require.Greater(t, min(first[0], first[1]), 400, "%v: %v", o, first)
		require.Greater(t, min(chosen[0], chosen[1], chosen[2]), 550, "%v: %v", o, chosen)
	}
	require.Equal(t, 10_000, Explore(Options{Mode: Random}, alone(func() {})).Executions)
}

// Every step's thread is drawn among all that can go on: the six schedules of two threads with two
// steps each.
func TestRandomIsUniform(t *testing.T) {
	seen := map[string]int{}
	Explore(Options{Mode: Random, Executions: 4000}, func(x *Run) {
		threads(2, func(int) { Choose(1) })(x)
		seen[formatSchedule(x.trail)]++
	})
	require.Len(t, seen, 6)
	for s, n := range seen {
		want := 500 // three draws
		if s == "a2.b2" || s == "b2.a2" {
			want = 1000 // two
		}
		require.InDelta(t, want, n, 120, s)
	}
}

// Without changes of priority a thread that can go on does.
func TestPCTSwitchesAsOftenAsItSays(t *testing.T) {
	for depth := 1; depth < 4; depth++ {
		seen := map[string]bool{}
		most := 0
		Explore(Options{Mode: PCT, Depth: depth, Executions: 3000}, func(x *Run) {
			threads(2, func(int) { Choose(1); Choose(1) })(x)
			seen[formatSchedule(x.trail)] = true
			most = max(most, switches(x.trail))
		})
		require.Len(t, seen, map[int]int{1: 2, 2: 6, 3: 14}[depth], "%v", seen)
		require.Equal(t, depth, most)
	}
}

func TestSamplersAreFairToWhoIsWaitedFor(t *testing.T) {
	for _, o := range samplers {
		o.Executions = 200
		passes(t, o, func(x *Run) {
			var turn Int32
			for i := range 3 {
				x.Go("t", func() {
					for turn.Load() != int32(i) {
						Yield()
					}
					turn.Add(1)
				})
			}
			x.Wait()
		})
	}
}

// The same seed is the same search.
func TestSeeds(t *testing.T) {
	run := func(o Options) (all string) {
		o.Executions = 20
		Explore(o, func(x *Run) {
			counters(3)(x)
			all += formatSchedule(x.trail) + " "
		})
		return all
	}
	for _, o := range samplers {
		again, other := o, o
		other.Seed = 1
		require.Equal(t, run(o), run(again))
		require.NotEqual(t, run(o), run(other))
	}
}

// Executions that end in a wait that a timeout would end count as pruned.
func TestSamplersGiveUpStuckExecutions(t *testing.T) {
	for _, o := range samplers {
		o.Executions = 200
		r := Explore(o, alone(func() { receiveWithin(NewSignal(1)) }))
		require.Nil(t, r.Failure)
		require.Equal(t, 200, r.Executions+r.Pruned)
		require.Greater(t, min(r.Executions, r.Pruned), 60)
	}
}
