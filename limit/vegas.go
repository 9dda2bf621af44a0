package limit

import "math"

// Vegas estimates how many of the permits stand in a queue inside the resource: limit · (1 −
// shortest latency ÷ latency). The limit rises while they are few and falls while they are many, by
// steps that grow with its logarithm. After a drop it falls by a step, too.
//
// It needs no number that the user would have to know, keeps the queue short, and stays where it is
// under an overload that lasts. But a resource that has become slower for good looks like one with
// a queue until the shortest latency is forgotten, after 30 windows for each permit of the limit.
// And where the latency falls as long as requests are few, its limit is too low.
//
// Source: Brakmo and Peterson, "TCP Vegas", 1995; steps and thresholds are those of VegasLimit in
// Netflix's concurrency-limits. Two deviations: there, the shortest latency is forgotten at random
// times, here at fixed ones. And what is compared is an average, of the first 10 samples and then
// with a weight of 1/4. The shortest of single means would be far below their mean, so that chance
// would look like a queue.
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
	shortest float64 // of recent; 0 if it is not known
	samples  int64   // since shortest was forgotten
}

// The constants of the source, but for the weight. Thresholds of the queue are multiples of the
// step.
const (
	vegasAlpha  = 3 // below it a step up
	vegasBeta   = 6 // above it a step down; without a queue the limit rises by as many steps
	vegasProbe  = 30
	vegasWeight = 0.25
	vegasFalls  = 0.99 // an average that becomes shorter by more is still falling
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
	return v.limit
}

// Update implements [Controller].
func (v *Vegas) Update(s Sample) int64 {
	v.begin()
	knows := s.RTT > 0 && v.knows(float64(s.RTT))
	step := max(1, int64(math.Log10(float64(v.limit))))
	switch {
	case s.Dropped:
		v.move(-step)
	case knows && halfUsed(s, float64(v.limit)):
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
	return v.limit
}

// knows takes a latency into account, and reports whether the shortest one is known: the average is
// warm and does not fall.
func (v *Vegas) knows(rtt float64) bool {
	v.recent.add(rtt, vegasWeight)
	if !v.recent.isWarm() {
		return false
	}
	v.samples++
	if v.samples/vegasProbe >= v.limit {
		v.samples, v.shortest = 0, 0
	}
	before := v.shortest
	if before == 0 || v.recent.value < before {
		v.shortest = v.recent.value
	}
	return v.shortest >= before*vegasFalls && before > 0
}

func (v *Vegas) move(by int64) { v.limit = max(v.Min, min(v.Max, v.limit+by)) }
