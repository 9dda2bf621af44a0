package limit

// Gradient2 compares the latency of a window with a long exponential average of itself. As long as
// it is at most Tolerance times the average, the limit rises by 0.8 with each window. If it is
// longer, the limit falls in proportion, by a tenth at most. After a drop it falls by a tenth.
//
// It needs no number that the user would have to know, and forgives noise. But whatever lasts
// becomes the average, which spans 600 windows. Under an overload that lasts for minutes it follows
// the latency, and the limit rises until requests are dropped. And no latency, however long, takes
// the limit below 8: only drops do.
//
// Source: Gradient2Limit in Netflix's concurrency-limits, with its constants: a warm-up of 10
// samples, an average over 600, four permits that may queue, a smoothing of 0.2, a decay of 5 % per
// sample while the average is above twice the latency. Two deviations: Min is 1 and Max is 1000,
// instead of 20 and 200; and a drop counts as the worst gradient. There only its latency counts,
// which is short if the resource refuses requests at once.
//
// The zero Gradient2 is ready, and its first call sets fields that are zero to their defaults.
// Fields must not be changed after that. The first call panics if they contradict each other. A
// copy is a controller of its own, which goes on from the same state.
type Gradient2 struct {
	Min       int64   // the lowest limit; 1
	Max       int64   // the highest limit; 1000
	Initial   int64   // the first limit; 20, or what of Min and Max is nearest
	Tolerance float64 // how many times as long as the average a latency may be, from 1 to 1000; 1.5

	limit float64 // 0 before the first call
	long  average
}

// The constants of the source.
const (
	gradientLong      = 600.0 // samples
	gradientQueue     = 4.0   // permits
	gradientSmoothing = 0.2
	gradientWorst     = 0.5
	gradientDrift     = 2.0  // an average this many times above the latency
	gradientDecay     = 0.95 // is reduced to so much of itself, besides
)

func (g *Gradient2) begin() {
	if g.limit > 0 {
		return
	}
	setDefaults("Gradient2", &g.Min, &g.Max, &g.Initial)
	if g.Tolerance == 0 {
		g.Tolerance = 1.5
	}
	if !(g.Tolerance >= 1 && g.Tolerance <= 1000) { // NaN is neither
		panic("limit: Gradient2: Tolerance must be from 1 to 1000, not " + number(g.Tolerance))
	}
	g.limit = float64(g.Initial)
}

// Limit implements [Controller].
func (g *Gradient2) Limit() int64 {
	g.begin()
	// The conversion of a bound to a float may have rounded it up.
	return max(g.Min, min(g.Max, int64(g.limit)))
}

// Update implements [Controller].
func (g *Gradient2) Update(s Sample) int64 {
	g.begin()
	gradient := 1.0
	if s.RTT > 0 {
		gradient = g.learn(float64(s.RTT))
	}
	switch {
	case s.Dropped: // and no queue, or a limit of up to eight would never fall
		g.move(g.limit * gradientWorst)
	case s.RTT > 0 && halfUsed(s, g.limit):
		g.move(g.limit*gradient + gradientQueue)
	}
	return g.Limit()
}

// learn takes a latency into account and returns the gradient.
func (g *Gradient2) learn(short float64) float64 {
	g.long.add(short, 2/(gradientLong+1))
	long := g.long.value
	if long > gradientDrift*short {
		g.long.value *= gradientDecay
	}
	return max(gradientWorst, min(1, g.Tolerance*long/short))
}

func (g *Gradient2) move(to float64) {
	next := g.limit*(1-gradientSmoothing) + to*gradientSmoothing
	g.limit = max(float64(g.Min), min(float64(g.Max), next))
}
