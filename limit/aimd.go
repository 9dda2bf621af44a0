package limit

import (
	"strconv"
	"time"
)

// AIMD is additive increase and multiplicative decrease: the limit rises by 1 with each window, and
// falls to Backoff of itself with each in which requests were dropped. A mean latency above Timeout
// counts as a drop.
//
// It needs no memory of the past, and divides a resource evenly among several limiters. But it sees
// overload only by drops, so that there are always some. If nothing is ever dropped and Timeout is
// never reached, the limit rises to Max. Below a Timeout that the resource cannot keep, it falls to
// Min.
//
// Source: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance
// in computer networks", 1989. The condition on requests in flight, the timeout and the defaults
// are those of AIMDLimit in Netflix's concurrency-limits. Only Min, 20 there, and Max, 200, differ.
//
// The zero AIMD is ready, and its first call sets fields that are zero to their defaults. Fields
// must not be changed after that. The first call panics if they contradict each other. A copy is a
// controller of its own, which goes on from the same state.
type AIMD struct {
	Min     int64         // the lowest limit; 1
	Max     int64         // the highest limit; 1000
	Initial int64         // the first limit; 20, or what of Min and Max is nearest
	Backoff float64       // what is left of the limit after a drop, from 0.5 up to but not 1; 0.9
	Timeout time.Duration // a mean latency above it counts as a drop; 5 s

	limit int64 // 0 before the first call
}

func (a *AIMD) begin() {
	if a.limit > 0 {
		return
	}
	setDefaults("AIMD", &a.Min, &a.Max, &a.Initial)
	if a.Backoff == 0 {
		a.Backoff = 0.9
	}
	if !(a.Backoff >= 0.5 && a.Backoff < 1) { // NaN is neither
		panic("limit: AIMD: Backoff must be from 0.5 up to 1, not " + number(a.Backoff))
	}
	if a.Timeout == 0 {
		a.Timeout = 5 * time.Second
	}
	if a.Timeout < 0 {
		panic("limit: AIMD: Timeout must be positive, not " + a.Timeout.String())
	}
	a.limit = a.Initial
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Limit implements [Controller].
func (a *AIMD) Limit() int64 {
	a.begin()
	return a.limit
}

// Update implements [Controller].
func (a *AIMD) Update(s Sample) int64 {
	a.begin()
	switch {
	case s.Dropped || s.RTT > a.Timeout:
		a.limit = max(a.Min, int64(float64(a.limit)*a.Backoff)) // less by one at least
	case s.RTT > 0 && halfUsed(s, float64(a.limit)):
		a.limit = min(a.Max, a.limit+1)
	}
	return a.limit
}
