//go:build !interleave

package limitsim_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/limitsim"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

const ms = time.Millisecond

// limiter is ours.
type limiter struct{ *limit.Limiter }

func (l limiter) TryAcquire() (limitsim.Permit, bool) { return l.Limiter.TryAcquire(1) }

func run(t *testing.T, w *limitsim.World, c limit.Controller, seed uint64) (r *limitsim.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		r = w.Run("limiter", limiter{limit.New(semaphore.New(0), c)}, seed)
	})
	return r
}

// fixed is a limit that does not change.
func fixed(n int64) limit.Controller { return &limit.AIMD{Min: n, Max: n} }

func world(t *testing.T, name string) *limitsim.World {
	t.Helper()
	for _, w := range limitsim.Worlds() {
		if w.Name == name {
			return w
		}
	}
	t.Fatal("no world " + name)
	return nil
}

// Below its capacity and without a limit a service waits as Erlang's formula says for M/M/c.
func TestTheServiceIsErlangs(t *testing.T) {
	const servers, work, rate = 5, 10 * ms, 400.0 // 0.8 of the capacity
	w := &limitsim.World{
		Lasts: 200 * time.Second, Deadline: time.Hour,
		Arrivals: limitsim.Poisson(
			2*rate,
			func(time.Duration) float64 { return rate },
			func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(work)) },
		),
		Servers:  func(time.Duration) int { return servers },
		Capacity: func(time.Duration) float64 { return servers / work.Seconds() },
	}
	o := run(t, w, fixed(1_000_000), 1)
	mean, n := 0.0, 0
	for i, m := range o.Mean {
		mean += m.Seconds() * float64(o.Goods[i])
		n += o.Goods[i]
	}
	mean /= float64(n)

	load := rate * work.Seconds()
	sum, term := 0.0, 1.0
	for k := range servers {
		sum += term
		term *= load / float64(k+1)
	}
	waits := term / (1 - load/servers)
	waits /= sum + waits
	want := work.Seconds() + waits/(servers/work.Seconds()-rate)
	require.InEpsilon(t, want, mean, 0.05)
	require.InEpsilon(t, rate*w.Lasts.Seconds(), o.Arrived, 0.01)
	require.InDelta(t, 1, o.Goodput, 0.02)
	require.Zero(t, o.Refused+o.Abandoned)
}

func TestARunHappensAgain(t *testing.T) {
	w := world(t, "overload")
	w.Lasts = 5 * time.Second
	one := run(t, w, new(limit.Vegas), 7)
	require.Equal(t, one, run(t, w, new(limit.Vegas), 7))
	require.NotEqual(t, one, run(t, w, new(limit.Vegas), 8))
}

func TestEveryRequestHasAnOutcome(t *testing.T) {
	for _, w := range limitsim.Worlds() {
		w.Lasts = min(w.Lasts, 10*time.Second)
		o := run(t, w, fixed(40), 1)
		left := o.Arrived - o.Refused - o.Good - o.Abandoned
		require.True(t, left >= 0 && left <= 40, "%s: %d are left", w.Name, left)
		require.Greater(t, o.Refused, 0, w.Name)
		require.Equal(t, int64(40), o.Highest, w.Name)
	}
}

// A server that is taken away finishes what it works on, and one that is added begins at once.
func TestServersComeAndGo(t *testing.T) {
	at := []time.Duration{0, 0, 0, 0, 1500 * ms}
	w := &limitsim.World{
		Lasts: 4 * time.Second, Deadline: 3 * time.Second,
		Arrivals: func(*rand.Rand, time.Duration) (q limitsim.Request, ok bool) {
			if len(at) == 0 {
				return q, false
			}
			q = limitsim.Request{At: at[0], Work: 700 * ms}
			at = at[1:]
			return q, true
		},
		Servers: func(now time.Duration) int {
			if now < 500*ms {
				return 2
			}
			return 1
		},
		Slower: func(now time.Duration) float64 {
			if now > 1300*ms {
				return 3
			}
			return 1
		},
		Capacity: func(time.Duration) float64 { return 1 },
		Steps:    []time.Duration{0},
	}
	o := run(t, w, fixed(10), 1)
	// Two end at 700 ms, one at 1400 ms. The fourth would work until 3500 ms, and the fifth after
	// it.
	require.Equal(t, []int{2, 1, 0, 0}, o.Goods)
	require.Equal(t, []time.Duration{700 * ms, 1400 * ms, 0, 0}, o.Mean)
	require.Equal(t, 1, o.Abandoned)
	require.Equal(t, 3, o.Good)
	require.Equal(t, []time.Duration{0}, o.Converge)
}

