package limit_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

const ms = time.Millisecond

// controllers are one of each kind, with the same bounds.
func controllers(lowest, highest, initial int64) map[string]limit.Controller {
	return map[string]limit.Controller{
		"AIMD":      &limit.AIMD{Min: lowest, Max: highest, Initial: initial},
		"Gradient2": &limit.Gradient2{Min: lowest, Max: highest, Initial: initial},
		"Vegas":     &limit.Vegas{Min: lowest, Max: highest, Initial: initial},
	}
}

// copyOf returns a controller in the same state.
func copyOf(c limit.Controller) limit.Controller {
	switch c := c.(type) {
	case *limit.AIMD:
		d := *c
		return &d
	case *limit.Gradient2:
		d := *c
		return &d
	case *limit.Vegas:
		d := *c
		return &d
	}
	panic("a controller of another kind")
}

// times repeats a sample.
func times(n int, s limit.Sample) (all []limit.Sample) {
	for range n {
		all = append(all, s)
	}
	return all
}

func after(c limit.Controller, samples []limit.Sample) int64 {
	for _, s := range samples {
		c.Update(s)
	}
	return c.Limit()
}

func TestZeroFieldsGetTheirDefaults(t *testing.T) {
	a, g, v := new(limit.AIMD), new(limit.Gradient2), new(limit.Vegas)
	for _, c := range []limit.Controller{a, g, v} {
		require.EqualValues(t, 20, c.Limit())
	}
	require.Equal(t, []any{int64(1), int64(1000), int64(20)}, []any{a.Min, a.Max, a.Initial})
	require.Equal(t, []any{int64(1), int64(1000), int64(20)}, []any{g.Min, g.Max, g.Initial})
	require.Equal(t, []any{int64(1), int64(1000), int64(20)}, []any{v.Min, v.Max, v.Initial})
	require.Equal(t, []any{0.9, 5 * time.Second, 1.5}, []any{a.Backoff, a.Timeout, g.Tolerance})
}

func TestTheFirstLimitIsWithinTheBounds(t *testing.T) {
	const largest = int64(semaphore.MaxPermits)
	for _, c := range []struct{ lowest, highest, initial, want int64 }{
		{0, 0, 0, 20},
		{0, 5, 0, 5},
		{30, 0, 0, 30},
		{30, 40, 0, 30},
		{2000, 0, 0, 2000}, // Max is not below Min then
		{1, 10, 7, 7},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64 - 1, 0},
		{math.MaxInt64, math.MaxInt64, 0, largest},
		{1<<54 + 1, 1<<54 + 1, 0, 1<<54 + 1}, // no float
		{1<<54 + 3, 1<<54 + 3, 0, 1<<54 + 3},
	} {
		for name, controller := range controllers(c.lowest, c.highest, c.initial) {
			if c.want == 0 {
				require.Panics(t, func() { controller.Limit() }, "%s %+v", name, c)
				continue
			}
			require.Equal(t, c.want, controller.Limit(), "%s %+v", name, c)
		}
	}
}

func TestContradictoryFieldsPanic(t *testing.T) {
	for want, c := range map[string]limit.Controller{
		"limit: AIMD: a bound is negative (Min -1, Max 0, Initial 0)":                     &limit.AIMD{Min: -1},
		"limit: Gradient2: a bound is negative (Min 0, Max -2, Initial 0)":                &limit.Gradient2{Max: -2},
		"limit: Vegas: a bound is negative (Min 0, Max 0, Initial -3)":                    &limit.Vegas{Initial: -3},
		"limit: Vegas: Min is above Max (Min 3, Max 2, Initial 0)":                        &limit.Vegas{Min: 3, Max: 2},
		"limit: AIMD: Initial is not between Min and Max (Min 1, Max 1000, Initial 2000)": &limit.AIMD{Initial: 2000},
		"limit: AIMD: Initial is not between Min and Max (Min 5, Max 1000, Initial 4)":    &limit.AIMD{Min: 5, Initial: 4},
		"limit: AIMD: Backoff must be from 0.5 up to 1, not 1":                            &limit.AIMD{Backoff: 1},
		"limit: AIMD: Backoff must be from 0.5 up to 1, not 0.4":                          &limit.AIMD{Backoff: 0.4},
		"limit: AIMD: Backoff must be from 0.5 up to 1, not NaN":                          &limit.AIMD{Backoff: math.NaN()},
		"limit: AIMD: Timeout must be positive, not -1s":                                  &limit.AIMD{Timeout: -time.Second},
		"limit: Gradient2: Tolerance must be from 1 to 1000, not 0.9":                     &limit.Gradient2{Tolerance: 0.9},
		"limit: Gradient2: Tolerance must be from 1 to 1000, not +Inf":                    &limit.Gradient2{Tolerance: math.Inf(1)},
		"limit: Gradient2: Tolerance must be from 1 to 1000, not NaN":                     &limit.Gradient2{Tolerance: math.NaN()},
	} {
		require.PanicsWithValue(t, want, func() { c.Limit() })
		require.PanicsWithValue(t, want, func() { c.Update(limit.Sample{RTT: ms}) })
	}
}

