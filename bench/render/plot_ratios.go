package render

import (
	"image/color"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
)

// RatioDrawings returns a drawing for each family that was measured: farad's ratios to the floor
// and to the best peer.
func RatioDrawings(r *report.Report) (all []Drawing) {
	for _, family := range []string{report.FamilySemaphore, report.FamilyLocks, report.FamilyTasks, report.FamilyJobs} {
		var names []string
		toPeer, toFloor := &whiskers{least: 0.5, most: 2}, &whiskers{least: 0.5, most: 2} // so wide at least
		lines := r.Lines()
		slices.Reverse(lines) // upwards
		for _, l := range lines {
			peer, floor := l.Ratio(l.Quickest(report.Others)), l.Ratio(l.Quickest(report.Floors))
			if l.Family != family || len(peer)+len(floor) == 0 {
				continue
			}
			toPeer.add(len(names), peer)
			toFloor.add(len(names), floor)
			names = append(names, l.Name)
		}
		if len(names) == 0 {
			continue
		}
		p := plot.New()
		p.Title.Text = "farad's time ÷ theirs: below 1 farad is faster" // and not at its axis: fairnessTitle says why
		p.X.Min, p.X.Max = min(toPeer.least, toFloor.least), max(toPeer.most, toFloor.most)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, halves(p.X.Min, p.X.Max)
		p.NominalY(names...)
		p.Y.Max = float64(len(names)) + 1 // the legend stands above them
		p.Add(vertical(1, len(names)))
		toPeer.draw(p, "best peer", blue)
		toFloor.draw(p, "floor", amber)
		all = append(all, Drawing{
			"ratios-" + family + ".svg", "Farad beside the best peer and the floor: " + family,
			[][]*plot.Plot{{p}},
			10 * vg.Inch, vg.Length(len(names)+2)*0.24*vg.Inch + vg.Inch,
		})
	}
	return all
}

// halves are the ticks of an axis of quotients.
func halves(low, high float64) plot.ConstantTicks {
	ts := powersOfTwo(low, high)
	for i, t := range ts {
		if t.Value < 1 {
			ts[i].Label = "1/" + strconv.FormatFloat(1/t.Value, 'f', -1, 64)
		}
	}
	return ts
}

// Whiskers are medians at heights, and how far the rounds reach to the left and to the right of
// them.
type whiskers struct {
	plotter.XYs
	plotter.XErrors
	least, most float64
}

func (w *whiskers) add(y int, vs []float64) {
	if len(vs) == 0 {
		return
	}
	mid, low, high := measure.Median(vs), slices.Min(vs), slices.Max(vs)
	w.least, w.most = min(w.least, low), max(w.most, high)
	w.XYs = append(w.XYs, plotter.XY{X: mid, Y: float64(y)})
	w.XErrors = append(w.XErrors, struct{ Low, High float64 }{mid - low, high - mid})
}

func (w *whiskers) draw(p *plot.Plot, name string, c color.Color) {
	if len(w.XYs) == 0 {
		return
	}
	dots, err := plotter.NewScatter(w.XYs)
	if err != nil { // as in drawnWith
		panic(err)
	}
	bars, err := plotter.NewXErrorBars(w)
	if err != nil {
		panic(err)
	}
	dots.Color, bars.Color = c, c
	dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(3)
	p.Add(bars, dots)
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	p.Legend.Add(name, dots)
}

// vertical is a line at x, along all names.
func vertical(x float64, names int) *plotter.Line {
	l, err := plotter.NewLine(plotter.XYs{{X: x, Y: -0.5}, {X: x, Y: float64(names) - 0.5}})
	if err != nil {
		panic(err)
	}
	l.Color, l.Dashes = gray, []vg.Length{vg.Points(3), vg.Points(3)}
	return l
}
