package render

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
)

// ReadmePlotFile is where the README's plot is, beside it.
const ReadmePlotFile = "docs/benchmarks.svg"

// readmeSizes are how many goroutines there are in the README's plot.
var readmeSizes = []int{1, 2, 8, 64, 256, 1024}

// readmeLocks are whose mutexes are in it.
var readmeLocks = []struct {
	impl, name string
	color      color.Color
}{
	{measure.NameFarad, "farad/sync.Mutex", blue},
	{locks.NameMutex, "sync.Mutex", red},
	{capacitor.NameFIFO, "mutex.Mutex, FIFO", green},
	{capacitor.NameWord, "mutex.Word", amber},
}

// readmePlot shows what a lock costs beside how fair it is: medians, and how far the rounds reach.
// All of it is from the first run that has it.
func readmePlot(runs ...*report.Report) (*Drawing, error) {
	var err error
	for _, r := range runs {
		var d *Drawing
		if d, err = drawsReadme(r); err == nil {
			return d, nil
		}
	}
	return nil, err
}

func drawsReadme(r *report.Report) (*Drawing, error) {
	row := make([]*plot.Plot, 2)
	quickest, slowest := math.Inf(1), 0.0
	for i, of := range []func(locks.Sample) float64{locks.NsPerOp, locks.Fairness} {
		p := plot.New()
		p.X.Label.Text = "goroutines"
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(
			readmeSizes,
			func(i int) float64 { return float64(readmeSizes[i]) },
		)
		for k, l := range readmeLocks {
			// A little beside each other, so that all ranges can be seen.
			aside := 1 + 0.07*(float64(k)-float64(len(readmeLocks)-1)/2)
			var all ranges
			for _, n := range readmeSizes {
				vs := r.Locks.Column(capacitor.MutexbenchName(n), l.impl, of)
				if len(vs) == 0 {
					return nil, fmt.Errorf("%s of %s was not measured", capacitor.MutexbenchName(n), l.impl)
				}
				all.add(float64(n)*aside, vs)
				if i == 0 {
					quickest, slowest = min(quickest, slices.Min(vs)), max(slowest, slices.Max(vs))
				}
			}
			drawnWith(p, []curve{{l.name, l.color, all.XYs}}, i == 0)
			bars, err := plotter.NewYErrorBars(all)
			if err != nil { // as in drawnWith
				panic(err)
			}
			bars.Color = l.color
			p.Add(bars)
		}
		row[i] = p
	}
	cost, fairness := row[0], row[1]
	cost.Title.Text = "ns per acquisition: lower is better"
	cost.Legend.Left = true
	logarithmic(cost, quickest/1.1, 3*slowest) // the legend stands above the lines
	fairness.Title.Text = "fairness, min/max: higher is better"
	fair(fairness)
	return &Drawing{ReadmePlotFile, "", [][]*plot.Plot{row}, 9 * vg.Inch, 3.6 * vg.Inch}, nil
}

// Ranges are medians, and how far the rounds reach below and above them.
type ranges struct {
	plotter.XYs
	plotter.YErrors
}

func (rs *ranges) add(x float64, vs []float64) {
	mid := measure.Median(vs)
	rs.XYs = append(rs.XYs, plotter.XY{X: x, Y: mid})
	rs.YErrors = append(rs.YErrors, struct{ Low, High float64 }{mid - slices.Min(vs), slices.Max(vs) - mid})
}