// The rules of each controller, one by one.
func TestControllers(t *testing.T) {
	quick := limit.Sample{RTT: 10 * ms, InFlight: 1000}
	dropped := limit.Sample{RTT: 10 * ms, InFlight: 1000, Dropped: true}
	slow := func(d time.Duration) limit.Sample { return limit.Sample{RTT: d, InFlight: 1000} }
	for name, c := range map[string]struct {
		controller limit.Controller
		before     []limit.Sample
		sample     limit.Sample
		want       int64
	}{
		"AIMD rises by one":                      {&limit.AIMD{}, nil, quick, 21},
		"AIMD rises if half of it is in use":     {&limit.AIMD{}, nil, limit.Sample{RTT: ms, InFlight: 10}, 21},
		"AIMD stays if less is in use":           {&limit.AIMD{}, nil, limit.Sample{RTT: ms, InFlight: 9}, 20},
		"AIMD falls after a drop":                {&limit.AIMD{}, nil, dropped, 18},
		"AIMD falls after drops alone":           {&limit.AIMD{}, nil, limit.Sample{Dropped: true}, 18},
		"AIMD falls to Backoff":                  {&limit.AIMD{Backoff: 0.5}, nil, dropped, 10},
		"AIMD takes a latency for a drop":        {&limit.AIMD{Timeout: 9 * ms}, nil, quick, 18},
		"AIMD allows Timeout itself":             {&limit.AIMD{Timeout: 10 * ms}, nil, quick, 21},
		"AIMD falls by one at least":             {&limit.AIMD{Initial: 2, Backoff: 0.99}, nil, dropped, 1},
		"AIMD stays at Max":                      {&limit.AIMD{Max: 20}, nil, quick, 20},
		"AIMD stays at Min":                      {&limit.AIMD{Min: 19}, nil, dropped, 19},
		"AIMD ignores an unknown latency":        {&limit.AIMD{}, nil, limit.Sample{InFlight: 1000}, 20},
		"AIMD ignores a negative latency":        {&limit.AIMD{}, nil, slow(-1), 20},
		"AIMD ignores a negative use":            {&limit.AIMD{Min: 1, Initial: 1}, nil, limit.Sample{RTT: ms, InFlight: -5}, 1},
		"Gradient2 rises by 0.8, seen after two": {&limit.Gradient2{}, times(1, quick), quick, 21},
		"Gradient2 rises by 0.8, unseen at once": {&limit.Gradient2{}, nil, quick, 20},
		"Gradient2 stays if little is in use":    {&limit.Gradient2{}, times(9, limit.Sample{RTT: ms, InFlight: 9}), limit.Sample{RTT: ms, InFlight: 9}, 20},
		"Gradient2 forgives half as much again":  {&limit.Gradient2{Initial: 100}, times(10, quick), slow(15 * ms), 108},
		// 108 · 0.8 + (108 · 1.5 / 3 + 4) · 0.2, or with a gradient above 0.5
		"Gradient2 falls by a tenth at most":  {&limit.Gradient2{Initial: 100}, times(10, quick), slow(time.Second), 98},
		"Gradient2 falls in proportion":       {&limit.Gradient2{Initial: 100}, times(10, quick), slow(20 * ms), 103},
		"Gradient2 takes Tolerance for it":    {&limit.Gradient2{Initial: 100, Tolerance: 3}, times(10, quick), slow(20 * ms), 108},
		"Gradient2 falls after a drop":        {&limit.Gradient2{}, nil, dropped, 18},
		"Gradient2 falls after drops alone":   {&limit.Gradient2{}, nil, limit.Sample{Dropped: true}, 18},
		"Gradient2 falls to 8 by latencies":   {&limit.Gradient2{}, append(times(10, quick), times(100, slow(time.Hour))...), slow(1e5 * time.Hour), 8},
		"Gradient2 falls to 1 by drops":       {&limit.Gradient2{}, times(100, dropped), dropped, 1},
		"Gradient2 stays at Max":              {&limit.Gradient2{Max: 20}, times(9, quick), quick, 20},
		"Gradient2 stays at Min":              {&limit.Gradient2{Min: 20}, times(9, dropped), dropped, 20},
		"Gradient2 ignores unknown latencies": {&limit.Gradient2{}, times(9, limit.Sample{InFlight: 1000}), slow(-1), 20},
		"Vegas learns at first":               {&limit.Vegas{}, times(9, quick), quick, 20},
		"Vegas rises by six without a queue":  {&limit.Vegas{}, times(10, quick), quick, 26},
		"Vegas stays if little is in use":     {&limit.Vegas{}, times(10, quick), limit.Sample{RTT: 10 * ms, InFlight: 9}, 20},
		// The average after one more sample is 10 + d/4; the queue is 20 · (1 − 10 ÷ it).
		"Vegas rises by one with a queue of 2":   {&limit.Vegas{}, times(10, quick), slow(14 * ms), 21},
		"Vegas stays with a queue of 3":          {&limit.Vegas{}, times(10, quick), slow(16 * ms), 20},
		"Vegas stays with a queue of 6":          {&limit.Vegas{}, times(10, quick), slow(26 * ms), 20},
		"Vegas falls by one with a queue of 7":   {&limit.Vegas{}, times(10, quick), slow(30 * ms), 19},
		"Vegas has larger steps at larger ones":  {&limit.Vegas{Initial: 100}, times(10, quick), quick, 112},
		"Vegas falls after a drop":               {&limit.Vegas{}, nil, dropped, 19},
		"Vegas falls after drops alone":          {&limit.Vegas{}, nil, limit.Sample{Dropped: true}, 19},
		"Vegas stays at Max":                     {&limit.Vegas{Max: 20}, times(10, quick), quick, 20},
		"Vegas stays at Min":                     {&limit.Vegas{Min: 20}, times(9, dropped), dropped, 20},
		"Vegas ignores unknown latencies":        {&limit.Vegas{}, times(10, quick), slow(-1), 20},
		"Vegas learns a shorter latency":         {&limit.Vegas{}, times(10, quick), slow(9 * ms), 20},
		"Vegas waits while the average falls":    {&limit.Vegas{}, append(times(11, slow(30*ms)), times(10, quick)...), quick, 26},
		"Vegas rises when it has fallen":         {&limit.Vegas{}, append(times(11, slow(30*ms)), times(20, quick)...), quick, 68},
		"Vegas takes all of a long one as queue": {&limit.Vegas{}, times(10, slow(1)), slow(math.MaxInt64), 19},
	} {
		after(c.controller, c.before)
		require.Equal(t, c.want, c.controller.Update(c.sample), name)
		require.Equal(t, c.want, c.controller.Limit(), name)
	}
}

