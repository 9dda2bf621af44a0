package main

import (
	"math/rand/v2"
	"slices"
)

// A cellResult is what all rounds gave for one cell.
type cellResult struct {
	Name    string          `json:"cell"`
	Samples samples[sample] `json:"samples"`

	cell  cell
	impls []implementation
}

// Samples are what all rounds gave for one line, by implementation. Those of one index belong to
// one round, whatever the implementation.
type samples[S any] map[string][]S

// column returns one figure of one implementation over the rounds, nil if it did not take part.
func (all samples[S]) column(impl string, figure func(S) float64) []float64 {
	var vs []float64
	for _, s := range all[impl] {
		vs = append(vs, figure(s))
	}
	return vs
}

// beside returns farad's figure divided by that of another implementation, round by round; nil for
// farad itself.
func (all samples[S]) beside(impl string, figure func(S) float64) []float64 {
	if impl == nameFarad {
		return nil
	}
	return ratios(all.column(nameFarad, figure), all.column(impl, figure))
}

func nsPerOp(s sample) float64     { return s.NsPerOp }
func fairnessOf(s sample) float64  { return s.Fairness }
func allocsPerOp(s sample) float64 { return s.AllocsPerOp }

// plan returns the cells and implementations that match picks by the name cell/implementation, as
// in contended-8x1/shared/x/sync.
func plan(impls []implementation, match func(string) bool) []*cellResult {
	var rs []*cellResult
	for _, c := range cells() {
		r := &cellResult{Name: c.String(), Samples: make(samples[sample]), cell: c}
		for _, im := range impls {
			if (im.serves == nil || im.serves(c.workload)) && match(r.Name+"/"+im.name) {
				r.impls = append(r.impls, im)
			}
		}
		if r.impls != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

// shuffled returns impls, which are then measured one directly after the other, in an order that
// differs from round to round but not from run to run: none always inherits the state (processor
// frequency, where the scheduler left its threads) of the same predecessor.
func shuffled[I any](rng *rand.Rand, impls []I) []I {
	order := slices.Clone(impls)
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// runRound measures each cell once, and calls measured after every measurement.
func runRound(round int, rs []*cellResult, t timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(2, uint64(round)))
	for _, r := range rs {
		for _, im := range shuffled(rng, r.impls) {
			s, err := measure(r.cell, im, t)
			if err != nil {
				return err
			}
			r.Samples[im.name] = append(r.Samples[im.name], s)
			measured(r.Name + "/" + im.name)
		}
	}
	return nil
}
