package limit

import (
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
)

const ms = time.Millisecond

// filled returns a window that has got requests at given times, in milliseconds.
func filled(lasts time.Duration, requests int64, at ...request) *window {
	w := &window{lasts: int64(lasts), requests: requests}
	for _, r := range at {
		w.add(int64(r.at*ms), r.Sample)
	}
	return w
}

type request struct {
	at time.Duration // in milliseconds
	Sample
}

func took(at, rtt time.Duration) request { return request{at, Sample{RTT: rtt * ms}} }
func drop(at, rtt time.Duration) request { return request{at, Sample{RTT: rtt * ms, Dropped: true}} }

func TestWhenAWindowIsFull(t *testing.T) {
	for name, c := range map[string]struct {
		w    *window
		at   time.Duration
		full bool
	}{
		"nothing came":                        {filled(0, 1), 1000, false},
		"time and requests":                   {filled(10*ms, 2, took(0, 5), took(10, 5)), 10, true},
		"too early":                           {filled(10*ms, 2, took(0, 4), took(9, 4)), 9, false},
		"too few":                             {filled(10*ms, 3, took(0, 5), took(10, 5)), 10, false},
		"dropped ones count":                  {filled(10*ms, 2, took(0, 5), drop(10, 5)), 10, true},
		"less than twice the fastest":         {filled(10*ms, 2, took(0, 90), took(10, 8)), 15, false},
		"twice the fastest":                   {filled(10*ms, 2, took(0, 90), took(10, 8)), 16, true},
		"the fastest of those that succeeded": {filled(10*ms, 2, took(0, 90), drop(10, 8)), 16, false},
		"unknown latencies do not count":      {filled(0, 2, took(0, 1), took(5, 0), took(6, -3)), 10, false},
		"latencies may be as long as can be":  {filled(0, 1, request{0, Sample{RTT: math.MaxInt64}}), math.MaxInt64 / 2 / ms, false},
	} {
		require.Equal(t, c.full, c.w.full(int64(c.at*ms)), name)
	}
}

func TestWhatAWindowSays(t *testing.T) {
	inFlight := func(n int64) request { return request{0, Sample{RTT: ms, InFlight: n}} }
	nineteen := make([]request, 19)
	for i := range nineteen {
		nineteen[i] = took(0, 10)
	}
	for name, c := range map[string]struct {
		requests []request
		want     Sample
	}{
		"the mean":                       {[]request{took(0, 10), took(0, 20)}, Sample{RTT: 15 * ms}},
		"the most in flight":             {[]request{inFlight(3), inFlight(9), inFlight(-1)}, Sample{RTT: ms, InFlight: 9}},
		"one drop of twenty is chance":   {append(nineteen, drop(0, 5)), Sample{RTT: 10 * ms}},
		"more are not":                   {append(nineteen[1:], drop(0, 5)), Sample{RTT: 10 * ms, Dropped: true}},
		"drops that took longer count":   {append(nineteen, drop(0, 210)), Sample{RTT: 20 * ms}},
		"those that were refused do not": {[]request{took(0, 10), drop(0, 1)}, Sample{RTT: 10 * ms, Dropped: true}},
		"of drops alone no latency":      {[]request{drop(0, 10)}, Sample{Dropped: true}},
		"nor with a negative one":        {[]request{drop(0, -10), took(0, 1)}, Sample{RTT: ms, Dropped: true}},
		"the longest latencies do not wrap": {
			[]request{{0, Sample{RTT: math.MaxInt64}}, {0, Sample{RTT: math.MaxInt64}}}, Sample{RTT: math.MaxInt64 / 2},
		},
	} {
		w := filled(0, 1, c.requests...)
		got := w.take(0)
		if c.want.RTT == math.MaxInt64/2 { // a float is not as exact
			require.InEpsilon(t, float64(c.want.RTT), float64(got.RTT), 1e-9, name)
			c.want.RTT = got.RTT
		}
		require.Equal(t, c.want, got, name)
		require.Equal(t, window{requests: 1, open: true}, *w, name)
	}
}

// What was gathered by the clock of a bubble, or by that outside, says nothing beside the other.
func TestAWindowBeginsAnewWithAnotherClock(t *testing.T) {
	const apart = time.Duration(2 * otherClock / int64(ms)) // in milliseconds
	for _, there := range []time.Duration{apart, -apart} {
		w := filled(10*ms, 2, took(there, 7), took(there+5, 7), took(3, 1))
		require.False(t, w.full(int64(13*ms)))
		w.add(int64(13*ms), Sample{RTT: ms})
		require.True(t, w.full(int64(13*ms)))
		require.Equal(t, Sample{RTT: ms}, w.take(int64(13*ms)))
	}
}

// Invariant 4: a goroutine that is held up between its look at the clock and its turn is one of the
// window in which its turn comes. It takes nothing away from it, and does not shift it.
func TestRequestsMayComeLate(t *testing.T) {
	w := filled(10*ms, 3, took(1000, 1), took(1003, 2), took(995, 6))
	require.False(t, w.full(int64(995*ms)))
	require.False(t, w.full(int64(1009*ms)))
	require.True(t, w.full(int64(1012*ms)))
	require.Equal(t, Sample{RTT: 3 * ms}, w.take(int64(1012*ms)))
	w.add(int64(1005*ms), Sample{RTT: ms})
	require.Equal(t, int64(1012*ms), w.began)

	// Nor does the window that a late one ends make the next one begin too early.
	w = filled(0, 1, took(1000, 0), took(990, 0), drop(995, 1))
	require.True(t, w.full(int64(995*ms)))
	require.Equal(t, Sample{Dropped: true}, w.take(int64(995*ms)))
	require.Equal(t, int64(1000*ms), w.began)
}