// What lasts becomes the average of Gradient2: a longer latency is forgiven in the end.
func TestGradient2ForgivesWhatLasts(t *testing.T) {
	g := &limit.Gradient2{Initial: 100}
	after(g, times(10, limit.Sample{RTT: 10 * ms, InFlight: 1000}))
	long := limit.Sample{RTT: 40 * ms, InFlight: 1000}
	low := after(g, times(100, long))
	require.Less(t, low, int64(20))
	require.Greater(t, after(g, times(1000, long)), 10*low)
}

// An average that is far above the latency falls quickly, rather than hide a new overload.
func TestGradient2ForgetsLongLatencies(t *testing.T) {
	g := &limit.Gradient2{Initial: 100}
	after(g, times(10, limit.Sample{RTT: time.Second, InFlight: 1000}))
	after(g, times(100, limit.Sample{RTT: 10 * ms, InFlight: 1000}))
	before := g.Limit()
	require.Less(t, after(g, times(5, limit.Sample{RTT: 100 * ms, InFlight: 1000})), before)
}

// No sample takes a limit out of its bounds.
func TestLimitsStayWithinTheirBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range controllers(3, 50, 20) {
		limits := map[int64]bool{}
		for range 100_000 {
			n := c.Update(random(r))
			require.True(t, n >= 3 && n <= 50, "%s: %d", name, n)
			require.Equal(t, n, c.Limit(), name)
			limits[n] = true
		}
		require.Greater(t, len(limits), 10, name)
	}
}

