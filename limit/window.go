package limit

import (
	"math"
	"time"
)

// A window gathers requests until they make a sample. It knows no clock: each call says what time
// it is, in nanoseconds.
type window struct {
	lasts    int64 // at least, and at least twice the shortest latency in it
	requests int64 // in it, at least

	open      bool
	began     int64
	succeeded latencies
	dropped   latencies
	shortest  int64 // of those that succeeded
	inFlight  int64
}

// latencies are those of n requests. Their sum is a float, because integers could overflow.
type latencies struct {
	n   int64
	sum float64
}

func (l *latencies) add(d time.Duration) {
	l.n++
	l.sum += float64(d)
}

func (l *latencies) mean() float64 { return l.sum / float64(max(1, l.n)) }

// dropTolerance is the share of requests that may be dropped in a window that does not count as
// dropped. There are always some that take too long or fail by themselves. If one of them in each
// window lowered the limit, it would fall to its minimum.
const dropTolerance = 0.05

// otherClock is how far away the clock of a bubble is at least. No request takes as long, and no
// goroutine is held up for as long between its look at the clock and its turn.
const otherClock = int64(365 * 24 * time.Hour)

// add takes a request into account. Requests may come in another order than their times.
func (w *window) add(now int64, s Sample) {
	if !w.open || now-w.began < -otherClock || now-w.began > otherClock {
		w.reopen(now)
	}
	w.inFlight = max(w.inFlight, s.InFlight)
	switch {
	case s.Dropped:
		w.dropped.add(max(0, s.RTT))
	case s.RTT > 0:
		if w.succeeded.n == 0 || int64(s.RTT) < w.shortest {
			w.shortest = int64(s.RTT)
		}
		w.succeeded.add(s.RTT)
	}
}

// full reports whether the window may end.
func (w *window) full(now int64) bool {
	passed := max(0, now-w.began)
	return w.succeeded.n+w.dropped.n >= w.requests && passed >= w.lasts && passed/2 >= w.shortest
}

// take returns the sample and begins the next window.
func (w *window) take(now int64) Sample {
	all := latencies{w.succeeded.n + w.dropped.n, w.succeeded.sum + w.dropped.sum}
	mean := w.succeeded.mean()
	if w.succeeded.n > 0 && w.dropped.mean() > mean {
		// Those that were given up would have taken longer still. Those that were refused at once
		// say nothing about latency.
		mean = all.mean()
	}
	s := Sample{
		RTT:      time.Duration(min(mean, math.MaxInt64/2)), // or it could be rounded up beyond the largest
		InFlight: w.inFlight,
		Dropped:  float64(w.dropped.n) > dropTolerance*float64(all.n),
	}
	w.reopen(max(now, w.began))
	return s
}

func (w *window) reopen(now int64) {
	*w = window{lasts: w.lasts, requests: w.requests, open: true, began: now}
}
