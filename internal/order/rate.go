package order

// A rate is how fast permits are popped while requests wait: the permits of the last pops by the
// time these took, where each pop weighs 1 - 1/w of the next one. The window w counts pops and not
// time, because nobody knows whether permits are held for microseconds or for minutes. It is 32, or
// as many pops as requests wait if these are more.
//
//   - With 32 the mean of intervals that vary as much as their mean (exponential ones) is off by
//     1/√63 = 13 %, and after a change of the speed 32 pops leave a third of the old value.
//   - Permits may become free in bursts, and a burst must not fill the window. Those that wait take
//     about as many pops as the window, so what is predicted for them is off by a burst at most.
//
// A pop counts from the pop before it, if something has waited ever since. It is the earlier one's
// permits that took this time: the next request is popped when the last one has been served. The
// first pop after an idle time says nothing, as permits may have been about to become free.
//
// A request that is staged at once counts as popped, if no permit has been free since the one
// before it was served. So there is a rate even where one request may wait. What was popped last
// waits still, though the Order may be empty: only Stage and Push learn when it has left.
type rate struct {
	permits, ns float64
	samples     int

	busy bool  // no permit has been free since the last pop
	last int64 // when that was
	n    int64 // for how many permits
	now  int64 // when Push or Pop was called last
}

const (
	minWindow = 32
	// Fewer samples are not believed: 16 exponential ones are off by a quarter.
	minSamples = 16
	// Where fewer requests wait, nothing is refused. Two that wait at a time suffice for samples.
	// So a rate that was measured in bad times, and by which all would be refused, does not last.
	probes = 2
)

// popped counts a pop of n permits, when size requests wait.
func (r *rate) popped(now, n int64, size int) {
	if r.busy {
		r.permits, r.ns = r.with(now, size)
		r.samples = min(r.samples+1, minSamples)
	}
	r.busy, r.last, r.n, r.now = true, now, n, now
}

// with returns permits and ns if a pop came now.
func (r *rate) with(now int64, size int) (permits, ns float64) {
	keep := 1 - 1/float64(max(minWindow, size))
	return r.permits*keep + float64(r.n), r.ns*keep + float64(max(now-r.last, 0))
}

// staged counts a request for n permits that was staged at once, as popped if held is true.
func (r *rate) staged(now, n int64, held bool) {
	if held {
		r.popped(now, n, 0)
	} else {
		r.idle()
	}
}

// idle notes that nothing has waited for a while.
func (r *rate) idle() { r.busy = false }

// known reports whether enough has been measured.
func (r *rate) known() bool { return r.samples >= minSamples }

// pace returns how many nanoseconds pass for each permit that is popped. If the pop that is due
// takes longer than the rate says, the rate is worse already.
func (r *rate) pace(now int64, size int) float64 {
	pace := r.ns / r.permits
	if r.busy {
		permits, ns := r.with(now, size)
		pace = max(pace, ns/permits)
	}
	return pace
}

// after returns how many nanoseconds pass until so many permits will have been granted. If requests
// are staged, what was popped last is granted first. Otherwise that has been granted, and what
// comes next is taken to be as large.
func (r *rate) after(permits float64, now int64, size int, staged bool) float64 {
	pace, rest := r.pace(now, size), 0.0
	if r.busy {
		due := float64(r.n)
		if !staged {
			due = min(due, permits)
			permits -= due
		}
		rest = max(0, pace*due-float64(now-r.last))
	}
	return permits*pace + rest
}

// held returns for how many nanoseconds a permit is held on average, where size wait, and there are
// so many permits. While requests wait all are held, so this is Little's law. What a large request
// has collected counts as held.
func (r *rate) held(permits, now int64, size int) float64 {
	return float64(permits) * r.pace(now, size)
}

// predict returns how many nanoseconds a request would wait if it came now, 0 if too little has
// been measured. l is the tenant's lane, if it has one.
func (o *Order) predict(l *lane, tenant any, weight int, n, now int64) float64 {
	if !o.rate.known() {
		return 0
	}
	permits := o.policy.needed(l, tenant, weight, float64(charge(n)), float64(o.permits))
	return o.rate.after(permits, now, o.size, o.ledger == nil)
}