func random(r *rand.Rand) limit.Sample {
	return limit.Sample{
		RTT:      time.Duration(r.ExpFloat64() * float64(10*ms)),
		InFlight: r.Int64N(60),
		Dropped:  r.IntN(10) == 0,
	}
}

// More overload never gives a higher limit: a drop instead of none, a longer latency, fewer in use.
func TestMoreOverloadNeverGivesAHigherLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range controllers(1, 200, 20) {
		for range 20_000 {
			s := random(r)
			n := copyOf(c).Update(s)

			worse := s
			worse.Dropped = true
			require.LessOrEqual(t, copyOf(c).Update(worse), n, "%s: %+v", name, s)

			if name != "Vegas" || n > c.Limit() { // Vegas rises with no sample that is the shortest
				worse = s
				worse.RTT = s.RTT*2 + 1
				require.LessOrEqual(t, copyOf(c).Update(worse), n, "%s: %+v", name, s)
			}

			worse = s
			worse.InFlight = 0
			require.LessOrEqual(t, copyOf(c).Update(worse), max(n, c.Limit()), "%s: %+v", name, s)
			c.Update(s)
		}
	}
}

// A controller is a function of its samples, and a copy goes on from the same state.
func TestTheSameSamplesGiveTheSameLimits(t *testing.T) {
	for name, c := range controllers(1, 200, 20) {
		d := copyOf(c)
		for round := range 2 {
			first, second := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
			for range 1000 {
				require.Equal(t, c.Update(random(first)), d.Update(random(second)), name)
			}
			if round == 0 {
				d = copyOf(c)
			}
		}
	}
}

// To measure the shortest latency, Vegas halves a limit that is in use, for six windows.
func TestVegasMeasuresAtHalfOfTheLimit(t *testing.T) {
	long := limit.Sample{RTT: 16 * ms, InFlight: 1000}
	used := func() *limit.Vegas { // at rest with a queue of 5
		v := &limit.Vegas{Max: 20}
		after(v, append(times(10, limit.Sample{RTT: 12 * ms, InFlight: 1000}), times(298, long)...))
		return v
	}
	v := used()
	require.EqualValues(t, 20, v.Limit())
	v.Update(long)
	for range 5 {
		require.EqualValues(t, 10, v.Limit())
		require.EqualValues(t, 10, v.Update(limit.Sample{RTT: 13 * ms, InFlight: 10}))
	}
	require.EqualValues(t, 20, v.Update(limit.Sample{RTT: 13 * ms, InFlight: 10}))
	require.EqualValues(t, 20, v.Update(long), "a queue of 4")
	require.EqualValues(t, 20, after(v, times(298, long)))
	require.EqualValues(t, 10, v.Update(long), "once more")

	v = used()
	hardly := limit.Sample{RTT: 16 * ms, InFlight: 9}
	for range 1000 {
		require.EqualValues(t, 20, v.Update(hardly), "there is no queue")
	}
	v.Max = 26 // only here: users must not
	require.EqualValues(t, 26, v.Update(long), "so that was no queue")

	v = used()
	v.Min = 15
	require.EqualValues(t, 15, v.Update(long))

	v = used()
	v.Update(long)
	require.EqualValues(t, 9, v.Update(limit.Sample{Dropped: true}), "of 19")
	require.EqualValues(t, 19, after(v, times(6, long)))
}

