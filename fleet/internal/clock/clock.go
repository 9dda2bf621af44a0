// Package clock reads the time on two clocks. The monotonic one may stand still while the machine
// is suspended, and the wall clock may be set. Code that must not miss the end of a time looks at
// both.
package clock

import (
	"sync/atomic"
	"time"
)

// An Instant is a time on both clocks, in nanoseconds.
type Instant struct{ Mono, Wall int64 }

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.Mono + int64(d), i.Wall + int64(d)} }

// Before reports whether i is before end on both clocks.
func (i Instant) Before(end Instant) bool { return i.Mono < end.Mono && i.Wall < end.Wall }

// Until returns for how long i will be before end on both clocks.
func (i Instant) Until(end Instant) time.Duration {
	return time.Duration(max(0, min(end.Mono-i.Mono, end.Wall-i.Wall)))
}

// base is so long ago that times in a bubble of testing/synctest, which begin with the year 2000,
// are not negative.
var base = time.Now().Add(-100 * 365 * 24 * time.Hour)

// Skew is added to the wall clock. It is for tests, in which clocks jump.
var Skew atomic.Int64

// Now returns the current time.
func Now() Instant {
	t := time.Now()
	return Instant{int64(t.Sub(base)), t.UnixNano() + Skew.Load()}
}
