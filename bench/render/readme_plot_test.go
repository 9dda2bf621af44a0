package render

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/report"
)

// Each dot of the README's plot is as high as the median that it stands for: on the left by its
// logarithm.
func TestReadmePlotShowsTheMedians(t *testing.T) {
	r, err := report.Load("../results/capacitor.json")
	require.NoError(t, err)
	d, err := readmePlot(&report.Report{}, r)
	require.NoError(t, err)
	svg := d.svg()
	dots := regexp.MustCompile(`M[\d.]+,([\d.]+)A2,2 `).FindAllStringSubmatch(svg, -1)
	n := len(readmeLocks) * len(readmeSizes)
	require.Len(t, dots, n+len(readmeLocks)+n, "a plot, its legend, the other plot")
	dots = slices.Delete(dots, n, n+len(readmeLocks))
	for panel, value := range []func(locks.Sample) float64{locks.NsPerOp, locks.Fairness} {
		var values, heights []float64
		for _, l := range readmeLocks {
			for _, goroutines := range readmeSizes {
				v, ok := r.Locks.Median(capacitor.MutexbenchName(goroutines), l.impl, value)
				require.True(t, ok)
				if panel == 0 {
					v = math.Log(v)
				}
				values = append(values, v)
				height, err := strconv.ParseFloat(dots[panel*n+len(heights)][1], 64)
				require.NoError(t, err)
				heights = append(heights, height)
			}
		}
		low, high := slices.Index(values, slices.Min(values)), slices.Index(values, slices.Max(values))
		for i, v := range values {
			want := heights[low] + (heights[high]-heights[low])*(v-values[low])/(values[high]-values[low])
			require.InDelta(t, want, heights[i], 0.1, "%s at %d",
				readmeLocks[i/len(readmeSizes)].name, readmeSizes[i%len(readmeSizes)])
		}
		require.Greater(t, heights[high]-heights[low], 100.0)
	}
	for _, l := range readmeLocks {
		require.Equal(t, 1, strings.Count(svg, ">"+l.name+"<"))
	}
}

func TestReadmePlotLacksNothing(t *testing.T) {
	r := report.MadeUpAll()
	r.Locks = slices.DeleteFunc(
		r.Locks,
		func(l *locks.Result) bool { return l.Workload == capacitor.MutexbenchName(64) },
	)
	_, err := readmePlot(r)
	require.ErrorContains(t, err, "mutexbench-64 of farad was not measured")
}
