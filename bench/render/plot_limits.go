package render

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/farad-go/farad/internal/limitsim"
)

// limitColors are the colors of the limiters, in the order of the results.
var limitColors = []color.Color{amber, green, blue, red, purple, teal, gray}

// LimitsDrawing shows limits, above, and latencies, below, over the time of some worlds. A column
// has what several limiters made of one world.
func LimitsDrawing(file string, columns [][]*limitsim.Result) Drawing {
	rows := make([][]*plot.Plot, 2)
	for i, column := range columns {
		limits, latencies := plot.New(), plot.New()
		limits.Title.Text = column[0].World + ": limit"
		latencies.Title.Text = "mean latency, ms"
		latencies.X.Label.Text = "s"
		for k, r := range column {
			var ls, ms plotter.XYs
			for bin := range r.Limits {
				at := (time.Duration(bin) * limitsim.Bin).Seconds()
				ls = append(ls, plotter.XY{X: at, Y: float64(r.Limits[bin])})
				if r.Goods[bin] > 0 {
					ms = append(ms, plotter.XY{X: at, Y: float64(r.Mean[bin]) / float64(time.Millisecond)})
				}
			}
			lineOf(limits, ls, limitColors[k%len(limitColors)], r.Limiter, i == 0)
			lineOf(latencies, ms, limitColors[k%len(limitColors)], r.Limiter, false)
		}
		limits.Y.Min, latencies.Y.Min = 0, 0
		limits.Legend.Top, limits.Legend.Left = true, true
		if i == 0 {
			limits.Y.Max *= 1.6 // the legend stands above the lines
		}
		rows[0], rows[1] = append(rows[0], limits), append(rows[1], latencies)
	}
	return Drawing{file, "Limits that find themselves", rows, 12 * vg.Inch, 5.5 * vg.Inch}
}

func lineOf(p *plot.Plot, points plotter.XYs, c color.Color, name string, legend bool) {
	line, err := plotter.NewLine(points)
	if err != nil { // as in drawnWith
		panic(err)
	}
	line.Color, line.Width = c, vg.Points(1.2)
	p.Add(line)
	if legend {
		p.Legend.Padding = vg.Points(2)
		p.Legend.Add(name, line)
	}
}
