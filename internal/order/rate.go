package order

// A rate is how fast permits are popped while requests wait: the permits of the last pops by the
// time these took, where each pop weighs 1 - 1/window of the next one. The window counts pops and
// not time, because nobody knows whether permits are held for microseconds or for minutes. With 32
// the mean of intervals that vary as much as their mean (exponential ones) is off by 1/√63 = 13 %,
// and after a change of the speed 32 pops leave a third of the old value.
//
// A pop counts from the pop before it, if something has waited ever since. It is the earlier one's
// permits that took this time: the next request is popped when the last one has been served. The
// first pop after an idle time says nothing, as permits may have been about to become free.
type rate struct {
	permits, ns float64
	samples     int

	busy bool  // something has waited since the last pop
	last int64 // when that was
	n    int64 // for how many permits
}

const (
	window = 32
	// Fewer samples are not believed: 16 exponential ones are off by a quarter.
	minSamples = 16
	// Where fewer requests wait, nothing is refused. Two that wait at a time suffice for samples.
	// So a rate that was measured in bad times, and by which all would be refused, does not last.
	probes = 2
)

// popped counts a pop of n permits.
func (r *rate) popped(now, n int64) {
	if r.busy {
		r.permits += float64(r.n) - r.permits/window
		r.ns += float64(max(now-r.last, 0)) - r.ns/window
		r.samples = min(r.samples+1, minSamples)
	}
	r.busy, r.last, r.n = true, now, n
}

// idle notes that nothing waits any more.
func (r *rate) idle() { r.busy = false }

// predict returns how many nanoseconds a request would wait, 0 if too little has been measured. l
// is the tenant's lane, if it has one.
func (o *Order) predict(l *lane, tenant any, weight int, n int64) float64 {
	if o.rate.samples < minSamples {
		return 0
	}
	permits := o.policy.needed(l, tenant, weight, float64(charge(n)), float64(o.permits))
	return permits * o.rate.ns / o.rate.permits
}
