package measure

import (
	"math"
	"slices"
	"testing"
)

func TestMedianIsTheMiddleInWhateverOrder(t *testing.T) {
	for _, c := range []struct {
		vs   []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{1000, 1, 1, 1, 1000}, 1},
	} {
		given := slices.Clone(c.vs)
		if got := Median(c.vs); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.vs, got, c.want)
		}
		if !slices.Equal(c.vs, given) {
			t.Errorf("median reordered %v to %v: samples of one round would no longer belong together", given, c.vs)
		}
	}
}

func TestRatiosPairTheRounds(t *testing.T) {
	// The machine was ten times slower in the second round: no quotient may show it.
	ours, peers := []float64{50, 500, 60}, []float64{100, 1000, 100}
	if got, want := Ratios(ours, peers), []float64{0.5, 0.5, 0.6}; !slices.Equal(got, want) {
		t.Errorf("ratios = %v, want %v", got, want)
	}
	if got := Ratios(ours, nil); len(got) != 0 {
		t.Errorf("ratios to a peer that did not take part = %v", got)
	}
}

func TestFairnessIsLeastByMost(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   float64
	}{
		{[]int64{5}, 1},
		{[]int64{10, 10, 10}, 1},
		{[]int64{30, 10, 20}, 1.0 / 3},
		{[]int64{30, 0, 20}, 0},
		{[]int64{0, 0}, 0},
	} {
		if got := fairness(c.counts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("fairness(%v) = %v, want %v", c.counts, got, c.want)
		}
	}
}
