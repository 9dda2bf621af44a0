package limitsim

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// What the synthetic worlds have in common.
const (
	servers  = 20
	meanWork = 50 * time.Millisecond
	full     = float64(servers) / 0.05 // requests a second, 400
)

// Worlds returns the synthetic worlds and the recorded one. The synthetic ones have twenty servers,
// requests of 50 ms on average, and clients that wait for ten times as long.
func Worlds() []*World {
	return []*World{
		{
			Name: "overload", Lasts: 60 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(2*full, constant(2*full), exponential),
			Servers:  func(time.Duration) int { return servers },
			Capacity: constant(full),
			Steps:    []time.Duration{0},
		},
		{
			Name: "long", Lasts: 10 * time.Minute, Deadline: 10 * meanWork,
			Arrivals: Poisson(2*full, constant(2*full), exponential),
			Servers:  func(time.Duration) int { return servers },
			Capacity: constant(full),
			Steps:    []time.Duration{0},
		},
		{
			Name: "step", Lasts: 120 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(1.5*full, constant(1.5*full), regular),
			Servers:  func(at time.Duration) int { return int(between(at, 40, 80, servers, servers/4)) },
			Capacity: func(at time.Duration) float64 { return between(at, 40, 80, full, full/4) },
			Steps:    []time.Duration{0, 40 * time.Second, 80 * time.Second},
		},
		{
			Name: "slower", Lasts: 120 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(1.5*full, constant(1.5*full), regular),
			Servers:  func(time.Duration) int { return servers },
			Capacity: func(at time.Duration) float64 { return between(at, 40, 80, full, full/3) },
			Slower:   func(at time.Duration) float64 { return between(at, 40, 80, 1, 3) },
			Steps:    []time.Duration{0, 40 * time.Second, 80 * time.Second},
		},
		{
			Name: "noise", Lasts: 60 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(2*full, constant(2*full), noisy),
			Servers:  func(time.Duration) int { return servers },
			Capacity: constant(full),
			Steps:    []time.Duration{0},
		},
		{
			// The capacity is what is left between the pauses.
			Name: "pauses", Lasts: 60 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(1.5*full, constant(1.5*full), regular),
			Servers:  func(time.Duration) int { return servers },
			Capacity: constant(full * 9 / 10),
			Steps:    []time.Duration{0},
			Every:    2 * time.Second, Pause: 200 * time.Millisecond,
		},
		{
			// Batches, backups and the caches of others: the work itself takes half to twice as
			// long.
			Name: "tides", Lasts: 120 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(1.5*full, constant(1.5*full), regular),
			Servers:  func(time.Duration) int { return servers },
			Capacity: func(at time.Duration) float64 { return full / tide(at) },
			Slower:   tide,
		},
		{
			Name: "waves", Lasts: 120 * time.Second, Deadline: 10 * meanWork,
			Arrivals: Poisson(2*full, func(at time.Duration) float64 {
				return full * (1.1 - 0.9*math.Cos(2*math.Pi*at.Seconds()/20))
			}, exponential),
			Servers:  func(time.Duration) int { return servers },
			Capacity: constant(full),
		},
		recorded(),
	}
}

// http has how long a request of a real server took, in microseconds, one after the other. Its test
// says how it was recorded.
//
//go:embed testdata/http.txt
var http string

// Recorded returns the latencies of requests that followed each other without a pause, so that none
// had to wait for another.
func Recorded() (all []time.Duration) {
	for us := range strings.FieldsSeq(http) {
		n, err := strconv.Atoi(us)
		if err != nil {
			panic("limitsim: testdata/http.txt: " + err.Error())
		}
		all = append(all, time.Duration(n)*time.Microsecond)
	}
	return all
}

// recorded is a server of four processors. The work of a request is what was recorded in its turn,
// again and again: what slowed down a real request slows down those that arrive with it.
func recorded() *World {
	const servers = 4
	works := Recorded()
	mean := time.Duration(0)
	for _, w := range works {
		mean += w
	}
	mean /= time.Duration(len(works))
	rate := servers / mean.Seconds()
	arrive := Poisson(2*rate, constant(2*rate), func(*rand.Rand) time.Duration { return 0 })
	return &World{
		Name: "recorded", Lasts: 60 * time.Second, Deadline: 10 * mean,
		Arrivals: func(r *rand.Rand, after time.Duration) (Request, bool) {
			q, ok := arrive(r, after)
			q.Work = works[int(q.At.Seconds()*2*rate)%len(works)]
			return q, ok
		},
		Servers:  func(time.Duration) int { return servers },
		Capacity: constant(rate),
		Steps:    []time.Duration{0},
	}
}

// tide goes from a half to two and back in forty seconds.
func tide(at time.Duration) float64 {
	return math.Exp2(-math.Cos(2 * math.Pi * at.Seconds() / 40))
}

func constant(x float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return x }
}

// between is inside from one second up to another, and outside otherwise.
func between(at time.Duration, from, to, outside, inside float64) float64 {
	if s := at.Seconds(); s >= from && s < to {
		return inside
	}
	return outside
}

// exponential is the work of a service without memory, the M of M/M/c.
func exponential(r *rand.Rand) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(meanWork))
}

// regular is nearly the same for all.
func regular(r *rand.Rand) time.Duration {
	return meanWork/10*9 + time.Duration(r.ExpFloat64()*float64(meanWork/10))
}

// noisy is log-normal, with a deviation of 1.3 times the mean: one request in a hundred takes six
// times as long as the mean.
func noisy(r *rand.Rand) time.Duration {
	const sigma = 1.0
	return time.Duration(math.Exp(r.NormFloat64()*sigma-sigma*sigma/2) * float64(meanWork))
}
