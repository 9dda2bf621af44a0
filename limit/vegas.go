package limit

import "math"

// Vegas estimates how many of the permits stand in a queue inside the resource: limit · (1 −
// shortest latency ÷ latency). The limit rises while they are few and falls while they are many, by
// steps that grow with its logarithm. After a drop it falls by a step, too.
//
// The shortest latency is measured anew after 300 windows, and as soon as the limit has fallen to
// three fifths of what it was: a resource that has become slower looks like one with a queue. If
// the limit is in use, it is halved for that, for 6 windows, so that the queue runs empty.
//
// It needs no number that the user would have to know, keeps the queue short, and stays where it is
// under an overload that lasts. But the measurement costs up to two of a hundred requests where
// there is always a queue. A resource that becomes slower answers fewer than it could until it is
// measured anew. And where the latency falls as long as requests are few, the limit is too low.
//
// Source: Brakmo and Peterson, "TCP Vegas", 1995; steps and thresholds are those of VegasLimit in
// Netflix's concurrency-limits. Three deviations. There, the latency of a random sample under load
// replaces the shortest one, so that a queue that is there becomes part of it, and the limit creeps
// up. Here the load is halved first, as BBR does ("Congestion-based congestion control", 2016, and
// its second version). What is compared is an average, of the first 10 samples and then with a
// weight of 1/4. The shortest of single means would be far below their mean, so that chance would
// look like a queue. And a drop counts in each sample, there in none that has the shortest latency.
//
// The zero Vegas is ready, and its first call sets fields that are zero to their defaults. Fields
// must not be changed after that. The first call panics if they contradict each other. A copy is a
// controller of its own, which goes on from the same state.
type Vegas struct {
	Min     int64 // the lowest limit; 1
	Max     int64 // the highest limit; 1000
	Initial int64 // the first limit; 20, or what of Min and Max is nearest

	limit    int64 // 0 before the first call
	recent   average
	shortest float64 // of recent or of a probe; 0 if it is not known
	samples  int     // since then
	highest  int64   // limit since then
	probing  bool    // the limit is halved, and recent stays as it was
	settled  bool    // the requests of the samples to come have begun during the probe
	probe    average
}

// Steps and thresholds are those of the source. Thresholds of the queue are multiples of the step.
const (
	vegasAlpha  = 3   // below it a step up
	vegasBeta   = 6   // above it a step down; without a queue the limit rises by as many steps
	vegasProbe  = 300 // samples, or less if the limit has fallen
	vegasFallen = 0.6 // to so much of itself: by chance it falls to more

	vegasMeasured = 5 // samples of a probe, besides the first
	vegasWeight   = 0.25
	vegasFalls    = 0.99 // an average that becomes shorter by more is still falling
)

func (v *Vegas) begin() {
	if v.limit > 0 {
		return
	}
	setDefaults("Vegas", &v.Min, &v.Max, &v.Initial)
	v.limit = v.Initial
}

// Limit implements [Controller].
func (v *Vegas) Limit() int64 {
	v.begin()
	if v.probing {
		return max(v.Min, v.limit/2)
	}
	return v.limit
}

// Update implements [Controller].
func (v *Vegas) Update(s Sample) int64 {
	v.begin()
	used := halfUsed(s, float64(v.limit))
	knows := s.RTT > 0 && v.knows(s, used)
	step := max(1, int64(math.Log10(float64(v.limit))))
	switch {
	case s.Dropped:
		v.move(-step)
	case knows && used:
		queue := int64(math.Ceil(float64(v.limit) * (1 - v.shortest/v.recent.value)))
		switch {
		case queue <= step:
			v.move(vegasBeta * step)
		case queue < vegasAlpha*step:
			v.move(step)
		case queue > vegasBeta*step:
			v.move(-step)
		}
	}
	return v.Limit()
}

// knows takes a latency into account, and reports whether the shortest one is known: the average is
// warm and does not fall.
func (v *Vegas) knows(s Sample, used bool) bool {
	if v.probing {
		if !s.Dropped { // a drop ends no probe, which would raise the limit
			v.probes(float64(s.RTT))
		}
		return false
	}
	v.recent.add(float64(s.RTT), vegasWeight)
	if !v.recent.isWarm() {
		return false
	}
	before := v.shortest
	v.samples++
	switch {
	case v.samples < vegasProbe && float64(v.limit) > vegasFallen*float64(v.highest):
	case used:
		v.probing, v.settled, v.probe = true, false, average{}
		return false
	default: // no queue, and no need for a lower limit
		v.learns(v.recent.value)
		return false
	}
	if before == 0 || v.recent.value < before {
		v.shortest = v.recent.value
	}
	return v.shortest >= before*vegasFalls && before > 0
}

// probes takes a latency at half of the limit into account.
func (v *Vegas) probes(rtt float64) {
	if !v.settled {
		v.settled = true
		return
	}
	v.probe.add(rtt, 0)
	if v.probe.n == vegasMeasured {
		v.probing = false
		v.learns(v.probe.value)
	}
}

func (v *Vegas) learns(shortest float64) {
	v.shortest, v.samples, v.highest = shortest, 0, v.limit
}

func (v *Vegas) move(by int64) {
	v.limit = max(v.Min, min(v.Max, v.limit+by))
	v.highest = max(v.highest, v.limit)
}
