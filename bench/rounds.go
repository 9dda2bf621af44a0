package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
)

// A cellResult is what all rounds gave for one cell. Samples of one index belong to one round, whatever the
// implementation.
type cellResult struct {
	Name    string              `json:"cell"`
	Samples map[string][]sample `json:"samples"`

	cell  cell
	impls []implementation
}

// column returns one figure of one implementation over the rounds, nil if it did not take part.
func (r *cellResult) column(impl string, figure func(sample) float64) []float64 {
	var vs []float64
	for _, s := range r.Samples[impl] {
		vs = append(vs, figure(s))
	}
	return vs
}

func nsPerOp(s sample) float64     { return s.NsPerOp }
func fairnessOf(s sample) float64  { return s.Fairness }
func allocsPerOp(s sample) float64 { return s.AllocsPerOp }

// plan returns the cells and implementations that only picks by the name cell/implementation, as in
// contended-8x1/shared/x/sync.
func plan(impls []implementation, only *regexp.Regexp) []*cellResult {
	var rs []*cellResult
	for _, c := range cells() {
		r := &cellResult{Name: c.String(), Samples: make(map[string][]sample), cell: c}
		for _, im := range impls {
			if (im.serves == nil || im.serves(c.workload)) && only.MatchString(r.Name+"/"+im.name) {
				r.impls = append(r.impls, im)
			}
		}
		if r.impls != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

// runRound measures everything once. The implementations of a cell follow one another directly, in an order that
// differs from round to round but not from run to run, so that none always inherits the state (processor frequency,
// where the scheduler left its threads) of the same predecessor.
func runRound(round int, rs []*cellResult, t timing) error {
	rng := rand.New(rand.NewPCG(2, uint64(round)))
	for _, r := range rs {
		order := slices.Clone(r.impls)
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, im := range order {
			s, err := measure(r.cell, im, t)
			if err != nil {
				return err
			}
			r.Samples[im.name] = append(r.Samples[im.name], s)
		}
	}
	return nil
}
