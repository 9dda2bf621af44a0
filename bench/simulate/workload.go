package main

import "slices"

// A workload is what each core does until the time is over: take the lock, add to a shared word,
// hold the lock a while longer, and then stay outside for a time between nothing and twice the
// mean. (Times are in nanoseconds.)
type workload struct{ hold, outside, lasts int64 }

// cores are what the workload runs on, simulated or real.
type cores interface {
	Now() int64
	Work(ns int64)
}

// A point is the result of one lock on a number of cores.
type point struct {
	kind      string
	cores     int
	rate      float64 // acquisitions per microsecond
	fairness  float64 // of the core with the fewest to the one with the most
	transfers float64 // of lines, per acquisition; only simulated
	far       float64 // of these, from another socket
	sleeps    float64 // per acquisition
}

// point returns the point without what only a simulation can tell.
func (k kind) point(counts []int, elapsed int64) point {
	return point{
		kind: k.name, cores: len(counts),
		rate:     float64(sum(counts)) / float64(elapsed) * 1000,
		fairness: float64(slices.Min(counts)) / float64(slices.Max(counts)),
	}
}

func sum(counts []int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}
