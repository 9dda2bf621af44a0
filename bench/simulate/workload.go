package main

import "slices"

// A workload is what each core does until the time is over: take the lock, add to a word that all
// share, hold the lock for some more, and then be outside for a time that varies from nothing to
// twice the mean. (Nanoseconds.)
type workload struct{ hold, outside, lasts int64 }

// cores are what the workload runs on, simulated or real.
type cores interface {
	Now() int64
	Work(ns int64)
}

// A point is what one lock has done on so many cores.
type point struct {
	kind      string
	cores     int
	rate      float64 // acquisitions per microsecond
	fairness  float64 // of the core with fewest, to the one with most
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