// Vegas measures the shortest latency anew when the limit has fallen to three fifths, but not at
// every step on the way down.
func TestVegasMeasuresAnewWhenTheLimitHasFallen(t *testing.T) {
	v := &limit.Vegas{Max: 40}
	after(v, times(30, limit.Sample{RTT: 10 * ms, InFlight: 1000}))
	slow := limit.Sample{RTT: 40 * ms, InFlight: 1000}
	for want := int64(39); want >= 24; want-- {
		for v.Limit() > want {
			v.Update(slow)
		}
		require.Equal(t, want, v.Limit())
	}
	require.EqualValues(t, 12, v.Update(slow))
	require.EqualValues(t, 24, after(v, times(6, slow)))
	require.EqualValues(t, 30, v.Update(slow), "it is not a queue")
	require.EqualValues(t, 40, after(v, times(10, slow)))
}

// Whether Vegas measures or not, a drop raises no limit.
func TestNoDropEndsAMeasurementOfVegas(t *testing.T) {
	v := &limit.Vegas{Initial: 1000}
	for i := range 1000 {
		before := v.Limit()
		require.LessOrEqual(t, v.Update(limit.Sample{RTT: 10 * ms, InFlight: 1000, Dropped: true}), before, i)
	}
	require.EqualValues(t, 1, v.Limit())
}

// The requests that began before count for no measurement of the shortest latency.
func TestVegasWaitsUntilTheQueueIsGone(t *testing.T) {
	v := &limit.Vegas{Max: 100}
	quick, long := limit.Sample{RTT: 10 * ms, InFlight: 1000}, limit.Sample{RTT: 20 * ms, InFlight: 1000}
	after(v, times(9+20, quick))
	for range 2 {
		require.EqualValues(t, 50, after(v, times(280, quick)))
		v.Update(limit.Sample{RTT: time.Hour, InFlight: 1000})
		require.EqualValues(t, 50, after(v, times(4, quick)))
		require.EqualValues(t, 100, v.Update(quick))
		require.Less(t, after(v, times(20, long)), int64(100), "it is a queue")
	}
}

// Whatever Vegas begins with, in the end it has no more permits than there are places and a queue
// of a few: a queue that was there from the beginning does not become the shortest latency.
func TestVegasEmptiesEveryQueue(t *testing.T) {
	for _, capacity := range []int64{3, 20, 150} {
		v := &limit.Vegas{Initial: 500}
		step := 1 + min(1, capacity/100)
		for i := range 6000 {
			rtt := 10 * ms * time.Duration(max(v.Limit(), capacity)) / time.Duration(capacity)
			n := v.Update(limit.Sample{RTT: rtt, InFlight: v.Limit()})
			require.True(t, i < 5000 || n <= max(capacity+7*step, 12), "%d for %d", n, capacity)
		}
	}
}

// In a service without chance, whose latency is that of its line and whose clients do not wait for
// long, every limit comes to rest near what the service can do, from wherever it begins, but for
// the measurements of Vegas.
func TestLimitsConverge(t *testing.T) {
	const capacity = 30
	service := func(limit int64) time.Duration { return 10 * ms * time.Duration(max(limit, capacity)) / capacity }
	for _, initial := range []int64{1, 30, 500} {
		for name, c := range map[string]limit.Controller{
			"AIMD":      &limit.AIMD{Initial: initial, Timeout: 20 * ms},
			"Gradient2": &limit.Gradient2{Initial: initial},
			"Vegas":     &limit.Vegas{Initial: initial},
		} {
			if initial == 500 && name != "AIMD" {
				after(c, times(10, limit.Sample{RTT: 10 * ms, InFlight: 0})) // what it is without load
			}
			var lowest, highest int64 = math.MaxInt64, 0
			for i := range 1000 {
				rtt := service(c.Limit())
				n := c.Update(limit.Sample{RTT: rtt, InFlight: c.Limit(), Dropped: rtt > 50*ms})
				if i >= 500 {
					lowest, highest = min(lowest, n), max(highest, n)
				}
			}
			least := map[string]int64{"AIMD": capacity, "Gradient2": capacity, "Vegas": capacity / 2}[name]
			require.GreaterOrEqual(t, lowest, least, "%s from %d", name, initial)
			require.LessOrEqual(t, highest, int64(6*capacity), "%s from %d", name, initial)
		}
	}
}