// What a server begins before or during a pause ends later by what the pause takes of it.
func TestServersStandStill(t *testing.T) {
	at := []time.Duration{500 * ms, 900 * ms, 2000 * ms}
	works := []time.Duration{400 * ms, 100 * ms, 1700 * ms}
	w := &limitsim.World{
		Lasts: 5 * time.Second, Deadline: 4 * time.Second, Every: time.Second, Pause: 200 * ms,
		Arrivals: func(*rand.Rand, time.Duration) (q limitsim.Request, ok bool) {
			if len(at) == 0 {
				return q, false
			}
			q = limitsim.Request{At: at[0], Work: works[0]}
			at, works = at[1:], works[1:]
			return q, true
		},
		Servers:  func(time.Duration) int { return 2 },
		Capacity: func(time.Duration) float64 { return 2 },
		Steps:    []time.Duration{0, 2 * time.Second},
	}
	o := run(t, w, fixed(10), 1)
	require.Equal(t, []int{0, 2, 0, 0, 1}, o.Goods) // at 1100, 1100 and 4100 ms
	require.Equal(t, []time.Duration{0, 400 * ms, 0, 0, 2100 * ms}, o.Mean)
	require.Equal(t, []float64{1, 1}, o.Phases)
}

func TestOutsideOfABubbleThereIsNoTimeForIt(t *testing.T) {
	require.Panics(t, func() { world(t, "overload").Run("", limiter{}, 1) })
}

// What docs/design/limit.md says of the controllers, with some room.
func TestLimits(t *testing.T) {
	controllers := map[string]func() limit.Controller{
		"AIMD":      func() limit.Controller { return new(limit.AIMD) },
		"Gradient2": func() limit.Controller { return new(limit.Gradient2) },
		"Vegas":     func() limit.Controller { return new(limit.Vegas) },
	}
	for name, goodput := range map[string]map[string]float64{
		"overload": {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.95},
		"step":     {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.95},
		"slower":   {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.94},
		"noise":    {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.95},
		"pauses":   {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.90},
		"recorded": {"AIMD": 1.00, "Gradient2": 1.00, "Vegas": 1.00}, // the longest are given up
		"tides":    {"AIMD": 0.95, "Gradient2": 0.90, "Vegas": 0.90},
		"waves":    {"AIMD": 0.95, "Gradient2": 0.95, "Vegas": 0.93},
	} {
		seeds := uint64(1)
		if locktest.Stress() {
			seeds = 10
		} else if name != "step" && name != "noise" {
			continue
		}
		for by, least := range goodput {
			t.Run(name+"/"+by, func(t *testing.T) {
				for seed := range seeds {
					o := run(t, world(t, name), controllers[by](), seed)
					require.Greater(t, o.Goodput, least, seed)
					require.Less(t, o.Goodput, 1.2, seed)
					if by == "Vegas" { // the least that the work takes is 230 ms, or 290 with noise
						require.Less(t, o.P99, 320*ms, seed)
					}
					for i, c := range o.Converge {
						require.True(t, by == "AIMD" || c >= 0 && c <= 10*time.Second, "step %d: %v", i, c)
					}
				}
			})
		}
	}
}

// A queue that is there from the beginning does not last, nor does one creep in.
func TestVegasKeepsTheQueueShort(t *testing.T) {
	if !locktest.Stress() {
		t.Skip("ten minutes of requests")
	}
	w := world(t, "long")
	for _, initial := range []int64{20, 200} {
		o := run(t, w, &limit.Vegas{Initial: initial}, 1)
		mean := time.Duration(0)
		for _, m := range o.Mean[300:] {
			mean += m / 300
		}
		require.Less(t, mean, 80*ms, initial) // of 50 ms of work
		require.Greater(t, o.Goodput, 0.95, initial)
	}
}

// Without a limit nearly everything is abandoned: what the worlds are for.
func TestWithoutALimitOverloadIsFatal(t *testing.T) {
	require.Less(t, run(t, world(t, "step"), fixed(1000), 1).Goodput, 0.2)
}

// Never above the maximum, although the resource could do more.
func TestLimitsStayBelowTheMaximum(t *testing.T) {
	const highest = 15
	for _, c := range []limit.Controller{
		&limit.AIMD{Max: highest}, &limit.Gradient2{Max: highest}, &limit.Vegas{Max: highest},
	} {
		o := run(t, world(t, "step"), c, 1)
		require.LessOrEqual(t, o.Highest, int64(highest), "%T", c)
		require.Greater(t, o.Goodput, 0.5, "%T", c)
		require.False(t, math.IsNaN(o.Goodput))
	}
}
