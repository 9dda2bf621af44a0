package measure

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Present returns those of known that have samples, and after them others that have, by name.
func Present[I, S any](known []I, all Samples[S], name func(I) string, unknown func(string) I) []I {
	is := func(n string) func(I) bool { return func(im I) bool { return name(im) == n } }
	var some []I
	for _, im := range known {
		if len(all[name(im)]) > 0 {
			some = append(some, im)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(known, is(n)) {
			some = append(some, unknown(n))
		}
	}
	return some
}

// NameFarad is the name of what this module has, in every line.
const NameFarad = "farad"

// Samples are what all rounds gave for one line, by implementation. Those of one index belong to
// one round, whatever the implementation.
type Samples[S any] map[string][]S

// Column returns one figure of one implementation over the rounds, nil if it did not take part.
func (all Samples[S]) Column(impl string, figure func(S) float64) []float64 {
	var vs []float64
	for _, s := range all[impl] {
		vs = append(vs, figure(s))
	}
	return vs
}

// Beside returns farad's figure divided by that of another implementation, round by round; nil for
// farad itself.
func (all Samples[S]) Beside(impl string, figure func(S) float64) []float64 {
	if impl == NameFarad {
		return nil
	}
	return Ratios(all.Column(NameFarad, figure), all.Column(impl, figure))
}

// NsPerOp is a figure of samples: the time of an operation.
func NsPerOp(s Sample) float64 { return s.NsPerOp }

// FairnessOf is a figure of samples: the smallest count divided by the largest.
func FairnessOf(s Sample) float64 { return s.Fairness }

// AllocsPerOp is a figure of samples: the allocations of an operation.
func AllocsPerOp(s Sample) float64 { return s.AllocsPerOp }

// Everything picks all measurements.
func Everything(string) bool { return true }

// Shuffled returns impls, which are then measured one directly after the other, in an order that
// differs from round to round but not from run to run: none always inherits the state (processor
// frequency, where the scheduler left its threads) of the same predecessor.
func Shuffled[I any](rng *rand.Rand, impls []I) []I {
	order := slices.Clone(impls)
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
